/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include <stdlib.h>

#include "payload.h"
#include "window.h"

#define SIZE 256
#define MODEL 65536

/* All that ever arrived, and what follows from it by definition. */
struct model {
	uint64_t next;
	uint8_t seen[MODEL];
};

static enum window_seen
model_see(struct model *model, uint64_t sequence)
{
	bool had = model->seen[sequence];

	if (sequence < model->next && model->next - sequence > SIZE)
		return WINDOW_BEYOND;
	model->seen[sequence] = 1;
	if (sequence >= model->next) {
		model->next = sequence + 1;
		return WINDOW_NEW;
	}
	return had ? WINDOW_DUPLICATE : WINDOW_LATE;
}

static void
in_order_is_new(void **state)
{
	struct window window;
	struct error error;
	uint64_t sequence;

	(void)state;
	assert_int_equal(window_create(&window, SIZE, &error), 0);
	for (sequence = 0; sequence < 10 * SIZE; sequence++) {
		assert_int_equal(window_see(&window, sequence), WINDOW_NEW);
		assert_int_equal(window_see(&window, sequence), WINDOW_DUPLICATE);
		assert_int_equal(window_extent(&window, sequence), 0);
	}
	window_destroy(&window);
}

/* After a gap of `gap` numbers, all and only those in the window can still come, once. */
static void
check_gap(uint64_t start, uint64_t gap)
{
	struct window window;
	struct error error;
	uint64_t sequence, last = start + gap, oldest;

	assert_int_equal(window_create(&window, SIZE, &error), 0);
	for (sequence = 0; sequence < start; sequence++)
		assert_int_equal(window_see(&window, sequence), WINDOW_NEW);
	assert_int_equal(window_see(&window, last), WINDOW_NEW);
	oldest = last + 1 < SIZE ? 0 : last + 1 - SIZE;
	for (sequence = 0; sequence < last; sequence++) {
		enum window_seen seen = window_see(&window, sequence);

		if (sequence < oldest)
			assert_int_equal(seen, WINDOW_BEYOND);
		else if (sequence < start)
			assert_int_equal(seen, WINDOW_DUPLICATE);
		else
			assert_int_equal(seen, WINDOW_LATE);
		assert_int_equal(window_extent(&window, sequence), last - sequence);
	}
	for (sequence = oldest; sequence <= last; sequence++)
		assert_int_equal(window_see(&window, sequence), WINDOW_DUPLICATE);
	assert_int_equal(window_see(&window, last + 1), WINDOW_NEW);
	window_destroy(&window);
}

static void
gaps_of_every_size(void **state)
{
	uint64_t start, gap;

	(void)state;
	for (start = 0; start < 2 * SIZE; start += 37)
		for (gap = 0; gap < 3 * SIZE; gap++)
			check_gap(start, gap);
}

static void
agrees_with_the_model(void **state)
{
	struct model *model = malloc(sizeof(*model));
	uint64_t seed = 4;
	int round, i;

	(void)state;
	for (round = 0; round < 60; round++) {
		/* From nearly in order to wild. */
		uint64_t reach = UINT64_C(1) << (round % 12);
		struct window window;
		struct error error;
		uint64_t head = 0;

		memset(model, 0, sizeof(*model));
		assert_int_equal(window_create(&window, SIZE, &error), 0);
		for (i = 0; i < 20000; i++) {
			uint64_t choice = unit_random(&seed), sequence = head;

			if (choice % 8 == 0)
				sequence += unit_random(&seed) % reach;
			else if (choice % 8 == 1 && head > 0)
				sequence -= unit_random(&seed) % (reach < head ? reach : head);
			if (sequence >= MODEL)
				break;
			assert_int_equal(window_see(&window, sequence),
				model_see(model, sequence));
			assert_int_equal(window.next, model->next);
			head = window.next;
		}
		window_destroy(&window);
	}
	free(model);
}

static void
the_end_of_48_bits(void **state)
{
	struct window window;
	struct error error;

	(void)state;
	assert_int_equal(window_create(&window, WINDOW_LEAST, &error), 0);
	assert_int_equal(window_see(&window, 0), WINDOW_NEW);
	assert_int_equal(window_see(&window, TGEN_48_BITS - 1), WINDOW_NEW);
	assert_int_equal(window_see(&window, TGEN_48_BITS), WINDOW_NEW);
	assert_int_equal(window_see(&window, TGEN_48_BITS), WINDOW_DUPLICATE);
	assert_int_equal(window_see(&window, TGEN_48_BITS + 1 - WINDOW_LEAST), WINDOW_LATE);
	assert_int_equal(window_see(&window, TGEN_48_BITS - WINDOW_LEAST), WINDOW_BEYOND);
	assert_int_equal(window_see(&window, 0), WINDOW_BEYOND);
	assert_int_equal(window_extent(&window, 0), TGEN_48_BITS);
	window_destroy(&window);
}

static void
a_new_trial_starts_empty(void **state)
{
	struct window window;
	struct error error;
	uint64_t sequence;

	(void)state;
	assert_int_equal(window_create(&window, SIZE, &error), 0);
	for (sequence = 0; sequence < 5 * SIZE / 2; sequence++)
		assert_int_equal(window_see(&window, sequence), WINDOW_NEW);
	window_clear(&window);
	/* From the far end, so that each one before it has to be told from what was there. */
	assert_int_equal(window_see(&window, SIZE - 1), WINDOW_NEW);
	for (sequence = 0; sequence < SIZE - 1; sequence++)
		assert_int_equal(window_see(&window, sequence), WINDOW_LATE);
	window_destroy(&window);
}

static void
refuses_odd_sizes(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 32, 63, 65, 100, 1000000 };
	struct window window;
	struct error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_true(window_create(&window, sizes[i], &error) < 0);
		assert_string_equal(error.code, "bad-value");
	}
}

static void
late_within_a_flow_only(void **state)
{
	struct window window;
	struct error error;

	(void)state;
	assert_int_equal(window_create(&window, 1024, &error), 0);
	/* Two flows go different ways: the odd numbers are all there before the first even one. */
	assert_int_equal(window_see(&window, 1), WINDOW_NEW);
	assert_int_equal(window_see(&window, 3), WINDOW_NEW);
	assert_int_equal(window_see(&window, 7), WINDOW_NEW);
	assert_int_equal(window_see(&window, 0), WINDOW_LATE);
	assert_int_equal(window_extent_in_flow(&window, 0, 2), 0);
	assert_int_equal(window_extent_in_flow(&window, 0, 1), 7);
	assert_int_equal(window_see(&window, 2), WINDOW_LATE);
	assert_int_equal(window_extent_in_flow(&window, 2, 2), 0);
	/* One flow's own order still matters: 5 comes after 7, by one step of its flow. */
	assert_int_equal(window_see(&window, 5), WINDOW_LATE);
	assert_int_equal(window_extent_in_flow(&window, 5, 2), 1);
	/* What never came is not counted from: of 4 and 6 neither is there. */
	assert_int_equal(window_extent_in_flow(&window, 2, 4), 0);
	window_destroy(&window);
}

/* By definition: from the highest number of the flow that has arrived. */
static uint64_t
model_extent(const struct model *model, uint64_t sequence, uint32_t flows)
{
	uint64_t steps = (model->next - 1 - sequence) / flows;

	while (steps > 0 && !model->seen[sequence + steps * flows])
		steps--;
	return steps;
}

static void
late_by_as_much_as_the_model_says_in_any_number_of_flows(void **state)
{
	static const uint32_t flows[] = { 1, 2, 3, 8, WINDOW_LATE_FLOWS, WINDOW_LATE_FLOWS + 1 };
	struct model *model = malloc(sizeof(*model));
	struct window window;
	struct error error;
	uint64_t seed = 5;
	unsigned int i;

	(void)state;
	assert_int_equal(window_create(&window, SIZE, &error), 0);
	for (i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		memset(model, 0, sizeof(*model));
		window_clear(&window);
		while (model->next < MODEL - SIZE) {
			uint64_t choice = unit_random(&seed), sequence = model->next;
			enum window_seen seen;

			/* Some are left out, and some of these come late. */
			if (choice % 3 != 0)
				sequence += choice / 3 % 4;
			else if (sequence > SIZE / 2)
				sequence -= choice / 3 % (SIZE / 2);
			seen = window_see(&window, sequence);
			assert_int_equal(seen, model_see(model, sequence));
			if (seen == WINDOW_LATE)
				assert_int_equal(
					window_extent_in_flow(&window, sequence, flows[i]),
					model_extent(model, sequence, flows[i]));
		}
	}
	window_destroy(&window);
	free(model);
}

/* With a look at all that has arrived for each of them this would take hours. */
static void
a_flow_may_be_slower_than_another_for_as_long_as_the_window_is(void **state)
{
	struct window window;
	struct error error;
	uint64_t sequence;

	(void)state;
	assert_int_equal(window_create(&window, WINDOW_LEAST, &error), 0);
	for (sequence = 1; sequence < WINDOW_LEAST; sequence += 2)
		assert_int_equal(window_see(&window, sequence), WINDOW_NEW);
	for (sequence = 0; sequence < WINDOW_LEAST; sequence += 2) {
		assert_int_equal(window_see(&window, sequence), WINDOW_LATE);
		assert_int_equal(window_extent_in_flow(&window, sequence, 2), 0);
	}
	window_destroy(&window);
}

static void
as_great_as_rate_and_time_ask(void **state)
{
	const uint64_t mega = UINT64_C(1000000) * 1000;

	(void)state;
	assert_int_equal(window_size(mega, TGEN_48_BITS, 1), WINDOW_LEAST);
	/* A fifth of a second of 100 Gbit/s of the shortest frames is 29.8 million. */
	assert_int_equal(window_size(148 * mega, TGEN_48_BITS, 1), UINT64_C(1) << 25);
	assert_int_equal(window_size(0, TGEN_48_BITS, 1), UINT64_C(1) << 25);
	assert_int_equal(window_size(0, TGEN_48_BITS, 32), WINDOW_LEAST);
	assert_int_equal(window_size(UINT64_MAX, TGEN_48_BITS, 1), WINDOW_MOST);
	/* No more than there are frames. */
	assert_int_equal(window_size(148 * mega, 1000, 1), WINDOW_LEAST);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_is_new),
		cmocka_unit_test(gaps_of_every_size),
		cmocka_unit_test(agrees_with_the_model),
		cmocka_unit_test(the_end_of_48_bits),
		cmocka_unit_test(a_new_trial_starts_empty),
		cmocka_unit_test(refuses_odd_sizes),
		cmocka_unit_test(late_within_a_flow_only),
		cmocka_unit_test(late_by_as_much_as_the_model_says_in_any_number_of_flows),
		cmocka_unit_test(a_flow_may_be_slower_than_another_for_as_long_as_the_window_is),
		cmocka_unit_test(as_great_as_rate_and_time_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
