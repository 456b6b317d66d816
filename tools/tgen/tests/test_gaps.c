/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "gaps.h"

static struct gaps gaps;

static int
begin(void **state)
{
	(void)state;
	gaps_clear(&gaps);
	return 0;
}

static void
the_last_gap_tells_when_the_last_frame_was_lost(void **state)
{
	(void)state;
	assert_int_equal(gaps_last(&gaps), 0);
	gaps_open(&gaps, 10, 5, 1000);
	gaps_open(&gaps, 20, 1, 2000);
	assert_int_equal(gaps_last(&gaps), 2000);
	assert_int_equal(gaps.missing, 6);
}

static void
a_gap_that_is_filled_is_none(void **state)
{
	(void)state;
	gaps_open(&gaps, 10, 2, 1000);
	gaps_open(&gaps, 20, 2, 2000);
	gaps_fill(&gaps, 21);
	assert_int_equal(gaps_last(&gaps), 2000);
	gaps_fill(&gaps, 20);
	assert_int_equal(gaps_last(&gaps), 1000);
	gaps_fill(&gaps, 10);
	gaps_fill(&gaps, 11);
	assert_int_equal(gaps_last(&gaps), 0);
	assert_int_equal(gaps.missing, 0);
}

/* Of gaps before those that are known by number, a late frame fills none in particular. */
static void
forgotten_gaps_count_as_one(void **state)
{
	uint64_t n;

	(void)state;
	for (n = 0; n < 3 * GAPS_KNOWN; n++)
		gaps_open(&gaps, 10 * n, 1, 100 * n + 1);
	assert_int_equal(gaps.missing, 3 * GAPS_KNOWN);
	for (n = 2 * GAPS_KNOWN; n < 3 * GAPS_KNOWN; n++)
		gaps_fill(&gaps, 10 * n);
	assert_int_equal(gaps_last(&gaps), 100 * (2 * GAPS_KNOWN - 1) + 1);
	for (n = 1; n < 2 * GAPS_KNOWN; n++)
		gaps_fill(&gaps, 10 * n);
	assert_int_equal(gaps.missing, 1);
	/* The first one was it; all that is known is that it was before this. */
	assert_int_equal(gaps_last(&gaps), 100 * (2 * GAPS_KNOWN - 1) + 1);
	gaps_fill(&gaps, 0);
	assert_int_equal(gaps_last(&gaps), 0);
	assert_int_equal(gaps.missing, 0);
}

static void
filled_gaps_are_forgotten_for_good(void **state)
{
	uint64_t n;

	(void)state;
	for (n = 0; n < 10 * GAPS_KNOWN; n++) {
		gaps_open(&gaps, 10 * n, 1, 100 * n + 1);
		gaps_fill(&gaps, 10 * n);
	}
	assert_int_equal(gaps_last(&gaps), 0);
	assert_int_equal(gaps.missing, 0);
}

static void
what_nobody_missed_fills_nothing(void **state)
{
	(void)state;
	gaps_fill(&gaps, 7);
	gaps_open(&gaps, 10, 1, 1000);
	gaps_fill(&gaps, 9);
	gaps_fill(&gaps, 11);
	assert_int_equal(gaps_last(&gaps), 1000);
	assert_int_equal(gaps.missing, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_last_gap_tells_when_the_last_frame_was_lost, begin),
		cmocka_unit_test_setup(a_gap_that_is_filled_is_none, begin),
		cmocka_unit_test_setup(forgotten_gaps_count_as_one, begin),
		cmocka_unit_test_setup(filled_gaps_are_forgotten_for_good, begin),
		cmocka_unit_test_setup(what_nobody_missed_fills_nothing, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
