/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "tape.h"

#define LONGEST 16

/* A frame that says its number in each byte. */
static void
add(struct tape *tape, uint8_t number, uint32_t length)
{
	uint8_t bytes[LONGEST];

	memset(bytes, number, sizeof(bytes));
	tape_add(tape, number, bytes, length);
}

static void
assert_frame(const struct tape *tape, uint32_t place, uint8_t number, uint32_t length)
{
	uint8_t bytes[LONGEST], expected[LONGEST];
	const struct taped *frame = tape_frame(tape, place, bytes);

	assert_int_equal(frame->tsc, number);
	assert_int_equal(frame->length, length);
	assert_int_equal(frame->kept, length < tape->room.longest ? length : tape->room.longest);
	memset(expected, number, sizeof(expected));
	assert_memory_equal(bytes, expected, frame->kept);
}

static struct tape *
tape_of(uint32_t frames, uint32_t bytes, bool last)
{
	const struct tape_room room = {
		.frames = frames, .bytes = bytes, .longest = LONGEST, .last = last,
	};
	struct error error = { 0 };
	struct tape *tape = tape_create(&room, &error);

	assert_non_null(tape);
	return tape;
}

static void
the_first_frames_are_kept_and_all_are_counted(void **state)
{
	struct tape *tape = tape_of(3, 1000, false);
	uint8_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		add(tape, i, 10);
	assert_int_equal(tape->count, 3);
	assert_int_equal(tape->heard, 5);
	for (i = 0; i < 3; i++)
		assert_frame(tape, i, i, 10);
	tape_destroy(tape);
}

static void
no_later_frame_follows_one_that_had_no_room_however_short(void **state)
{
	struct tape *tape = tape_of(10, 25, false);

	(void)state;
	add(tape, 1, 10);
	add(tape, 2, 10);
	add(tape, 3, 10);
	add(tape, 4, 1);
	assert_int_equal(tape->count, 2);
	assert_int_equal(tape->heard, 4);
	tape_destroy(tape);
}

static void
the_last_frames_are_kept_around_the_end_of_the_memory(void **state)
{
	struct tape *tape = tape_of(4, 37, true);
	uint64_t random = 1;
	uint32_t length[256], i, number;

	(void)state;
	for (number = 0; number < 256; number++) {
		uint32_t bytes = 0;

		length[number] = 1 + unit_random(&random) % LONGEST;
		add(tape, (uint8_t)number, length[number]);
		assert_true(tape->count >= 1 && tape->count <= 4);
		for (i = 0; i < tape->count; i++) {
			uint32_t which = number + 1 - tape->count + i;

			assert_frame(tape, i, (uint8_t)which, length[which]);
			bytes += length[which];
		}
		assert_int_equal(bytes, tape->used);
		assert_true(bytes <= 37);
	}
	assert_int_equal(tape->heard, 256);
	tape_destroy(tape);
}

static void
what_is_longer_is_cut_and_says_how_long_it_was(void **state)
{
	struct tape *tape = tape_of(2, 1, false);

	(void)state;
	tape_add(tape, 7, (const uint8_t *)"0123456789abcdefgh", 18);
	assert_int_equal(tape->count, 1);
	assert_int_equal(tape->frame[0].length, 18);
	assert_int_equal(tape->frame[0].kept, LONGEST);
	tape_destroy(tape);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_frames_are_kept_and_all_are_counted),
		cmocka_unit_test(no_later_frame_follows_one_that_had_no_room_however_short),
		cmocka_unit_test(the_last_frames_are_kept_around_the_end_of_the_memory),
		cmocka_unit_test(what_is_longer_is_cut_and_says_how_long_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
