/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "bytes.h"
#include "checksum.h"

/* RFC 1071 as it is written: 16-bit words, carries added back. */
static uint16_t
by_definition(const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;
	size_t at;

	for (at = 0; at < length; at += 2) {
		sum += (uint32_t)bytes[at] << 8 | (at + 1 < length ? bytes[at + 1] : 0);
		sum = (sum & UINT16_MAX) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

static void
known_values(void **state)
{
	/* The example of RFC 1071, and an IPv4 header whose checksum is known. */
	static const uint8_t words[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	static const uint8_t ipv4[] = { 0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
		0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7 };

	(void)state;
	assert_int_equal(checksum_fold(checksum_add(0, words, sizeof(words))), 0xddf2);
	assert_int_equal(checksum_finish(checksum_add(0, ipv4, sizeof(ipv4))), 0xb861);
}

static void
from_scratch_at_any_length_and_place(void **state)
{
	uint8_t bytes[300];
	uint64_t seed = 5;
	size_t length, i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)unit_random(&seed);
	for (i = 0; i < 8; i++)
		for (length = 0; length < sizeof(bytes) - 8; length++)
			assert_int_equal(checksum_finish(checksum_add(0, bytes + i, length)),
				by_definition(bytes + i, length));
}

static void
check_fold(uint64_t sum)
{
	uint64_t folded = checksum_fold(sum);

	/* 2^16 is 1 modulo 65535; a sum that is not 0 folds to 65535, not to 0. */
	assert_int_equal(folded % 65535, sum % 65535);
	assert_true((folded == 0) == (sum == 0));
}

static void
folding_keeps_the_value(void **state)
{
	static const uint64_t corners[] = { 0, 1, 2, 0x7fff, 0x8000, 0xfffe, 0xffff };
	const size_t count = sizeof(corners) / sizeof(corners[0]);
	uint64_t seed = 6;
	size_t i, rest;

	(void)state;
	/* Each of the four words at each corner: carries into carries. */
	for (i = 0; i < count * count * count * count; i++) {
		uint64_t sum = 0;

		for (rest = i; rest > 0; rest /= count)
			sum = sum << 16 | corners[rest % count];
		check_fold(sum);
	}
	assert_int_equal(checksum_fold(0), 0);
	assert_int_equal(checksum_fold(UINT64_MAX), UINT16_MAX);
	assert_int_equal(checksum_fold(UINT64_C(0xffff0001)), 1);
	for (i = 0; i < 1000000; i++)
		check_fold(unit_magnitude(&seed));
}

/* Every old and new value that is near a corner, for every checksum that a header can have. */
static void
a_16_bit_change_is_right_everywhere(void **state)
{
	static const uint16_t corners[] = { 0, 1, 2, 0x00ff, 0x0100, 0x7fff, 0x8000, 0xff00, 0xfffe,
		0xffff };
	const size_t count = sizeof(corners) / sizeof(corners[0]);
	uint32_t rest;
	size_t i, j;

	(void)state;
	/* The word beside the field takes each value but 0: no header is all zero. */
	for (rest = 1; rest <= UINT16_MAX; rest++) {
		for (i = 0; i < count; i++) {
			for (j = 0; j < count; j++) {
				uint16_t before = checksum_finish((uint64_t)rest + corners[i]);
				uint16_t after = checksum_finish((uint64_t)rest + corners[j]);

				assert_int_equal(after,
					checksum_change(before, corners[i], corners[j]));
			}
		}
	}
}

/* A number of only zeros or ones as often as a random one. */
static uint64_t
draw(uint64_t *seed)
{
	switch (unit_random(seed) % 4) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	default:
		return unit_random(seed);
	}
}

static void
wider_changes_are_right(void **state)
{
	static const unsigned int widths[] = { 16, 32, 48, 64 };
	uint64_t seed = 7;
	size_t w;
	int i;

	(void)state;
	for (w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		/* The field comes last; zeros behind a narrow one change no checksum. */
		const unsigned int unused = 64 - widths[w];

		for (i = 0; i < 100000; i++) {
			uint64_t old = draw(&seed) >> unused, new = draw(&seed) >> unused;
			uint8_t header[16] = { 0x45 };
			uint16_t before, after;

			bytes_put_32(header + 4, (uint32_t)draw(&seed));
			bytes_put_64(header + 8, old << unused);
			before = by_definition(header, sizeof(header));
			bytes_put_64(header + 8, new << unused);
			after = by_definition(header, sizeof(header));
			assert_int_equal(checksum_change(before, old, new), after);
		}
	}
}

static void
a_128_bit_change_is_right(void **state)
{
	uint64_t seed = 8;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		struct {
			uint64_t rest;
			uint64_t field[2]; /* an IPv6 address */
		} before = { draw(&seed) | 0x45, { draw(&seed), draw(&seed) } }, after = before;

		after.field[0] = draw(&seed);
		after.field[1] = draw(&seed);
		assert_int_equal(checksum_change_128(
			by_definition((const uint8_t *)&before, sizeof(before)),
			before.field, after.field),
			by_definition((const uint8_t *)&after, sizeof(after)));
	}
}

static void
udp_never_says_that_there_is_none(void **state)
{
	uint32_t sum;

	(void)state;
	assert_int_equal(checksum_finish(0xffff), 0);
	assert_int_equal(checksum_finish_udp(0xffff), 0xffff);
	for (sum = 1; sum < 200000; sum++) {
		assert_true(checksum_finish_udp(sum) != 0);
		if (checksum_finish(sum) != 0)
			assert_int_equal(checksum_finish_udp(sum), checksum_finish(sum));
	}
	/* Into the zero, and out of it again. */
	assert_int_equal(checksum_finish_udp(checksum_without(0xfffe, 0) + checksum_words(0xfffe)),
		0xffff);
	assert_int_equal(checksum_finish_udp(checksum_without(0xffff, 0xfffe) + checksum_words(0)),
		0xfffe);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(from_scratch_at_any_length_and_place),
		cmocka_unit_test(folding_keeps_the_value),
		cmocka_unit_test(a_16_bit_change_is_right_everywhere),
		cmocka_unit_test(wider_changes_are_right),
		cmocka_unit_test(a_128_bit_change_is_right),
		cmocka_unit_test(udp_never_says_that_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
