/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include <stdlib.h>

#include "histogram.h"

static struct histogram histogram, other;

static void
buckets_join_without_gaps(void **state)
{
	uint32_t index;

	(void)state;
	assert_int_equal(histogram_lowest(0), 0);
	for (index = 0; index < HISTOGRAM_BUCKETS - 1; index++) {
		assert_int_equal(histogram_index(histogram_lowest(index)), index);
		assert_int_equal(histogram_index(histogram_highest(index)), index);
		assert_int_equal(histogram_highest(index) + 1, histogram_lowest(index + 1));
	}
	assert_int_equal(histogram_highest(index), UINT64_MAX);
	assert_int_equal(histogram_index(UINT64_MAX), index);
	assert_int_equal(histogram_index(UINT64_C(1) << HISTOGRAM_MAX_BITS), index);
	assert_int_equal(histogram_index((UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1), index);
}

static void
buckets_are_narrow(void **state)
{
	uint32_t index;

	(void)state;
	for (index = 0; index < HISTOGRAM_BUCKETS - 1; index++) {
		uint64_t width = histogram_highest(index) - histogram_lowest(index);

		if (index < 256)
			assert_int_equal(width, 0);
		/* Below 1 % from end to end, so below 0.5 % from the middle. */
		assert_true(width * 100 < histogram_lowest(index) || width == 0);
	}
}

static void
an_empty_one_says_nothing(void **state)
{
	(void)state;
	histogram_clear(&histogram);
	assert_int_equal(histogram.count, 0);
	assert_int_equal(histogram.minimum, UINT64_MAX);
	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
}

static void
quantiles_are_nearest_ranks(void **state)
{
	unsigned int value;

	(void)state;
	histogram_clear(&histogram);
	for (value = 1; value <= 100; value++)
		histogram_add(&histogram, value);
	for (value = 1; value <= 100; value++)
		assert_int_equal(histogram_quantile(&histogram, value / 100.0), value);
	assert_int_equal(histogram_quantile(&histogram, 0), 1);
	assert_int_equal(histogram_quantile(&histogram, 0.001), 1);
	assert_int_equal(histogram_quantile(&histogram, 0.501), 51);
	assert_int_equal(histogram_quantile(&histogram, 1), 100);
	assert_int_equal(histogram_quantile(&histogram, 7), 100);
}

static void
between_the_ends_of_a_bucket_quantiles_are_no_steps(void **state)
{
	uint64_t value, middle = 100096, before = 0; /* of a bucket that is 512 wide */
	unsigned int share;

	(void)state;
	histogram_clear(&histogram);
	assert_int_equal(histogram_between(&histogram, 0.5), 0);
	for (value = middle - 200; value < middle + 200; value++)
		histogram_add(&histogram, value);
	for (share = 1; share < 100; share++) {
		uint64_t found = histogram_between(&histogram, share / 100.0);

		assert_true(found > before);
		assert_uint_in_range(found, middle - 200 + 4 * share - 8, middle - 200 + 4 * share + 8);
		before = found;
	}
	histogram_clear(&histogram);
	for (share = 0; share < 10; share++)
		histogram_add(&histogram, 70001);
	assert_int_equal(histogram_between(&histogram, 0.5), 70001);
}

static void
a_single_value_is_exact(void **state)
{
	uint64_t seed = 1;
	int round;

	(void)state;
	for (round = 0; round < 100; round++) {
		uint64_t value = unit_magnitude(&seed);

		histogram_clear(&histogram);
		histogram_add(&histogram, value);
		assert_int_equal(histogram_quantile(&histogram, 0.5), value);
		assert_int_equal(histogram.minimum, value);
		assert_int_equal(histogram.maximum, value);
		assert_int_equal(histogram.sum, value);
	}
}

static int
ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void
quantiles_are_within_one_percent(void **state)
{
	enum { VALUES = 100000 };
	static const double shares[] = { 0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.99999 };
	uint64_t *values = calloc(VALUES, sizeof(*values));
	uint64_t seed = 2;
	size_t i;

	(void)state;
	histogram_clear(&histogram);
	for (i = 0; i < VALUES; i++) {
		values[i] = unit_magnitude(&seed) >> 20;
		histogram_add(&histogram, values[i]);
	}
	qsort(values, VALUES, sizeof(*values), ascending);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint64_t rank = (uint64_t)(shares[i] * VALUES + 0.5);
		uint64_t truth = values[rank == 0 ? 0 : rank - 1];
		uint64_t said = histogram_quantile(&histogram, shares[i]);

		assert_true((said > truth ? said - truth : truth - said) * 200 <= truth);
	}
	free(values);
}

static void
merging_is_adding_both(void **state)
{
	static struct histogram both;
	uint64_t seed = 3;
	int i;

	(void)state;
	histogram_clear(&histogram);
	histogram_clear(&other);
	histogram_clear(&both);
	histogram_merge(&histogram, &other);
	assert_memory_equal(&histogram, &both, sizeof(both));
	for (i = 0; i < 10000; i++) {
		uint64_t value = unit_magnitude(&seed) >> 16;

		histogram_add(i % 3 == 0 ? &histogram : &other, value);
		histogram_add(&both, value);
	}
	histogram_merge(&histogram, &other);
	assert_memory_equal(&histogram, &both, sizeof(both));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_join_without_gaps),
		cmocka_unit_test(buckets_are_narrow),
		cmocka_unit_test(an_empty_one_says_nothing),
		cmocka_unit_test(quantiles_are_nearest_ranks),
		cmocka_unit_test(between_the_ends_of_a_bucket_quantiles_are_no_steps),
		cmocka_unit_test(a_single_value_is_exact),
		cmocka_unit_test(quantiles_are_within_one_percent),
		cmocka_unit_test(merging_is_adding_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
