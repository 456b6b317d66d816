/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a worker writes down of frames that arrive, without ports: where they left, and who stood still. */

#include "unit.h"

#include "payload.h"
#include "receive.h"
#include "slots_worker.h"

#define LENGTH 60
#define COUNT 100
#define US UINT64_C(1000) /* in cycles */
#define SLOT (UINT64_C(1) << 20) /* about a millisecond of these */
#define ORIGIN (TGEN_48_BITS - 3 * SLOT) /* departures soon wrap */

static struct worker worker;
static struct watch watch;
static struct gaps gaps;
static struct receiver receiver;
static struct frame frame;
static struct template template = { .frame = &frame, .length = LENGTH };
static const struct template *pattern[] = { &template };
static struct rte_mbuf buffers[4];
static uint8_t bytes[4][LENGTH];

static int
begin(void **state)
{
	struct worker_slots *slots = calloc(1, sizeof(*slots) + COUNT * sizeof(uint64_t));
	struct watch_slots *seen = calloc(1, sizeof(*seen) + 2 * COUNT * sizeof(uint64_t));

	(void)state;
	memset(&worker, 0, sizeof(worker));
	memset(&watch, 0, sizeof(watch));
	memset(&receiver, 0, sizeof(receiver));
	slots->grid = (struct slot_grid){ .origin = ORIGIN, .count = COUNT, .shift = 20 };
	slots->away = slots->lane;
	seen->worker = &worker;
	seen->least_latency = UINT64_MAX;
	seen->received = seen->lane;
	seen->silent = seen->lane + COUNT;
	watch = (struct watch){
		.intended = 1000, .flows = 1, .length = LENGTH, .sizes = 1, .pattern = pattern,
		.slots = seen, .gaps = &gaps,
	};
	gaps_clear(&gaps);
	worker.watch = &watch;
	worker.streams = 1;
	worker.ten_us = 10 * US;
	worker.gap_limit = UINT64_MAX; /* the real clock is none of this */
	worker.slots = worker.ready_slots = slots;
	return window_create(&watch.window, 1024, &(struct error){ 0 });
}

static int
end(void **state)
{
	(void)state;
	free(worker.ready_slots);
	free(watch.slots);
	window_destroy(&watch.window);
	return 0;
}

/* Put a frame that left so long after the trial's begin into the next burst. */
static void
add(uint64_t sequence, uint64_t departure)
{
	const struct payload payload = {
		.sequence = sequence, .departure = (ORIGIN + departure) & TGEN_48_BITS,
	};
	struct rte_mbuf *buffer = &buffers[receiver.count];

	memset(buffer, 0, sizeof(*buffer));
	buffer->buf_addr = bytes[receiver.count];
	buffer->data_len = buffer->pkt_len = LENGTH;
	buffer->nb_segs = 1;
	rte_mbuf_refcnt_set(buffer, 2); /* somebody else holds it, too */
	payload_write(bytes[receiver.count] + LENGTH - TGEN_PAYLOAD_BYTES, &payload);
	receiver.buffer[receiver.count++] = buffer;
}

static void
arrive(uint64_t arrival)
{
	receiver.tsc = ORIGIN + arrival;
	assert_true(receive_check(&worker, &receiver));
}

static uint64_t
sum(const uint64_t *slot)
{
	uint64_t all = 0;
	int i;

	for (i = 0; i < COUNT; i++)
		all += slot[i];
	return all;
}

static void
frames_count_where_they_left(void **state)
{
	const uint64_t *received = watch.slots->received;

	(void)state;
	add(0, SLOT - 1);
	add(1, SLOT);
	add(2, SLOT);
	arrive(3 * SLOT);
	add(2, SLOT); /* a duplicate hides no loss */
	add(3, 5 * SLOT);
	arrive(7 * SLOT);
	assert_int_equal(received[0], 1);
	assert_int_equal(received[1], 2);
	assert_int_equal(received[5], 1);
	assert_int_equal(sum(received), watch.distinct);
	assert_int_equal(watch.duplicates, 1);
}

static void
a_path_that_stood_still_was_silent(void **state)
{
	const uint64_t *silent = watch.slots->silent;

	(void)state;
	add(0, 0);
	arrive(20 * US); /* the quickest: it takes 20 us */
	add(1, SLOT);
	arrive(SLOT + 110 * US); /* 90 longer than it should take is no silence yet */
	assert_int_equal(sum(silent), 0);
	/* Three milliseconds too late, and another beside it. */
	add(2, 2 * SLOT - 100);
	add(3, 2 * SLOT + 30 * US);
	arrive(5 * SLOT - 100 + 20 * US);
	assert_int_equal(sum(silent), 3 * SLOT);
	assert_int_equal(silent[2], SLOT - 20 * US + 100);
	assert_int_equal(silent[3], SLOT);
	assert_int_equal(silent[4], SLOT);
	assert_int_equal(silent[5], 20 * US - 100);
	/* Others come all the time: a long way is no silence. */
	add(4, 2 * SLOT);
	arrive(5 * SLOT + 110 * US);
	assert_int_equal(sum(silent), 3 * SLOT);
}

static void
nothing_on_its_way_is_no_silence(void **state)
{
	(void)state;
	add(0, 0);
	arrive(20 * US);
	add(1, 50 * SLOT);
	arrive(50 * SLOT + 30 * US);
	assert_int_equal(sum(watch.slots->silent), 0);
}

static void
a_path_that_always_takes_long_is_not_silent(void **state)
{
	uint64_t n;

	(void)state;
	/* Nobody knows of the first one how long it should take. */
	add(0, 0);
	arrive(900 * US);
	assert_int_equal(sum(watch.slots->silent), 900 * US);
	for (n = 1; n < 20; n++) {
		add(n, n * 3 * SLOT);
		arrive(n * 3 * SLOT + 900 * US);
	}
	assert_int_equal(sum(watch.slots->silent), 900 * US);
}

static void
silence_is_not_the_time_for_which_the_worker_was_away(void **state)
{
	const uint64_t *away = worker.slots->away, *silent = watch.slots->silent;

	(void)state;
	add(0, 0);
	arrive(20 * US);
	/* Away for all of a wait but its ends, which are too short to tell. */
	slots_note_gap(&worker, ORIGIN + SLOT + 10 * US, ORIGIN + 4 * SLOT);
	add(1, SLOT);
	arrive(4 * SLOT + 30 * US);
	assert_int_equal(sum(silent), 0);
	assert_int_equal(away[1], SLOT - 10 * US);
	assert_int_equal(away[2], SLOT);
	assert_int_equal(away[3], SLOT);
	assert_int_equal(sum(away), 3 * SLOT - 10 * US);
	/* Away twice within a silence, and once at its begin. */
	slots_note_gap(&worker, ORIGIN + 9 * SLOT, ORIGIN + 10 * SLOT + 50 * US);
	slots_note_gap(&worker, ORIGIN + 11 * SLOT, ORIGIN + 12 * SLOT);
	slots_note_gap(&worker, ORIGIN + 13 * SLOT, ORIGIN + 13 * SLOT + 40 * US);
	add(2, 10 * SLOT);
	arrive(15 * SLOT + 20 * US);
	assert_int_equal(silent[9], 0);
	assert_int_equal(silent[10], SLOT - 50 * US);
	assert_int_equal(silent[11], 0);
	assert_int_equal(silent[12], SLOT);
	assert_int_equal(silent[13], SLOT - 40 * US);
	assert_int_equal(silent[14], SLOT);
	assert_int_equal(silent[15], 20 * US);
	assert_int_equal(worker.slots->events.of[EVENT_GAP].listed, 4);
}

static void
numbers_left_out_are_an_event_until_they_come(void **state)
{
	const struct event_list *missing = &worker.slots->events.of[EVENT_MISSING];

	(void)state;
	add(0, 0);
	arrive(10 * US);
	add(3, 2 * US);
	arrive(20 * US);
	add(9, 3 * US);
	arrive(30 * US);
	assert_int_equal(missing->listed, 2);
	assert_int_equal(missing->event[0].first, 1);
	assert_int_equal(missing->event[0].frames, 2);
	assert_int_equal(missing->event[1].first, 4);
	assert_int_equal(missing->event[1].span, 5);
	assert_int_equal(missing->event[1].tsc, ORIGIN + 30 * US);
	assert_int_equal(missing->event[1].departure, (ORIGIN + 3 * US) & TGEN_48_BITS);
	add(2, 1 * US);
	add(2, 1 * US); /* once more, which fills nothing */
	arrive(40 * US);
	assert_int_equal(missing->event[0].frames, 1);
	add(1, 1 * US);
	arrive(50 * US);
	assert_int_equal(missing->listed, 1);
	assert_int_equal(missing->event[0].first, 4);
	/* The frame behind the gap that stayed open left then, all bits of that. */
	assert_int_equal(gaps.missing, 5);
	assert_int_equal(gaps_last(&gaps), ORIGIN + 3 * US);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_count_where_they_left, begin, end),
		cmocka_unit_test_setup_teardown(a_path_that_stood_still_was_silent, begin, end),
		cmocka_unit_test_setup_teardown(nothing_on_its_way_is_no_silence, begin, end),
		cmocka_unit_test_setup_teardown(a_path_that_always_takes_long_is_not_silent, begin,
			end),
		cmocka_unit_test_setup_teardown(
			silence_is_not_the_time_for_which_the_worker_was_away, begin, end),
		cmocka_unit_test_setup_teardown(numbers_left_out_are_an_event_until_they_come, begin,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
