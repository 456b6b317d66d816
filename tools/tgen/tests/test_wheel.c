/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdlib.h>

#include "unit.h"

#include "wheel.h"

#define COUNT 500
#define UNSET UINT32_MAX

/* Against one that looks through all of them: whatever is set, changed and cleared. */
static void
test_each_goes_off_at_its_tick_and_none_that_was_cleared(void **state)
{
	static struct connection connection[COUNT];
	static struct wheel wheel;
	uint32_t due[COUNT], tick = 0, number, i;
	uint64_t seed = 3;

	(void)state;
	wheel_init(&wheel, connection, COUNT);
	for (i = 0; i < COUNT; i++)
		due[i] = UNSET;
	while (tick < 200000) {
		for (i = 0; i < 20; i++) {
			number = unit_random(&seed) % COUNT;
			if (unit_random(&seed) % 4 == 0) {
				wheel_clear(&wheel, number);
				due[number] = UNSET;
				continue;
			}
			due[number] = tick + unit_random(&seed) % (3 * WHEEL_SLOTS);
			wheel_set(&wheel, number, due[number]);
			if (due[number] == tick)
				due[number]++; /* that one has gone by */
		}
		tick += 1 + unit_random(&seed) % 50;
		while ((number = wheel_next(&wheel, tick)) != CONNECTION_NONE) {
			assert_true(due[number] <= tick);
			due[number] = UNSET;
		}
		for (i = 0; i < COUNT; i++)
			assert_true(due[i] == UNSET || due[i] > tick);
	}
}

static void
test_ticks_go_round(void **state)
{
	static struct connection connection[2];
	static struct wheel wheel;

	(void)state;
	wheel_init(&wheel, connection, 2);
	wheel.tick = UINT32_MAX - 5;
	wheel_set(&wheel, 0, 3);
	wheel_set(&wheel, 1, UINT32_MAX - 5);
	assert_int_equal(wheel_next(&wheel, UINT32_MAX), 1);
	assert_int_equal(wheel_next(&wheel, 2), CONNECTION_NONE);
	assert_int_equal(wheel_next(&wheel, 3), 0);
	assert_int_equal(wheel_next(&wheel, 100000), CONNECTION_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_goes_off_at_its_tick_and_none_that_was_cleared),
		cmocka_unit_test(test_ticks_go_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
