/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "clock.h"

static void
cycles_in_a_second(void **state)
{
	const struct clock_moment from = { .tsc = 1000, .raw_ns = 7 };
	const struct clock_moment after_a_tenth = { .tsc = 1000 + 249350000, .raw_ns = 100000007 };
	/* A year, so that nothing wraps. */
	const struct clock_moment after_a_year = {
		.tsc = 1000 + UINT64_C(78635016000000000), .raw_ns = 7 + UINT64_C(31536000000000000),
	};

	(void)state;
	assert_int_equal(clock_hz(&from, &after_a_tenth), 2493500000);
	assert_int_equal(clock_hz(&from, &after_a_year), 2493500000);
	assert_int_equal(clock_hz(&from, &from), 0);
}

static void
later_by_any_time_and_never_before(void **state)
{
	const uint64_t hz = 2500000000, minute = 60 * hz;

	(void)state;
	assert_int_equal(clock_later_ns(1000, 1000 + hz / 1000, hz), CLOCK_SECOND_NS / 1000);
	/* Who begins may have to wait for its CPU for long: more cycles than times 10^9 have room. */
	assert_int_equal(clock_later_ns(1000, 1000 + minute, hz), 60 * CLOCK_SECOND_NS);
	assert_int_equal(clock_later_ns(UINT64_MAX, hz - 1, hz), CLOCK_SECOND_NS);
	assert_int_equal(clock_later_ns(1000, 999, hz), 0);
	assert_int_equal(clock_later_ns(1000, 1000, hz), 0);
}

static void
constant_by_processor_or_kernel(void **state)
{
	static const char with[] = "flags\t\t: fpu tsc msr constant_tsc rep_good\n";
	static const char without[] = "flags\t\t: fpu tsc msr rep_good\n";

	(void)state;
	assert_true(clock_is_constant(with, "hpet\n"));
	assert_true(clock_is_constant(without, "tsc\n"));
	assert_true(clock_is_constant(without, "kvm-clock"));
	assert_true(clock_is_constant("Features\t: fp asimd evtstrm\n", "arch_sys_counter\n"));
	assert_false(clock_is_constant(without, "hpet\n"));
	assert_false(clock_is_constant(without, "tsc-early\n"));
	assert_false(clock_is_constant(without, ""));
	assert_false(clock_is_constant("", ""));
}

/* Two looks at the real clocks agree on its speed, however long apart they are. */
static void
this_machine(void **state)
{
	struct clock_moment begin, middle;
	struct error error;
	uint64_t first, second;

	(void)state;
	assert_int_equal(clock_begin(&begin, &error), 0);
	first = clock_calibrate(&begin);
	clock_read(&middle);
	assert_true(middle.raw_ns - begin.raw_ns >= CLOCK_SECOND_NS / 10);
	second = clock_calibrate(&begin);
	assert_true(first / 1000 > 0);
	assert_uint_in_range(second, first - first / 10000, first + first / 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_in_a_second),
		cmocka_unit_test(later_by_any_time_and_never_before),
		cmocka_unit_test(constant_by_processor_or_kernel),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
