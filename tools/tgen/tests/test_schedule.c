/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The times of a file as a schedule: its own, faster and slower, round after round. */

#include "unit.h"

#include <errno.h>

#include "payload.h"
#include "schedule.h"

#define HZ UINT64_C(2593905764)
#define SECOND_NS UINT64_C(1000000000)

/* Three at once, a pause, one, a long pause. */
static struct replay_frame frames[] = {
	{ .when_ns = 0 }, { .when_ns = 0 }, { .when_ns = 0 }, { .when_ns = 1000000 },
	{ .when_ns = 9000000 },
};
static const struct replay file = { .frames = 5, .period_ns = 11250000, .frame = frames };

static uint64_t
file_ns(uint64_t n)
{
	return n / 5 * file.period_ns + frames[n % 5].when_ns;
}

static uint64_t
up(uint128_t numerator, uint128_t denominator)
{
	return (uint64_t)((numerator + denominator - 1) / denominator);
}

static void
the_files_own_times_are_kept_to_the_cycle(void **state)
{
	struct schedule schedule;
	uint64_t n;

	(void)state;
	schedule_init(&schedule, &file, 0, HZ);
	for (n = 0; n < 100000; n++) {
		uint64_t when = up((uint128_t)file_ns(n) * HZ, SECOND_NS), due;

		schedule_sent(&schedule, n);
		assert_int_equal(schedule_when(&schedule, n), when);
		assert_int_equal(schedule_when(&schedule, n + 63),
			up((uint128_t)file_ns(n + 63) * HZ, SECOND_NS));
		for (due = n; file_ns(due) <= file_ns(n); due++)
			continue;
		assert_int_equal(schedule_due(&schedule, when), due);
		if (when != 0)
			assert_int_equal(schedule_due(&schedule, when - 1), n);
	}
}

static void
a_burst_is_all_that_is_looked_ahead(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init(&schedule, &file, 0, HZ);
	schedule_sent(&schedule, 7);
	assert_int_equal(schedule_due(&schedule, HZ * 3600), 7 + SCHEDULE_AHEAD);
}

static void
a_rate_is_the_mean_of_all_distances(void **state)
{
	/* 5 frames in 11.25 ms are 444.4 a second. */
	static const uint64_t rates_mfps[] = { 1, 444444, 1000000, 5000001, 100000000000 };
	struct schedule schedule;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(rates_mfps) / sizeof(rates_mfps[0]); i++) {
		uint64_t n = 5 * 1000, exact = up((uint128_t)n * 1000 * HZ, rates_mfps[i]), when;

		schedule_init(&schedule, &file, rates_mfps[i], HZ);
		schedule_sent(&schedule, n);
		when = schedule_when(&schedule, n);
		assert_true(when >= exact - exact / SECOND_NS - 1 && when <= exact + exact / SECOND_NS + 1);
	}
}

static void
frames_due_in_a_time_are_counted_exactly(void **state)
{
	static const uint64_t durations_ns[] = {
		1, 999999, 1000000, 1000001, 9000000, 9000001, 11250000, 11250001, 22500000, SECOND_NS,
	};
	unsigned int i;
	uint64_t n;

	(void)state;
	for (i = 0; i < sizeof(durations_ns) / sizeof(durations_ns[0]); i++) {
		for (n = 0; file_ns(n) < durations_ns[i]; n++)
			continue;
		assert_int_equal(schedule_frames(&file, 0, durations_ns[i]), n);
	}
	/* At ten thousand times its rate, for a day. */
	n = schedule_frames(&file, 4444444444, 86400 * SECOND_NS);
	assert_true(n >= 383999999000 && n <= 384000001000);
}

static void
impossible_speeds_are_refused(void **state)
{
	const struct replay at_once = { .frames = 5, .frame = frames };
	const uint64_t month_ns = 30 * 86400 * SECOND_NS;
	struct error error;

	(void)state;
	assert_int_equal(schedule_check(&file, 0, TGEN_48_BITS, month_ns, &error), 0);
	assert_int_equal(schedule_check(&file, 1, 5, 0, &error), 0);
	assert_int_equal(schedule_check(&at_once, 0, 5, 0, &error), -EINVAL);
	assert_non_null(strstr(error.text, "same time"));
	assert_int_equal(schedule_check(&file, 444445000000, 5, 0, &error), -EINVAL);
	assert_non_null(strstr(error.text, "444.444 frames a second"));
	assert_int_equal(schedule_check(&file, 400000000000, TGEN_48_BITS, month_ns, &error), -EINVAL);
	assert_non_null(strstr(error.text, "hundred years"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_files_own_times_are_kept_to_the_cycle),
		cmocka_unit_test(a_burst_is_all_that_is_looked_ahead),
		cmocka_unit_test(a_rate_is_the_mean_of_all_distances),
		cmocka_unit_test(frames_due_in_a_time_are_counted_exactly),
		cmocka_unit_test(impossible_speeds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
