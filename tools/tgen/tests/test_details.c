/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Histograms of some frames only, and of the difference between neighbours. */

#include "unit.h"

#include "details.h"

#define BEGIN UINT64_C(1000000)

static const uint64_t begin_tsc = BEGIN;
static struct histogram histogram[TGEN_MAX_PICKS];
static struct details details;

static int
begin(void **state)
{
	unsigned int i;

	(void)state;
	details = (struct details){
		.last_sequence = UINT64_MAX - 1, .begin_tsc = &begin_tsc, .part = { .of = 1 },
	};
	for (i = 0; i < TGEN_MAX_PICKS; i++) {
		histogram_clear(&histogram[i]);
		details.pick[i] = (struct pick){
			.last = UINT64_MAX, .latency = &histogram[i], .first_frame = UINT64_MAX,
		};
	}
	return 0;
}

/* A frame that left so long after the begin. */
static void
note(uint64_t sequence, uint64_t left, uint64_t latency)
{
	const struct payload payload = { .sequence = sequence };

	details_note(&details, &payload, latency, BEGIN + left + latency);
}

static void
frames_count_from_the_moment_on_in_which_they_left(void **state)
{
	(void)state;
	details.picks = 1;
	details.pick[0].after = 5000;
	note(0, 4999, 10000); /* it arrives long behind the moment */
	note(2, 5001, 70);
	note(1, 5000, 60);
	note(3, 6000, 50);
	assert_int_equal(histogram[0].count, 3);
	assert_int_equal(histogram[0].minimum, 50);
	assert_int_equal(histogram[0].maximum, 70);
	/* The first that left, though it was overtaken. */
	assert_int_equal(details.pick[0].first_frame, 1);
	assert_int_equal(details.pick[0].first_tsc, BEGIN + 5000);
	assert_int_equal(details.pick[0].first_latency, 60);
}

static void
a_frame_that_left_before_the_begin_is_before_any_moment(void **state)
{
	const struct payload payload = { .sequence = 0 };

	(void)state;
	details.picks = 1;
	details.pick[0].after = 1;
	details_note(&details, &payload, 100, BEGIN + 50);
	assert_int_equal(histogram[0].count, 0);
}

static void
each_range_has_the_frames_in_it(void **state)
{
	uint64_t n;

	(void)state;
	details.picks = 3;
	details.pick[0].first = 0;
	details.pick[0].last = 9;
	details.pick[1].first = 90;
	details.pick[1].last = 99;
	details.pick[2].first = 5; /* they may overlap */
	details.pick[2].last = 94;
	for (n = 0; n < 200; n++)
		note(n, n, 1000 + n);
	assert_int_equal(histogram[0].count, 10);
	assert_int_equal(histogram[0].maximum, 1009);
	assert_int_equal(histogram[1].count, 10);
	assert_int_equal(histogram[1].minimum, 1090);
	assert_int_equal(histogram[2].count, 90);
}

/* Ranges are of the stream's frames, of which a part has every third. */
static void
ranges_are_those_of_the_stream_in_each_part(void **state)
{
	uint64_t n;

	(void)state;
	details.picks = 1;
	details.part = (struct part){ .index = 1, .of = 3 };
	details.pick[0].first = 10;
	details.pick[0].last = 19;
	for (n = 0; n < 10; n++)
		note(n, 3 * n + 1, 100 + n);
	assert_int_equal(histogram[0].count, 4); /* 10, 13, 16, 19 */
	assert_int_equal(details.pick[0].first_frame, 10);
	assert_int_equal(histogram[0].minimum, 103);
}

static void
variation_is_between_frames_that_left_one_after_the_other(void **state)
{
	(void)state;
	details.variation = &histogram[4];
	note(0, 0, 100);
	note(1, 10, 130);
	note(3, 30, 200);
	note(4, 40, 190);
	assert_int_equal(histogram[4].count, 2);
	assert_int_equal(histogram[4].minimum, 10);
	assert_int_equal(histogram[4].maximum, 30);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_count_from_the_moment_on_in_which_they_left, begin),
		cmocka_unit_test_setup(a_frame_that_left_before_the_begin_is_before_any_moment,
			begin),
		cmocka_unit_test_setup(each_range_has_the_frames_in_it, begin),
		cmocka_unit_test_setup(ranges_are_those_of_the_stream_in_each_part, begin),
		cmocka_unit_test_setup(variation_is_between_frames_that_left_one_after_the_other,
			begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
