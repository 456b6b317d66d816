/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* How long a receiver was behind, by what its looks at a queue bring: the queue is one of this test. */

#include "unit.h"

#include <rte_ethdev.h>

#include "receive.h"

#define LIMIT (8 * PORT_BURST)

static struct worker worker;
static struct receiver receiver;
static struct rte_mbuf buffer;
static uint16_t waiting; /* what the next look finds */

static uint16_t
give(void *queue, struct rte_mbuf **buffers, uint16_t most)
{
	uint16_t i;

	(void)queue;
	for (i = 0; i < waiting && i < most; i++)
		buffers[i] = &buffer;
	return i;
}

static int
begin(void **state)
{
	static RTE_ATOMIC(void *) callbacks[1];
	static void *queues[1];

	(void)state;
	rte_eth_fp_ops[0].rx_pkt_burst = give;
	rte_eth_fp_ops[0].rxq.data = queues;
	rte_eth_fp_ops[0].rxq.clbk = callbacks;
	memset(&worker, 0, sizeof(worker));
	worker.gap_limit = UINT64_MAX;
	receiver = (struct receiver){ .backlog_limit = LIMIT };
	return 0;
}

/* Look at a queue in which so many frames wait; returns when that was. */
static uint64_t
look(uint16_t count)
{
	waiting = count;
	receive_poll(&worker, &receiver);
	receiver.count = 0;
	return receiver.tsc;
}

static void
look_at_full_bursts(unsigned int times)
{
	while (times-- > 0)
		look(PORT_BURST);
}

static void
half_a_ring_of_full_bursts_is_time_behind(void **state)
{
	uint64_t calm, caught_up;

	(void)state;
	calm = look(3);
	look_at_full_bursts(LIMIT / PORT_BURST);
	assert_int_equal(receiver.behind_cycles, 0);
	caught_up = look(0);
	assert_true(caught_up > calm);
	assert_int_equal(receiver.behind_cycles, caught_up - calm);
	assert_int_equal(receiver.full_polls, LIMIT / PORT_BURST);
}

static void
each_time_behind_is_added(void **state)
{
	uint64_t calm, caught_up, behind;

	(void)state;
	look(0);
	look_at_full_bursts(LIMIT / PORT_BURST);
	calm = look(1);
	behind = receiver.behind_cycles;
	look_at_full_bursts(2 * LIMIT / PORT_BURST);
	caught_up = look(PORT_BURST - 1);
	assert_true(behind > 0 && caught_up > calm);
	assert_int_equal(receiver.behind_cycles, behind + caught_up - calm);
}

static void
less_than_half_a_ring_is_not_behind(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		look(0);
		look_at_full_bursts(LIMIT / PORT_BURST - 1);
	}
	look(PORT_BURST - 1);
	receive_end(&receiver);
	assert_int_equal(receiver.behind_cycles, 0);
}

static void
a_ring_that_holds_all_is_never_behind(void **state)
{
	(void)state;
	receiver.backlog_limit = UINT64_MAX;
	look(0);
	look_at_full_bursts(100 * LIMIT / PORT_BURST);
	look(0);
	receive_end(&receiver);
	assert_int_equal(receiver.behind_cycles, 0);
}

static void
who_is_behind_at_the_end_was_behind(void **state)
{
	uint64_t calm, last;

	(void)state;
	calm = look(0);
	look_at_full_bursts(LIMIT / PORT_BURST - 1);
	last = look(PORT_BURST);
	receive_end(&receiver);
	assert_true(last > calm);
	assert_int_equal(receiver.behind_cycles, last - calm);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(half_a_ring_of_full_bursts_is_time_behind, begin),
		cmocka_unit_test_setup(each_time_behind_is_added, begin),
		cmocka_unit_test_setup(less_than_half_a_ring_is_not_behind, begin),
		cmocka_unit_test_setup(a_ring_that_holds_all_is_never_behind, begin),
		cmocka_unit_test_setup(who_is_behind_at_the_end_was_behind, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
