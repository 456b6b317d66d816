/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "pool.h"
#include "traffic.h"

/* Everybody holds all that it ever can, and a burst is still there. */
static void
a_burst_is_left_when_all_hold_what_they_can(void **state)
{
	static const struct pool_holders holders[] = {
		{ .descriptors = 2048, .lcores = 2, .cache = 512, .queues = 1, .senders = 32,
			.waiting = 256 },
		{ .descriptors = 64 * 2048, .lcores = 65, .cache = 512, .queues = 64,
			.senders = TGEN_MAX_PARTS, .waiting = 256 },
		{ .descriptors = 128, .lcores = 9, .cache = 128, .queues = 4, .senders = 64,
			.waiting = 256 },
	};
	unsigned int i, lcore;

	(void)state;
	for (i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		const struct pool_holders *all = &holders[i];
		int64_t left = pool_size(all);

		left -= all->descriptors;
		/* As DPDK has it: a cache is emptied to its size when it has more than 1.5 of it. */
		for (lcore = 0; lcore < all->lcores; lcore++)
			left -= (int64_t)(1.5 * all->cache);
		left -= (int64_t)all->queues * TGEN_BURST;
		left -= (int64_t)all->senders * TGEN_BURST;
		left -= all->waiting;
		assert_true(left >= TGEN_BURST);
		/* And not many more: they would be cold in every cache, and cost memory. */
		assert_true(left < 2 * TGEN_BURST);
	}
}

static void
each_lcore_queue_and_sender_makes_it_larger(void **state)
{
	const struct pool_holders few = { .descriptors = 1024, .lcores = 2, .cache = 512,
		.queues = 1, .senders = 32 };
	struct pool_holders more = few;

	(void)state;
	more.lcores++;
	assert_int_equal(pool_size(&more) - pool_size(&few), 768);
	more = few;
	more.queues++;
	assert_int_equal(pool_size(&more) - pool_size(&few), TGEN_BURST);
	more = few;
	more.senders++;
	assert_int_equal(pool_size(&more) - pool_size(&few), TGEN_BURST);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_left_when_all_hold_what_they_can),
		cmocka_unit_test(each_lcore_queue_and_sender_makes_it_larger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
