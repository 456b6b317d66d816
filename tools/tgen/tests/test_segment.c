/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdlib.h>

#include "unit.h"

#include "segment.h"

#define ROOM 2048

static const struct packet_macs macs = {
	.source = { 0x02, 0, 0, 0, 0, 1 }, .destination = { 0x02, 1, 0, 0, 0, 1 },
};

/* A SYN from 198.18.0.1:1024 to 198.19.0.1:80, as scapy writes it, too. */
static const uint8_t golden_syn[] = {
	0x02, 0x01, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00,
	0x45, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0xae, 0xa4,
	0xc6, 0x12, 0x00, 0x01, 0xc6, 0x13, 0x00, 0x01,
	0x04, 0x00, 0x00, 0x50, 0x12, 0x34, 0x56, 0x78, 0x00, 0x00, 0x00, 0x00,
	0x60, 0x02, 0xff, 0xff, 0x9f, 0x02, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4,
	0x00, 0x00,
};

static const struct segment syn = {
	.source = { 0xc6120001, 1024 }, .destination = { 0xc6130001, 80 },
	.sequence = 0x12345678, .window = 65535, .most = 1460, .flags = SEGMENT_SYN,
};

static struct segment
some(uint64_t *seed, uint8_t *data)
{
	struct segment segment = {
		.source = { (uint32_t)unit_random(seed), (uint16_t)unit_random(seed) },
		.destination = { (uint32_t)unit_random(seed), (uint16_t)unit_random(seed) },
		.sequence = (uint32_t)unit_random(seed),
		.acknowledgement = (uint32_t)unit_random(seed),
		.window = (uint16_t)unit_random(seed), .flags = unit_random(seed) & 0x1f,
		.bytes = unit_random(seed) % 1461, .data = data,
	};
	uint16_t i;

	segment.most = (segment.flags & SEGMENT_SYN) != 0 ? 1 + unit_random(seed) % 9000 : 0;
	for (i = 0; i < segment.bytes; i++)
		data[i] = (uint8_t)unit_random(seed);
	return segment;
}

static void
test_a_syn_is_written_as_others_write_it(void **state)
{
	uint8_t frame[ROOM];

	(void)state;
	assert_int_equal(segment_write(frame, &macs, &syn), sizeof(golden_syn));
	assert_memory_equal(frame, golden_syn, sizeof(golden_syn));
	assert_int_equal(segment_frame_bytes(&syn), sizeof(golden_syn));
}

static void
test_what_was_written_is_read_again(void **state)
{
	uint8_t frame[ROOM], data[ROOM];
	uint64_t seed = 7;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct segment segment = some(&seed, data), again;
		uint16_t length = segment_write(frame, &macs, &segment);

		assert_int_equal(length, segment_frame_bytes(&segment));
		assert_true(length >= PACKET_SHORTEST);
		assert_int_equal(segment_read(frame, length, &again), PACKET_READ);
		assert_int_equal(again.bytes, segment.bytes);
		assert_memory_equal(again.data, data, segment.bytes);
		assert_int_equal(again.source.ip, segment.source.ip);
		assert_int_equal(again.source.port, segment.source.port);
		assert_int_equal(again.destination.ip, segment.destination.ip);
		assert_int_equal(again.destination.port, segment.destination.port);
		assert_int_equal(again.sequence, segment.sequence);
		assert_int_equal(again.acknowledgement, segment.acknowledgement);
		assert_int_equal(again.window, segment.window);
		assert_int_equal(again.flags, segment.flags);
		assert_int_equal(again.most, segment.most);
	}
}

/* The Internet checksum sees every single bit; what is behind the packet is no part of it. */
static void
test_every_flipped_bit_is_noticed(void **state)
{
	uint8_t frame[ROOM], data[ROOM];
	uint64_t seed = 8;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct segment segment = some(&seed, data), again;
		uint16_t length = segment_write(frame, &macs, &segment);
		uint16_t end = 14 + 20 + 20 + (segment.most != 0 ? 4 : 0) + segment.bytes;
		unsigned int bit;

		for (bit = 12 * 8; bit < length * 8u; bit++) {
			bool is_padding = bit >= end * 8u;

			frame[bit / 8] ^= 1 << bit % 8;
			assert_true((segment_read(frame, length, &again) == PACKET_READ) ==
				is_padding);
			frame[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void
test_a_frame_that_ends_too_early_is_damaged_or_none(void **state)
{
	uint8_t frame[ROOM], data[ROOM], *exact;
	uint64_t seed = 9;
	struct segment segment, again;
	uint16_t whole, length;

	(void)state;
	do
		segment = some(&seed, data);
	while (segment.bytes < 6);
	whole = segment_write(frame, &macs, &segment);
	for (length = 0; length < whole; length++) {
		exact = malloc(length + (length == 0)); /* so that reading past the end is noticed */
		memcpy(exact, frame, length);
		assert_int_not_equal(segment_read(exact, length, &again), PACKET_READ);
		free(exact);
	}
}

static void
test_what_is_no_segment_is_foreign(void **state)
{
	static const struct {
		uint16_t at;
		uint8_t value;
	} other[] = {
		{ 12, 0x86 }, /* type of the frame */
		{ 14, 0x65 }, /* version */
	};
	uint8_t frame[ROOM];
	struct segment again;
	uint16_t length;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		length = segment_write(frame, &macs, &syn);
		frame[other[i].at] = other[i].value;
		assert_int_equal(segment_read(frame, length, &again), PACKET_FOREIGN);
	}
	/* UDP, and a fragment, each with a header that adds up. */
	length = segment_write(frame, &macs, &syn);
	frame[23] += 11;
	frame[25] -= 11;
	assert_int_equal(segment_read(frame, length, &again), PACKET_FOREIGN);
	length = segment_write(frame, &macs, &syn);
	frame[20] += 0x20;
	frame[24] -= 0x20;
	assert_int_equal(segment_read(frame, length, &again), PACKET_FOREIGN);
}

static void
test_numbers_of_a_sequence_go_round(void **state)
{
	(void)state;
	assert_true(segment_before(UINT32_MAX, 3));
	assert_false(segment_before(3, UINT32_MAX));
	assert_false(segment_before(3, 3));
	assert_int_equal(segment_span(&syn), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_syn_is_written_as_others_write_it),
		cmocka_unit_test(test_what_was_written_is_read_again),
		cmocka_unit_test(test_every_flipped_bit_is_noticed),
		cmocka_unit_test(test_a_frame_that_ends_too_early_is_damaged_or_none),
		cmocka_unit_test(test_what_is_no_segment_is_foreign),
		cmocka_unit_test(test_numbers_of_a_sequence_go_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
