/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "pacer.h"

static const uint64_t hertz[] = {
	1, 1000, 24000000, 999999999, UINT64_C(2600000000), UINT64_C(2599998765),
	UINT64_C(5000000001), UINT64_C(100000000000),
};

static const uint64_t rates[] = {
	1, 999, 1000, 1000000, 7000003, UINT64_C(999999999), UINT64_C(14880952380),
	UINT64_C(10000000000000), UINT64_C(100000000000001),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The schedule as its definition says it, by division. */
static uint64_t
due_by_division(uint64_t hz, uint64_t rate, uint64_t elapsed)
{
	return (uint64_t)((uint128_t)elapsed * rate / ((uint128_t)1000 * hz)) + 1;
}

static uint64_t
when_by_division(uint64_t hz, uint64_t rate, uint64_t n)
{
	return (uint64_t)(((uint128_t)n * 1000 * hz + rate - 1) / rate);
}

static void
check_at(const struct pacer *pacer, uint64_t hz, uint64_t rate, uint64_t elapsed)
{
	/* Results stay below 2^63, as the header asks. */
	if ((uint128_t)elapsed * rate / ((uint128_t)1000 * hz) >> 62 != 0)
		return;
	assert_int_equal(pacer_due(pacer, pacer->start_tsc + elapsed),
		due_by_division(hz, rate, elapsed));
}

static void
is_the_exact_fraction(void **state)
{
	uint64_t seed = 1;
	size_t h, r;
	int i;

	(void)state;
	for (h = 0; h < COUNT(hertz); h++) {
		for (r = 0; r < COUNT(rates); r++) {
			struct pacer pacer;

			pacer_init(&pacer, hertz[h], rates[r], unit_random(&seed));
			for (i = 0; i < 20000; i++) {
				uint64_t n = unit_magnitude(&seed) >> 16;
				uint64_t when;

				check_at(&pacer, hertz[h], rates[r], unit_magnitude(&seed) >> 4);
				if ((uint128_t)n * 1000 * hertz[h] / rates[r] >> 62 != 0)
					continue;
				when = when_by_division(hertz[h], rates[r], n);
				assert_int_equal(pacer_when(&pacer, n) - pacer.start_tsc, when);
				/* On both sides of the point where one more is due. */
				check_at(&pacer, hertz[h], rates[r], when);
				if (when > 0)
					check_at(&pacer, hertz[h], rates[r], when - 1);
			}
		}
	}
}

static void
due_and_when_agree(void **state)
{
	uint64_t seed = 2;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint64_t hz = 1000000000 + unit_random(&seed) % UINT64_C(4000000000);
		/* No faster than the clock, so that each frame has a cycle of its own. */
		uint64_t rate = 1 + unit_magnitude(&seed) % (1000 * hz);
		uint64_t n = unit_random(&seed) >> 24;
		struct pacer pacer;

		pacer_init(&pacer, hz, rate, unit_random(&seed) >> 1);
		if ((uint128_t)n * 1000 * hz / rate >> 62 != 0)
			continue;
		assert_int_equal(pacer_due(&pacer, pacer_when(&pacer, n)), n + 1);
		if (n > 0)
			assert_int_equal(pacer_due(&pacer, pacer_when(&pacer, n) - 1), n);
	}
}

static void
starts_with_the_first_frame(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, 1000, 1000, 500); /* 1000 cycles a second, 1 frame a second */
	assert_int_equal(pacer_due(&pacer, 0), 0);
	assert_int_equal(pacer_due(&pacer, 499), 0);
	assert_int_equal(pacer_due(&pacer, 500), 1);
	assert_int_equal(pacer_due(&pacer, 1499), 1);
	assert_int_equal(pacer_due(&pacer, 1500), 2);
	assert_int_equal(pacer_when(&pacer, 0), 500);
	assert_int_equal(pacer_when(&pacer, 7), 7500);
}

/* A second holds as many frames as the rate says; the next one is due at its end. */
static void
fits_the_intended_frames_into_the_time(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, UINT64_C(2600000000), UINT64_C(1488095238), 0);
	assert_int_equal(pacer_due(&pacer, UINT64_C(10) * 2600000000 - 1), 14880953);
	pacer_init(&pacer, UINT64_C(2600000000), UINT64_C(1000000000), 0);
	assert_int_equal(pacer_due(&pacer, UINT64_C(10) * 2600000000 - 1), 10000000);
	assert_int_equal(pacer_due(&pacer, UINT64_C(10) * 2600000000), 10000001);
}

static void
never_goes_back(void **state)
{
	uint64_t seed = 3, now = 0, before = 0, steps;
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, UINT64_C(2599998765), UINT64_C(14880952381), 0);
	for (steps = 0; steps < 2000000; steps++) {
		uint64_t due;

		now += unit_random(&seed) & 1023;
		due = pacer_due(&pacer, now);
		assert_true(due >= before);
		before = due;
	}
}

static void
works_across_the_wrap_of_the_counter(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, 1000, 1000000, UINT64_MAX - 9);
	assert_int_equal(pacer_due(&pacer, UINT64_MAX - 10), 0);
	assert_int_equal(pacer_due(&pacer, UINT64_MAX), 10);
	assert_int_equal(pacer_due(&pacer, 0), 11);
	assert_int_equal(pacer_when(&pacer, 10), 0);
}

static void
flat_out_is_always_due(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, UINT64_C(2600000000), 0, 1000);
	assert_int_equal(pacer_due(&pacer, 999), 0);
	assert_int_equal(pacer_due(&pacer, 1000), UINT64_MAX);
	assert_int_equal(pacer_when(&pacer, 12345), 1000);
}

/* However often and late it is looked at, no burst is longer or shorter, and no gap shorter. */
static void
bursts_are_exact_and_apart(void **state)
{
	static const uint64_t lengths[] = { 1, 2, 63, 64, 65, 1000 };
	const uint64_t gap = 5000;
	uint64_t seed = 17;
	size_t kind, rated;

	(void)state;
	for (kind = 0; kind < COUNT(lengths) * 2; kind++) {
		uint64_t length = lengths[kind / 2], now = 1000, sent = 0, ended = 0;
		struct pacer pacer;

		rated = kind % 2;
		pacer_init(&pacer, 1000000, rated * 100000000, now);
		pacer_set_bursts(&pacer, length, gap);
		while (sent < 20 * length) {
			uint64_t due = pacer_due(&pacer, now), taken;

			assert_uint_in_range(due, sent, (sent / length + 1) * length);
			if (due > sent && sent % length == 0 && sent != 0)
				assert_true(now - ended >= gap);
			/* A port takes some of what is due, or nothing. */
			taken = due > sent ? unit_random(&seed) % (due - sent + 1) : 0;
			sent += taken;
			now += unit_random(&seed) % 700;
			pacer_note_sent(&pacer, sent, now);
			if (taken != 0 && sent % length == 0)
				ended = now;
		}
	}
}

/* Within each burst the rate is kept, as it is in the first one. */
static void
each_burst_begins_its_schedule_anew(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, 1000000, 1000000, 0); /* a frame in 1000 cycles */
	pacer_set_bursts(&pacer, 3, 50000);
	assert_int_equal(pacer_due(&pacer, 999), 1);
	assert_int_equal(pacer_due(&pacer, 2000), 3);
	assert_int_equal(pacer_due(&pacer, 100000), 3);
	pacer_note_sent(&pacer, 2, 2000);
	assert_int_equal(pacer_due(&pacer, 100000), 3);
	pacer_note_sent(&pacer, 3, 2010);
	assert_int_equal(pacer_due(&pacer, 52009), 3);
	assert_int_equal(pacer_due(&pacer, 52010), 4);
	assert_int_equal(pacer_due(&pacer, 53010), 5);
	assert_int_equal(pacer_when(&pacer, 3), 52010);
	assert_int_equal(pacer_when(&pacer, 5), 54010);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_exact_fraction),
		cmocka_unit_test(due_and_when_agree),
		cmocka_unit_test(starts_with_the_first_frame),
		cmocka_unit_test(fits_the_intended_frames_into_the_time),
		cmocka_unit_test(never_goes_back),
		cmocka_unit_test(works_across_the_wrap_of_the_counter),
		cmocka_unit_test(flat_out_is_always_due),
		cmocka_unit_test(bursts_are_exact_and_apart),
		cmocka_unit_test(each_burst_begins_its_schedule_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
