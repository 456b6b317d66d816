/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Capture files: all formats say the same, and what is wrong with one is said with its frame. */

#include "unit.h"

#include <stdlib.h>

#include "pcap_write.h"
#include "replay.h"

#define ETHERNET 1
#define LONGEST 1518

/* Of no protocol that anybody knows. */
static const uint8_t plain[100] = { [12] = 0x88, [13] = 0xb5, [14] = 7, [99] = 9 };

static struct replay *
parse(const struct written *file, struct error *error)
{
	/* In a place of its own, so that reading past the end is noticed. */
	void *exact = malloc(file->length + (file->length == 0));
	struct replay *replay;

	memcpy(exact, file->bytes, file->length);
	replay = replay_parse(exact, file->length, LONGEST, error);
	free(exact);
	return replay;
}

static void
assert_refused(const struct written *file, const char *why)
{
	struct error error = { 0 };
	struct replay *replay = parse(file, &error);

	assert_null(replay);
	assert_non_null(strstr(error.text, why));
}

/* Frames at 0, 1.5 and 2 ms, each of them complete. */
static void
assert_three_frames(const struct written *file)
{
	static const uint64_t when_ns[] = { 0, 1500000, 2000000 };
	static const uint16_t lengths[] = { 100, 60, 64 };
	struct error error = { 0 };
	struct replay *replay = parse(file, &error);
	unsigned int i;

	assert_non_null(replay);
	assert_int_equal(replay->frames, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(replay->frame[i].when_ns, when_ns[i]);
		assert_int_equal(replay->frame[i].length, lengths[i]);
		assert_memory_equal(replay->bytes + replay->frame[i].offset, plain, 20);
	}
	assert_int_equal(replay->bytes[99], 9);
	assert_int_equal(replay->period_ns, 3000000);
	assert_int_equal(replay->sum, 100 + 60 + 64 + 3 * TGEN_FCS);
	assert_int_equal(replay->unmarked, 3);
	replay_free(replay);
}

static void
pcap_is_read_in_both_byte_orders_and_units(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		uint32_t unit = i / 2 != 0 ? 1000 : 1;
		struct written file = { .swapped = i % 2 != 0 };

		put_header(&file, unit == 1 ? MICROSECONDS : NANOSECONDS, ETHERNET);
		put_frame(&file, 1700000000, 999000 * unit, plain, 100, 100);
		put_frame(&file, 1700000001, 500 * unit, plain, 60, 60);
		put_frame(&file, 1700000001, 1000 * unit, plain, 64, 64);
		assert_three_frames(&file);
	}
}

static void
pcapng_is_read_in_both_byte_orders_and_all_units(void **state)
{
	/* Unless told, microseconds; 10^-9; 2^-10 and 10^-3, which have no 1.5 ms, are not here. */
	static const uint8_t resolutions[] = { 0, 6, 9, 12 };
	static const uint64_t units[] = { 1, 1, 1000, 1000000 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		uint64_t unit = units[i / 2], start = 1700000 * unit;
		struct written file = { .swapped = i % 2 != 0 };

		put_section(&file);
		put_interface(&file, ETHERNET, 0);
		put_interface(&file, ETHERNET, resolutions[i / 2]);
		put_packet(&file, 1, start, plain, 100);
		put_block(&file, 5, &(struct written){ .length = 8 }); /* statistics */
		put_packet(&file, 1, start + 1500 * unit, plain, 60);
		put_section(&file);
		put_interface(&file, ETHERNET, resolutions[i / 2]);
		put_packet(&file, 0, start + 2000 * unit, plain, 64);
		assert_three_frames(&file);
	}
}

static void
binary_fractions_of_a_second_are_times_too(void **state)
{
	struct written file = { 0 };
	struct error error = { 0 };
	struct replay *replay;

	(void)state;
	put_section(&file);
	put_interface(&file, ETHERNET, 0x80 | 10);
	put_packet(&file, 0, 5 << 10, plain, 60);
	put_packet(&file, 0, (5 << 10) + 512, plain, 60);
	replay = parse(&file, &error);
	assert_non_null(replay);
	assert_int_equal(replay->frame[1].when_ns, 500000000);
	replay_free(replay);
}

static void
short_frames_are_padded_and_counted(void **state)
{
	static const uint8_t zeros[18];
	uint8_t arp[42] = { [12] = 0x08, [13] = 0x06, [41] = 1 };
	struct written file = { 0 };
	struct error error = { 0 };
	struct replay *replay;

	(void)state;
	put_header(&file, MICROSECONDS, ETHERNET);
	put_frame(&file, 1, 0, arp, 42, 42);
	put_frame(&file, 1, 0, plain, 60, 60);
	replay = parse(&file, &error);
	assert_non_null(replay);
	assert_int_equal(replay->padded, 1);
	assert_int_equal(replay->frame[0].length, 60);
	assert_memory_equal(replay->bytes, arp, 42);
	assert_memory_equal(replay->bytes + 42, zeros, 18);
	assert_int_equal(replay->period_ns, 0);
	replay_free(replay);
}

static void
a_clock_that_stepped_back_makes_no_gap(void **state)
{
	static const uint32_t seconds[] = { 10, 12, 3, 11, 13 };
	static const uint64_t expected[] = { 0, 2, 2, 2, 3 };
	struct written file = { 0 };
	struct error error = { 0 };
	struct replay *replay;
	unsigned int i;

	(void)state;
	put_header(&file, MICROSECONDS, ETHERNET);
	for (i = 0; i < 5; i++)
		put_frame(&file, seconds[i], 0, plain, 60, 60);
	replay = parse(&file, &error);
	assert_non_null(replay);
	for (i = 0; i < 5; i++)
		assert_int_equal(replay->frame[i].when_ns, expected[i] * 1000000000);
	replay_free(replay);
}

static void
what_is_wrong_with_a_file_is_said(void **state)
{
	struct written file = { 0 }, whole = { 0 };

	(void)state;
	assert_refused(&file, "is empty");
	put_bytes(&file, "PK\3\4 nothing that anybody captured", 34);
	assert_refused(&file, "neither a pcap nor");
	file.length = 3;
	assert_refused(&file, "too few");
	put_header(&whole, MICROSECONDS, ETHERNET);
	assert_refused(&whole, "no frame");
	whole.length = 0;
	put_header(&whole, MICROSECONDS, 113);
	assert_refused(&whole, "link type 113");
	whole.length = 0;
	put_header(&whole, MICROSECONDS, UINT32_C(0x24000000) | ETHERNET);
	assert_refused(&whole, "FCS");
	whole.length = 0;
	put_header(&whole, 0xa1b2cd34, ETHERNET);
	assert_refused(&whole, "editcap");
	whole.length = 0;
	put_section(&whole);
	put_interface(&whole, 113, 0);
	assert_refused(&whole, "link type 113");
	whole.length = 0;
	put_section(&whole);
	put_interface(&whole, ETHERNET, 0);
	put_packet(&whole, 1, 0, plain, 60);
	assert_refused(&whole, "cannot be");
	whole.length = 0;
	put_section(&whole);
	put_block(&whole, 3, &(struct written){ .length = 64 });
	assert_refused(&whole, "editcap");
}

static void
what_is_wrong_with_a_frame_is_said_with_its_number(void **state)
{
	static const uint8_t long_one[LONGEST];
	static const struct {
		uint32_t captured, length;
		const char *why;
	} wrong[] = {
		{ 60, 61, "of frame 2 there are 60 of 61 bytes" },
		{ 61, 60, "frame 2 is said to have 60 bytes" },
		{ 13, 13, "frame 2 has 13 bytes, too few" },
		{ LONGEST - TGEN_FCS + 1, LONGEST - TGEN_FCS + 1, "frame 2 has 1519 bytes" },
	};
	struct written file = { 0 };
	size_t start;
	unsigned int i;

	(void)state;
	put_header(&file, MICROSECONDS, ETHERNET);
	put_frame(&file, 1, 0, plain, 60, 60);
	start = file.length;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		file.length = start;
		put_frame(&file, 1, 0, long_one, wrong[i].captured, wrong[i].length);
		assert_refused(&file, wrong[i].why);
	}
	file.length = start;
	put_frame(&file, 1, 0, plain, 60, 60);
	file.length--;
	assert_refused(&file, "ends within frame 2");
	file.length = start + 15;
	assert_refused(&file, "ends within frame 2");
	file.length = start;
	put_32(&file, 1);
	put_32(&file, 0);
	put_32(&file, UINT32_MAX);
	put_32(&file, UINT32_MAX);
	assert_refused(&file, "frame 2 is said to have 4294967295 bytes");
	file.length = start;
	put_frame(&file, 1 + 31 * 86400, 0, plain, 60, 60);
	assert_refused(&file, "30 days");
}

/* Whatever bytes a file has, it is replayed or refused; the sanitizers watch. */
static void
no_file_does_harm(void **state)
{
	uint64_t seed = 1, refused = 0, taken = 0;
	unsigned int round, change;

	(void)state;
	for (round = 0; round < 100000; round++) {
		struct written file = { .swapped = unit_random(&seed) % 2 };
		bool blocks = unit_random(&seed) % 2;
		struct error error = { 0 };
		struct replay *replay;

		if (blocks) {
			put_section(&file);
			put_interface(&file, ETHERNET, (uint8_t)unit_random(&seed));
			put_packet(&file, 0, unit_magnitude(&seed), plain, 61);
			put_packet(&file, 0, unit_magnitude(&seed), plain, 100);
		} else {
			put_header(&file, MICROSECONDS, ETHERNET);
			put_frame(&file, 1, 0, plain, 60, 60);
			put_frame(&file, 2, 0, plain, 100, 100);
		}
		for (change = unit_random(&seed) % 4; change > 0; change--)
			file.bytes[unit_random(&seed) % file.length] ^=
				(uint8_t)(1 << unit_random(&seed) % 8);
		if (unit_random(&seed) % 4 == 0)
			file.length = unit_random(&seed) % (file.length + 1);
		replay = parse(&file, &error);
		assert_true((replay == NULL) == (error.code != NULL));
		refused += replay == NULL;
		taken += replay != NULL;
		replay_free(replay);
	}
	assert_true(refused > 1000 && taken > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcap_is_read_in_both_byte_orders_and_units),
		cmocka_unit_test(pcapng_is_read_in_both_byte_orders_and_all_units),
		cmocka_unit_test(binary_fractions_of_a_second_are_times_too),
		cmocka_unit_test(short_frames_are_padded_and_counted),
		cmocka_unit_test(a_clock_that_stepped_back_makes_no_gap),
		cmocka_unit_test(what_is_wrong_with_a_file_is_said),
		cmocka_unit_test(what_is_wrong_with_a_frame_is_said_with_its_number),
		cmocka_unit_test(no_file_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
