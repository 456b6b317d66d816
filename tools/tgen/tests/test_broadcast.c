/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "broadcast.h"

#define MOST_PARTS 7
#define FRAMES 500

static bool
is_wanted(uint64_t frame, uint32_t every)
{
	return every != 0 && frame % every == every - 1;
}

/* Whoever sends them: as many as fit, and each at its place in the stream. */
static void
every_so_manieth_frame_of_a_stream_is_for_everybody(void **state)
{
	uint32_t every;
	uint16_t of, index;
	uint64_t n;

	(void)state;
	for (every = 0; every <= 24; every++) {
		for (of = 1; of <= MOST_PARTS; of++) {
			uint64_t found = 0;

			for (index = 0; index < of; index++) {
				const struct part part = { 0, index, of };
				struct broadcast broadcast;

				broadcast_init(&broadcast, &part, every);
				for (n = 0; n < part_share(&part, FRAMES); n++) {
					bool is = broadcast_is(&broadcast, n);

					assert_int_equal(is, is_wanted(part_frame(&part, n), every));
					found += is;
				}
			}
			assert_int_equal(found, every == 0 ? 0 : FRAMES / every);
		}
	}
}

static void
frames_that_are_built_again_are_what_they_were(void **state)
{
	uint32_t every;
	uint16_t of;
	uint64_t begin, n;

	(void)state;
	for (every = 0; every <= 12; every++) {
		for (of = 1; of <= 4; of++) {
			const struct part part = { 0, (uint16_t)(of / 2), of };
			struct broadcast broadcast;

			broadcast_init(&broadcast, &part, every);
			for (begin = 60; begin-- != 0;) {
				broadcast_seek(&broadcast, begin);
				for (n = begin; n < begin + 30; n++)
					assert_int_equal(broadcast_is(&broadcast, n),
						is_wanted(part_frame(&part, n), every));
			}
		}
	}
}

static void
rare_ones_come_in_long_trials(void **state)
{
	const struct part part = { 0, 63, 64 };
	struct broadcast broadcast;
	uint64_t n;

	(void)state;
	broadcast_init(&broadcast, &part, UINT32_MAX);
	for (n = 0; n < 3; n++) {
		assert_int_equal(part_frame(&part, broadcast.due) % UINT32_MAX, UINT32_MAX - 1);
		assert_true(broadcast_is(&broadcast, broadcast.due));
	}
	broadcast_seek(&broadcast, (UINT64_C(1) << 48) - 1);
	assert_uint_in_range(broadcast.due, (UINT64_C(1) << 48) - 1, (UINT64_C(1) << 49));
	assert_int_equal(part_frame(&part, broadcast.due) % UINT32_MAX, UINT32_MAX - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_so_manieth_frame_of_a_stream_is_for_everybody),
		cmocka_unit_test(frames_that_are_built_again_are_what_they_were),
		cmocka_unit_test(rare_ones_come_in_long_trials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
