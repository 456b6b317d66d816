/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "pacer.h"
#include "part.h"
#include "payload.h"

#define MOST_PARTS 7
#define FRAMES 1000

static void
every_frame_of_a_stream_is_in_one_part(void **state)
{
	uint16_t of, index;
	uint64_t n;

	(void)state;
	for (of = 1; of <= MOST_PARTS; of++) {
		unsigned int seen[FRAMES] = { 0 };

		for (index = 0; index < of; index++) {
			const struct part part = { 0, index, of };

			for (n = 0; n < part_share(&part, FRAMES); n++)
				seen[part_frame(&part, n)]++;
			assert_true(part_frame(&part, n) >= FRAMES);
		}
		for (n = 0; n < FRAMES; n++)
			assert_int_equal(seen[n], 1);
	}
}

static void
shares_of_few_or_endless_frames(void **state)
{
	const struct part first = { 0, 0, 3 }, last = { 0, 2, 3 };

	(void)state;
	assert_int_equal(part_share(&first, 0), 0);
	assert_int_equal(part_share(&first, 1), 1);
	assert_int_equal(part_share(&last, 2), 0);
	assert_int_equal(part_share(&last, TGEN_48_BITS), TGEN_48_BITS);
}

/* The frames of a flow are so far apart in a part as part_flows() says, and no closer. */
static void
flows_come_round_in_each_part(void **state)
{
	uint32_t flows;
	uint16_t of;

	(void)state;
	for (flows = 1; flows <= 24; flows++) {
		for (of = 1; of <= MOST_PARTS; of++) {
			const struct part part = { 0, (uint16_t)(of - 1), of };
			uint32_t distance = 1;

			while (part_frame(&part, distance) % flows != part_frame(&part, 0) % flows)
				distance++;
			assert_int_equal(part_flows(&part, flows), distance);
		}
	}
}

/* All parts together keep the schedule of the whole, to within a cycle, however long it lasts. */
static void
parts_keep_the_schedule_of_the_stream(void **state)
{
	const uint64_t hz = UINT64_C(2599998765), rate_mfps = UINT64_C(14880952381);
	struct pacer whole, own;
	uint16_t of, index;
	uint64_t n;

	(void)state;
	pacer_init(&whole, hz, rate_mfps, 0);
	for (of = 1; of <= MOST_PARTS; of++) {
		for (index = 0; index < of; index++) {
			const struct part part = { 0, index, of };

			pacer_init(&own, hz * of, rate_mfps, pacer_when(&whole, index));
			for (n = 1; n < UINT64_C(1) << 40; n *= 3) {
				uint64_t due = pacer_when(&whole, part_frame(&part, n));

				assert_uint_in_range(pacer_when(&own, n), due, due + 1);
			}
		}
	}
}

static void
queues_in_turn_without_going_round_in_a_stream(void **state)
{
	(void)state;
	assert_int_equal(part_first_queue(1, 0, 1), 0);
	assert_int_equal(part_first_queue(1, 5, 4), 1);
	assert_int_equal(part_first_queue(2, 2, 4), 2);
	assert_int_equal(part_first_queue(2, 3, 4), 0);
	assert_int_equal(part_first_queue(4, 4, 4), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_of_a_stream_is_in_one_part),
		cmocka_unit_test(shares_of_few_or_endless_frames),
		cmocka_unit_test(flows_come_round_in_each_part),
		cmocka_unit_test(parts_keep_the_schedule_of_the_stream),
		cmocka_unit_test(queues_in_turn_without_going_round_in_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
