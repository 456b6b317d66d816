/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * What a worker writes down of turns, without ports: the queues are of this test, and what they bring is
 * counted by hand. Two sides have a port and two streams each, and no processes.
 */

#include "unit.h"

#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "turns_worker.h"

#define LENGTH 60
#define SIDES 2
#define EACH 2 /* streams of a side */
#define LIMIT (8 * PORT_BURST)
#define TURN UINT64_C(4000000) /* cycles: about two milliseconds */

static struct worker worker;
static struct watch watches[SIDES * EACH];
static struct sender senders[SIDES * EACH];
static struct receiver receivers[SIDES];
static struct rte_mbuf buffers[PORT_BURST];
static uint8_t bytes[LENGTH];
static struct turns *turns;
static unsigned int full_side; /* so much comes to it that it never ends; SIDES: to none */
static uint64_t look_takes; /* cycles, for a device that is slow */
static uint16_t behind_a_stop; /* frames that wait at the ports of a side when its turn begins */
static struct histogram of_turn, of_side[SIDES];
static uint64_t dies_in; /* the turn from which on the last stream of the first side brings nothing */

/* A frame of nobody, which somebody else holds, too. */
static struct rte_mbuf *
stranger(unsigned int number)
{
	struct rte_mbuf *buffer = &buffers[number];

	memset(buffer, 0, sizeof(*buffer));
	buffer->buf_addr = bytes;
	buffer->data_len = buffer->pkt_len = LENGTH;
	buffer->nb_segs = 1;
	rte_mbuf_refcnt_set(buffer, 2);
	return buffer;
}

static void
count(unsigned int side)
{
	struct watch *watch = &watches[EACH * side];
	bool dead = side == 0 && counter_read(&turns->begun) >= dies_in;

	counter_add(&senders[EACH * side].sent, 4);
	counter_add(&senders[EACH * side + 1].sent, 2);
	counter_add(&watch[0].distinct, 3);
	counter_add(&watch[1].distinct, dead ? 0 : 2);
	/* Of a hundred frames of the first side one takes long; the other one takes twice as long. */
	if (watch[0].latency != NULL)
		histogram_add(watch[0].latency, (side + 1) *
			(watch[0].latency->count % 100 == 99 ? 9000 : 1000));
}

/* How many frames a look at a side finds, which can take so many. */
static uint16_t
found(unsigned int side, uint16_t most)
{
	static uint64_t turn;
	static uint16_t waiting;
	uint16_t taken;

	if (side == full_side)
		return most;
	if (turns->result.turns == turns->request.turns ||
			side != turns->turn[turns->result.turns].side)
		return 0;
	if (turn != counter_read(&turns->begun))
		waiting = behind_a_stop;
	turn = counter_read(&turns->begun);
	taken = RTE_MIN(most, waiting);
	waiting = (uint16_t)(waiting - taken);
	return taken;
}

static uint16_t
give(void *queue, struct rte_mbuf **buffer, uint16_t most)
{
	unsigned int side = *(unsigned int *)queue;
	uint64_t begin;
	uint16_t i;

	/* When all turns are over, so is this. */
	if (rte_atomic_load_explicit(&worker.state, rte_memory_order_relaxed) == STATE_SENT)
		rte_atomic_store_explicit(&worker.command, COMMAND_PARK, rte_memory_order_relaxed);
	count(side);
	for (begin = rte_rdtsc(); rte_rdtsc() - begin < look_takes;)
		;
	most = found(side, most);
	for (i = 0; i < most; i++)
		buffer[i] = stranger(i);
	return most;
}

static void
set_queue(unsigned int side)
{
	static RTE_ATOMIC(void *) callbacks[1];
	static unsigned int number[SIDES];
	static void *queues[SIDES][1];

	number[side] = side;
	queues[side][0] = &number[side];
	rte_eth_fp_ops[side].rx_pkt_burst = give;
	rte_eth_fp_ops[side].rxq.data = queues[side];
	rte_eth_fp_ops[side].rxq.clbk = callbacks;
	receivers[side] = (struct receiver){
		.port = (uint16_t)side, .device = (uint16_t)side, .backlog_limit = LIMIT,
	};
	worker.receiver[side] = &receivers[side];
}

static int
begin(void **state)
{
	static const uint8_t order[] = { 0, 1, 1, 0 };
	struct turns_request request = { .sides = SIDES, .turns = sizeof(order) };
	unsigned int i;

	(void)state;
	memset(&worker, 0, sizeof(worker));
	memset(watches, 0, sizeof(watches));
	memset(senders, 0, sizeof(senders));
	memcpy(request.order, order, sizeof(order));
	turns = calloc(1, sizeof(*turns) + sizeof(order) * sizeof(turns->turn[0]));
	turns->stream = calloc(sizeof(order) * EACH, sizeof(turns->stream[0]));
	turns->request = request;
	turns->turn_cycles = TURN;
	turns->guard_cycles = TURN / 10;
	turns->silent_cycles = TURN / 100;
	turns->drain_cycles = TURN / 10;
	turns->result.most_streams = EACH;
	turns->result.devices_told = true;
	for (i = 0; i < SIDES; i++) {
		set_queue(i);
		turns->side[i].receivers = 1;
		turns->side[i].receiver[0] = &receivers[i];
	}
	for (i = 0; i < SIDES * EACH; i++) {
		struct turns_side *side = &turns->side[i / EACH];

		senders[i].pacer.flat_out = true; /* and nothing is intended, so nothing is sent */
		worker.sender[i] = &senders[i];
		side->watch[side->senders] = &watches[i];
		side->sender[side->senders++] = &senders[i];
	}
	worker.senders = SIDES * EACH;
	worker.receivers = SIDES;
	worker.watch = watches;
	worker.ten_us = TURN / 200;
	worker.turns = turns;
	full_side = SIDES;
	look_takes = 0;
	behind_a_stop = 0;
	dies_in = UINT64_MAX;
	return holds_open(&turns->holds, &request, &(struct error){ 0 });
}

static int
end(void **state)
{
	(void)state;
	holds_close(&turns->holds);
	free(turns->stream);
	free(turns);
	return 0;
}

static void
take_turns(void)
{
	rte_atomic_store_explicit(&worker.command, COMMAND_TURNS, rte_memory_order_relaxed);
	turns_run(&worker);
	assert_int_equal(turns->result.end, TURNS_COMPLETE);
	assert_int_equal(turns->result.turns, 4);
}

static void
a_stream_that_dies_is_told_by_its_turns(void **state)
{
	static const uint64_t looks_for = 2; /* frames that the last stream brings in a look */
	unsigned int i;

	(void)state;
	dies_in = 4; /* its second one */
	take_turns();
	for (i = 0; i < 4; i++) {
		const struct turn *turn = &turns->turn[i];
		const struct turn_stream *stream = &turns->stream[i * EACH];

		assert_true(stream[0].sent > 0 && stream[0].distinct > 0);
		assert_int_equal(stream[0].distinct * 4, stream[0].sent * 3);
		assert_int_equal(stream[0].sent + stream[1].sent, turn->turn_sent);
		assert_int_equal(stream[0].distinct + stream[1].distinct, turn->turn_distinct);
		assert_true(turn->distinct <= turn->turn_distinct);
		assert_int_equal(stream[1].distinct, i == 3 ? 0 : stream[0].distinct / 3 * looks_for);
	}
}

static void
slots_are_short_at_first_and_have_all_that_was_measured(void **state)
{
	static const unsigned int ends[TURN_SLOTS] = { 5, 10, 20, 40, 100 };
	unsigned int i, j;

	(void)state;
	take_turns();
	for (i = 0; i < 4; i++) {
		const struct turn *turn = &turns->turn[i];
		uint64_t cycles = 0, distinct = 0;

		for (j = 0; j < TURN_SLOTS; j++) {
			cycles += turn->slot[j].cycles;
			distinct += turn->slot[j].distinct;
			/* Later than it should where this machine was away, and never before that. */
			assert_true(cycles * 100 >= TURN * ends[j]);
		}
		assert_int_equal(cycles, turn->measured);
		assert_int_equal(distinct, turn->distinct);
	}
}

static void
frames_that_wait_all_the_time_are_time_behind_of_their_side(void **state)
{
	unsigned int i;

	(void)state;
	full_side = 1;
	take_turns();
	for (i = 0; i < 4; i++) {
		const struct turn *turn = &turns->turn[i];

		/* It takes some looks to know, which a machine that is away may leave no time for. */
		if (turn->side != full_side)
			assert_int_equal(turn->behind, 0);
		else if (turn->gaps < TURN / 2)
			assert_true(turn->behind > 0);
		assert_true(turn->behind <= turn->measured);
	}
}

static void
latencies_are_those_of_a_turn_and_add_up_to_those_of_its_side(void **state)
{
	uint64_t latencies[SIDES] = { 0 };
	unsigned int i;

	(void)state;
	turns->latency = &of_turn;
	histogram_clear(&of_turn);
	for (i = 0; i < SIDES; i++) {
		histogram_clear(&of_side[i]);
		turns->result.side[i].latency = &of_side[i];
	}
	take_turns();
	for (i = 0; i < 4; i++) {
		const struct turn *turn = &turns->turn[i];
		uint64_t times = turn->side + 1;

		assert_true(turn->latencies > 0);
		assert_uint_in_range(turn->median, times * 990, times * 1010);
		assert_uint_in_range(turn->p99, times * 990, times * 9000);
		assert_true(turn->latency >= turn->latencies * times * 1000);
		latencies[turn->side] += turn->latencies;
	}
	for (i = 0; i < SIDES; i++)
		assert_int_equal(of_side[i].count, latencies[i]);
	assert_int_equal(of_turn.count, 0);
}

/* Of the side of which it is said; nobody can tell it from a gap of the other one. */
static void
what_a_slow_device_takes_is_no_gap_where_that_is_said(void **state)
{
	unsigned int i;

	(void)state;
	look_takes = 2 * worker.ten_us;
	turns->side[1].gap_cycles = TURN / 4;
	take_turns();
	for (i = 0; i < 4; i++) {
		const struct turn *turn = &turns->turn[i];

		if (turn->side == 0)
			assert_true(turn->gaps > TURN / 2);
		else /* but for what this machine takes */
			assert_true(turn->gaps == 0 || turn->longest_gap > TURN / 4);
	}
}

/* Each look is a gap, so the guard never comes to its end before half a turn is over as well. */
static void
what_waits_when_a_guard_cannot_end_is_not_in_what_is_measured(void **state)
{
	unsigned int i;

	(void)state;
	look_takes = 2 * worker.ten_us;
	behind_a_stop = 128 * PORT_BURST; /* more than it takes meanwhile */
	take_turns();
	for (i = 0; i < 4; i++)
		assert_int_equal(turns->turn[i].behind, 0);
}

/* There is no device behind these queues. */
static void
devices_that_do_not_tell_have_not_missed_nothing(void **state)
{
	(void)state;
	take_turns();
	assert_false(turns->result.devices_told);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stream_that_dies_is_told_by_its_turns),
		TEST(slots_are_short_at_first_and_have_all_that_was_measured),
		TEST(frames_that_wait_all_the_time_are_time_behind_of_their_side),
		TEST(latencies_are_those_of_a_turn_and_add_up_to_those_of_its_side),
		TEST(what_a_slow_device_takes_is_no_gap_where_that_is_said),
		TEST(what_waits_when_a_guard_cannot_end_is_not_in_what_is_measured),
		TEST(devices_that_do_not_tell_have_not_missed_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
