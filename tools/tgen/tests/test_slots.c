/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "events.h"
#include "slots.h"

#define HZ UINT64_C(2600000000)

static void
are_the_nearest_power_of_two(void **state)
{
	static const struct {
		uint64_t cycles;
		uint8_t shift;
	} widths[] = {
		{ HZ / 100, 25 }, { UINT64_C(1) << 20, 20 }, { (UINT64_C(3) << 19) - 1, 20 },
		{ UINT64_C(3) << 19, 21 }, { 1, 10 }, { UINT64_MAX, 46 },
	};
	struct slot_grid grid;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		slot_grid_init(&grid, widths[i].cycles, 1000, true);
		assert_int_equal(grid.shift, widths[i].shift);
		assert_int_equal(grid.count, 1);
	}
}

static void
are_wider_where_they_would_be_too_many(void **state)
{
	struct slot_grid grid;
	uint64_t seed = 1;
	int i;

	(void)state;
	slot_grid_init(&grid, 1 << 20, ((uint64_t)SLOTS_MOST << 20) - 1, true);
	assert_int_equal(grid.shift, 20);
	assert_int_equal(grid.count, SLOTS_MOST);
	slot_grid_init(&grid, 1 << 20, (uint64_t)SLOTS_MOST << 20, true);
	assert_int_equal(grid.shift, 21);
	assert_int_equal(grid.count, SLOTS_MOST / 2 + 1);
	slot_grid_init(&grid, 1 << 20, 0, false); /* nobody knows */
	assert_int_equal(grid.shift, 20);
	assert_int_equal(grid.count, SLOTS_MOST);
	for (i = 0; i < 100000; i++) {
		uint64_t length = unit_magnitude(&seed) >> 18;

		slot_grid_init(&grid, unit_magnitude(&seed), length, true);
		assert_uint_in_range(grid.count, 1, SLOTS_MOST);
		assert_int_equal(length >> grid.shift, grid.count - 1);
	}
}

static void
count_a_frame_where_it_left_whichever_bits_of_that_are_known(void **state)
{
	/* The counter's lower 48 bits wrap a little later, and so does all of it. */
	static const uint64_t origins[] = { 1, HZ, TGEN_48_BITS - 1000, UINT64_MAX - 1000 };
	struct slot_grid grid;
	uint64_t since;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		slot_grid_init(&grid, 1 << 10, 100 << 10, true);
		grid.origin = origins[i];
		for (since = 0; since < 110 << 10; since += 511) {
			uint32_t slot = since >> 10 < 101 ? (uint32_t)(since >> 10) : 100;

			assert_int_equal(slot_of(&grid, grid.origin + since), slot);
			assert_int_equal(slot_of(&grid, (grid.origin + since) & TGEN_48_BITS), slot);
		}
		/* By the clock of another CPU it left before the trial began. */
		assert_int_equal(slot_of(&grid, (grid.origin - 700) & TGEN_48_BITS), 0);
	}
}

/* Connections may be held for a day, and 47 bits of cycles are some hours. */
static void
take_a_moment_that_is_known_as_a_whole_however_late_it_was(void **state)
{
	static const uint64_t origins[] = { 1, TGEN_48_BITS - 1000, UINT64_MAX - 1000 };
	struct slot_grid grid;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		slot_grid_init(&grid, 1, UINT64_C(1) << 50, false);
		grid.origin = origins[i];
		assert_int_equal(slot_at(&grid, grid.origin - 1), 0);
		assert_int_equal(slot_at(&grid, grid.origin), 0);
		assert_int_equal(slot_at(&grid, grid.origin + (UINT64_C(1) << 50)),
			UINT64_C(1) << 50 >> grid.shift);
		assert_int_equal(slot_at(&grid, grid.origin + (UINT64_C(1) << 60)),
			grid.count - 1);
	}
}

static void
share_a_time_as_it_covers_them(void **state)
{
	uint64_t slot[5] = { 0 };
	struct slot_grid grid = { .origin = UINT64_MAX - 99, .count = 5, .shift = 10 };
	uint64_t at = grid.origin;

	(void)state;
	slots_spread(&grid, slot, at + 1000, at + 2 * 1024 + 5);
	assert_int_equal(slot[0], 24);
	assert_int_equal(slot[1], 1024);
	assert_int_equal(slot[2], 5);
	slots_spread(&grid, slot, at - 5000, at + 3); /* it began before */
	assert_int_equal(slot[0], 27);
	slots_spread(&grid, slot, at - 5000, at); /* and nothing of it */
	slots_spread(&grid, slot, at + 700, at + 700);
	slots_spread(&grid, slot, at + 700, at + 600);
	assert_int_equal(slot[0], 27);
	slots_spread(&grid, slot, at + 4 * 1024 - 1, at + 40 * 1024); /* the last takes the rest */
	assert_int_equal(slot[3], 1);
	assert_int_equal(slot[4], 36 * 1024);
	slots_spread(&grid, slot, at + 50 * 1024, at + 51 * 1024);
	assert_int_equal(slot[4], 37 * 1024);
}

static void
share_any_time_to_the_last_cycle(void **state)
{
	uint64_t seed = 3, sum = 0;
	struct slot_grid grid;
	uint64_t slot[64] = { 0 };
	int i, j;

	(void)state;
	slot_grid_init(&grid, 1 << 14, 63 << 14, true);
	grid.origin = unit_random(&seed);
	for (i = 0; i < 100000; i++) {
		uint64_t from = unit_random(&seed) % (70 << 14), length = unit_random(&seed) % (9 << 14);

		slots_spread(&grid, slot, grid.origin + from, grid.origin + from + length);
		sum += length;
	}
	for (j = 0; j < 64; j++)
		sum -= slot[j];
	assert_int_equal(sum, 0);
}

static void
lose_no_refused_frame_by_rounding(void **state)
{
	struct slot_grid grid = { .count = 1000, .shift = 10 };
	uint64_t full[1000], refused[1000] = { 0 }, sum = 0;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		full[i] = 999;
	slots_add_refused(refused, full, 0, grid.count, UINT64_C(1000) << 16); /* a frame in 1000 cycles */
	for (i = 0; i < 1000; i++)
		sum += refused[i];
	assert_int_equal(sum, 999);
	assert_int_equal(refused[0], 0);
	assert_int_equal(refused[1], 1);
	slots_add_refused(refused, full, 0, grid.count, 0); /* flat out nothing is due at a time */
	assert_int_equal(refused[0], 0);
}

static void
are_noted_with_their_neighbours(void **state)
{
	struct slot_grid grid = { .origin = 500, .count = 20, .shift = 10 };
	struct slots slots;
	uint32_t i;

	(void)state;
	assert_int_equal(slots_create(&slots, &grid, 2, &(struct error){ 0 }), 0);
	slots_end(&slots, 500 + 15 * 1024 + 1);
	assert_int_equal(slots.used, 16);
	assert_int_equal(slots.shown, 17);
	for (i = 0; i < 16; i++)
		slots.stream[1][SLOT_SENT][i] = slots.stream[1][SLOT_RECEIVED][i] = 10;
	for (i = 0; i < slots.shown; i++)
		assert_false(slots_is_noted(&slots, i));
	slots.stream[1][SLOT_RECEIVED][4] = 9; /* lost */
	slots.away[0] = 1;
	slots.silent[9] = 1;
	slots.stream[0][SLOT_REFUSED][13] = 1;
	slots.stream[0][SLOT_HELD][19] = 1; /* long after the end of sending */
	for (i = 0; i < slots.shown; i++)
		assert_int_equal(slots_is_noted(&slots, i), i <= 1 || (i >= 3 && i <= 5) ||
			(i >= 8 && i <= 10) || (i >= 12 && i <= 14));
	assert_int_equal(slots_sum(&slots, slots.stream[1][SLOT_SENT]), 160);
	assert_int_equal(slots_sum(&slots, slots.stream[1][SLOT_RECEIVED]), 159);
	slots_end(&slots, 500 + 90 * 1024);
	assert_int_equal(slots.used, 20);
	assert_int_equal(slots.shown, 20);
	slots_destroy(&slots);
}

static void
note_missing(struct event_list *list, uint8_t part, uint64_t first, uint64_t span)
{
	events_note(list, &(struct event){
		.tsc = first, .part = part, .first = first, .span = span, .frames = span,
	});
}

static void
events_that_late_frames_undo_are_none(void **state)
{
	struct event_list list = { 0 };

	(void)state;
	note_missing(&list, 0, 100, 2);
	note_missing(&list, 1, 100, 2);
	note_missing(&list, 0, 200, 3);
	events_fill(&list, 1, 101);
	events_fill(&list, 1, 102); /* no part of any */
	events_fill(&list, 2, 100);
	assert_int_equal(list.listed, 3);
	assert_int_equal(list.event[1].frames, 1);
	assert_int_equal(list.event[1].span, 2);
	events_fill(&list, 1, 100);
	assert_int_equal(list.listed, 2);
	assert_int_equal(list.event[0].first, 100);
	assert_int_equal(list.event[1].first, 200);
	events_forget_part(&list, 0);
	assert_int_equal(list.listed, 0);
}

static void
events_of_several_workers_are_the_first_of_all(void **state)
{
	struct event_list list = { 0 }, other = { 0 };
	uint64_t origin = UINT64_MAX - 10, i;

	(void)state;
	for (i = 0; i < 40; i++) {
		note_missing(&list, 0, origin + 2 * i, 1);
		note_missing(&other, 1, origin + 2 * i + 1, 1);
	}
	assert_int_equal(list.listed, EVENTS_MOST);
	assert_int_equal(list.more, 8);
	events_merge(&list, &other, origin);
	assert_int_equal(list.listed, EVENTS_MOST);
	assert_int_equal(list.more, 8 + 8 + EVENTS_MOST);
	for (i = 0; i < EVENTS_MOST; i++)
		assert_int_equal(list.event[i].tsc, origin + i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_the_nearest_power_of_two),
		cmocka_unit_test(are_wider_where_they_would_be_too_many),
		cmocka_unit_test(count_a_frame_where_it_left_whichever_bits_of_that_are_known),
		cmocka_unit_test(take_a_moment_that_is_known_as_a_whole_however_late_it_was),
		cmocka_unit_test(share_a_time_as_it_covers_them),
		cmocka_unit_test(share_any_time_to_the_last_cycle),
		cmocka_unit_test(lose_no_refused_frame_by_rounding),
		cmocka_unit_test(are_noted_with_their_neighbours),
		cmocka_unit_test(events_that_late_frames_undo_are_none),
		cmocka_unit_test(events_of_several_workers_are_the_first_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
