/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * Where the TSC of one CPU is behind that of another, or a worker moves between them, time seems to
 * step back. That is no time at all, and neither a gap nor a latency of centuries.
 */

#include "unit.h"

#include "payload.h"
#include "receive.h"
#include "worker.h"

#define BEHIND 1000000000
#define LENGTH 60

static struct worker worker;
static struct watch watch;
static struct receiver receiver;
static struct histogram latency;
static struct frame frame;
static struct template template = { .frame = &frame, .length = LENGTH };
static const struct template *pattern[] = { &template };
static uint8_t bytes[LENGTH];

static int
begin(void **state)
{
	(void)state;
	memset(&worker, 0, sizeof(worker));
	memset(&watch, 0, sizeof(watch));
	memset(&receiver, 0, sizeof(receiver));
	histogram_clear(&latency);
	watch = (struct watch){
		.intended = 1000, .flows = 1, .length = LENGTH, .sizes = 1, .pattern = pattern,
		.latency = &latency,
	};
	worker.watch = &watch;
	worker.streams = 1;
	worker.ten_us = 10000;
	return window_create(&watch.window, 1024, &(struct error){ 0 });
}

static int
end(void **state)
{
	(void)state;
	window_destroy(&watch.window);
	return 0;
}

/* The next frame, as it comes from a port; somebody else holds its buffer, too. */
static void
arrive(uint64_t sequence, uint64_t departure, uint64_t arrival)
{
	const struct payload payload = { .sequence = sequence, .departure = departure };
	struct rte_mbuf buffer;

	memset(&buffer, 0, sizeof(buffer));
	buffer.buf_addr = bytes;
	buffer.data_len = buffer.pkt_len = LENGTH;
	buffer.nb_segs = 1;
	rte_mbuf_refcnt_set(&buffer, 2);
	payload_write(bytes + LENGTH - TGEN_PAYLOAD_BYTES, &payload);
	receiver.buffer[0] = &buffer;
	receiver.count = 1;
	receiver.tsc = arrival;
	assert_true(receive_check(&worker, &receiver));
}

static void
no_gap_of_a_worker(void **state)
{
	(void)state;
	worker.last_tick = rte_rdtsc() + BEHIND;
	worker_tick(&worker);
	assert_int_equal(worker.longest_gap_cycles, 0);
	assert_int_equal(worker.gaps_over_10us, 0);
	/* From there on time goes on as ever. */
	worker.last_tick = rte_rdtsc() - 2 * worker.ten_us;
	worker_tick(&worker);
	assert_int_equal(worker.gaps_over_10us, 1);
	assert_uint_in_range(worker.longest_gap_cycles, 2 * worker.ten_us, UINT64_C(1) << 40);
}

static void
no_latency_of_a_frame(void **state)
{
	(void)state;
	arrive(0, BEHIND, BEHIND + 70);
	arrive(1, BEHIND, BEHIND - 1);
	arrive(2, BEHIND, 0);
	assert_int_equal(watch.distinct, 3);
	assert_int_equal(latency.count, 3);
	assert_int_equal(latency.minimum, 0);
	assert_int_equal(latency.maximum, 70);
}

static void
no_silence_between_two_frames(void **state)
{
	(void)state;
	arrive(0, 0, BEHIND);
	arrive(1, 0, BEHIND + 5);
	arrive(2, 0, BEHIND - 900);
	arrive(3, 0, BEHIND - 800);
	assert_int_equal(watch.longest_silence, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_gap_of_a_worker, begin, end),
		cmocka_unit_test_setup_teardown(no_latency_of_a_frame, begin, end),
		cmocka_unit_test_setup_teardown(no_silence_between_two_frames, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
