/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include <stdlib.h>

#include "hdr.h"

static struct histogram histogram;

static void
cycles_become_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(hdr_nanoseconds(0, 2600000000), 0);
	assert_int_equal(hdr_nanoseconds(26, 2600000000), 10);
	assert_int_equal(hdr_nanoseconds(1, 2600000000), 0);
	assert_int_equal(hdr_nanoseconds(2, 2600000000), 1);
	assert_int_equal(hdr_nanoseconds(1, 400000000), 3); /* 2.5: upwards */
	assert_int_equal(hdr_nanoseconds(UINT64_C(260000000000), 2600000000),
		UINT64_C(100000000000));
	/* Five thousand years of cycles overflow nothing. */
	assert_int_equal(hdr_nanoseconds(UINT64_MAX, 1000000000), UINT64_MAX);
}

static void
the_mean_is_exact(void **state)
{
	(void)state;
	histogram_clear(&histogram);
	assert_int_equal(hdr_mean_nanoseconds(&histogram, 1000000000), 0);
	histogram_add(&histogram, 1000);
	histogram_add(&histogram, 1001);
	histogram_add(&histogram, 1001);
	assert_int_equal(hdr_mean_nanoseconds(&histogram, 1000000000), 1001);
	assert_int_equal(hdr_mean_nanoseconds(&histogram, 2000000000), 500);
}

static void
text_is_base64_of_a_v2_histogram(void **state)
{
	char *text;

	(void)state;
	histogram_clear(&histogram);
	text = hdr_encode(&histogram, 1000000000);
	assert_non_null(text);
	/* The cookie of the compressed V2 encoding, 1c 84 93 14. */
	assert_memory_equal(text, "HISTF", 5);
	assert_int_equal(strlen(text) % 4, 0);
	free(text);
}

static void
the_mean_of_seconds_is_right(void **state)
{
	static struct histogram histogram;
	const uint64_t hz = UINT64_C(2000000000), value = 25 * hz;
	uint64_t i;

	(void)state;
	/* A minute of overload: 2^30 frames that waited for 25 s make a sum of more than 64 bits. */
	histogram_clear(&histogram);
	for (i = 0; i < UINT64_C(1) << 16; i++)
		histogram_add(&histogram, value);
	for (i = 0; i < 14; i++)
		histogram_merge(&histogram, &(struct histogram){
			.count = histogram.count, .sum = histogram.sum,
			.minimum = value, .maximum = value,
		});
	assert_int_equal(histogram.count, UINT64_C(1) << 30);
	assert_int_equal(hdr_mean_nanoseconds(&histogram, hz), UINT64_C(25000000000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_become_nanoseconds),
		cmocka_unit_test(the_mean_is_exact),
		cmocka_unit_test(text_is_base64_of_a_v2_histogram),
		cmocka_unit_test(the_mean_of_seconds_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
