/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdlib.h>

#include "unit.h"

#include "bytes.h"
#include "checksum.h"
#include "datagram.h"

#define ROOM 2048
#define IP 14
#define UDP 34
#define ICMP 34

static const struct packet_macs macs = {
	.source = { 0x02, 0, 0, 0, 0, 1 }, .destination = { 0x02, 1, 0, 0, 0, 1 },
};

/* From 198.18.0.1:1024 to 198.19.0.1:80 with the number 0x12345678 and "xyz" behind it. */
static const uint8_t golden[] = {
	0x02, 0x01, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00,
	0x45, 0x00, 0x00, 0x23, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xae, 0xa2,
	0xc6, 0x12, 0x00, 0x01, 0xc6, 0x13, 0x00, 0x01,
	0x04, 0x00, 0x00, 0x50, 0x00, 0x0f, 0x14, 0x32, 0x12, 0x34, 0x56, 0x78, 0x78, 0x79, 0x7a,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static const struct datagram usual = {
	.source = { 0xc6120001, 1024 }, .destination = { 0xc6130001, 80 },
	.number = 0x12345678, .bytes = 7, .data = (const uint8_t *)"....xyz",
};

static struct datagram
some(uint64_t *seed, uint8_t *data)
{
	struct datagram datagram = {
		.source = { (uint32_t)unit_random(seed), (uint16_t)unit_random(seed) },
		.destination = { (uint32_t)unit_random(seed), (uint16_t)unit_random(seed) },
		.number = (uint32_t)unit_random(seed),
		.bytes = DATAGRAM_NUMBER + unit_random(seed) % 1457, .data = data,
	};
	uint16_t i;

	for (i = 0; i < datagram.bytes; i++)
		data[i] = (uint8_t)unit_random(seed);
	return datagram;
}

static void
test_a_datagram_is_written_as_others_write_it(void **state)
{
	uint8_t frame[ROOM];

	(void)state;
	assert_int_equal(datagram_write(frame, &macs, &usual), sizeof(golden));
	assert_memory_equal(frame, golden, sizeof(golden));
	assert_int_equal(datagram_frame_bytes(&usual), sizeof(golden));
}

static void
test_what_was_written_is_read_again(void **state)
{
	uint8_t frame[ROOM], data[ROOM];
	uint64_t seed = 7;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct datagram datagram = some(&seed, data), again;
		uint16_t length = datagram_write(frame, &macs, &datagram);

		assert_int_equal(length, datagram_frame_bytes(&datagram));
		assert_true(length >= PACKET_SHORTEST);
		assert_int_equal(datagram_read(frame, length, &again), PACKET_READ);
		assert_false(again.is_unreachable);
		assert_int_equal(again.number, datagram.number);
		assert_int_equal(again.bytes, datagram.bytes);
		assert_memory_equal(again.data + DATAGRAM_NUMBER, data + DATAGRAM_NUMBER,
			datagram.bytes - DATAGRAM_NUMBER);
		assert_int_equal(again.source.ip, datagram.source.ip);
		assert_int_equal(again.source.port, datagram.source.port);
		assert_int_equal(again.destination.ip, datagram.destination.ip);
		assert_int_equal(again.destination.port, datagram.destination.port);
	}
}

static void
test_every_flipped_bit_is_noticed(void **state)
{
	uint8_t frame[ROOM], data[ROOM];
	uint64_t seed = 8;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct datagram datagram = some(&seed, data), again;
		uint16_t length = datagram_write(frame, &macs, &datagram);
		uint16_t end = UDP + 8 + datagram.bytes;
		unsigned int bit;

		for (bit = 12 * 8; bit < length * 8u; bit++) {
			bool is_padding = bit >= end * 8u;

			frame[bit / 8] ^= 1 << bit % 8;
			assert_true((datagram_read(frame, length, &again) == PACKET_READ) ==
				is_padding);
			frame[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void
test_a_datagram_without_a_checksum_is_taken(void **state)
{
	uint8_t frame[ROOM];
	struct datagram again;
	uint16_t length = datagram_write(frame, &macs, &usual);

	(void)state;
	bytes_put_16(frame + UDP + 6, 0);
	assert_int_equal(datagram_read(frame, length, &again), PACKET_READ);
	assert_int_equal(again.number, usual.number);
}

static void
test_one_too_short_for_a_number_has_none(void **state)
{
	const struct datagram empty = { .source = usual.source, .destination = usual.destination };
	uint8_t frame[ROOM];
	struct datagram again;

	(void)state;
	assert_int_equal(datagram_read(frame, datagram_write(frame, &macs, &empty), &again),
		PACKET_READ);
	assert_int_equal(again.bytes, 0);
}

static void
test_a_frame_that_ends_too_early_is_damaged_or_none(void **state)
{
	uint8_t frame[ROOM], refusal[ROOM], *exact;
	struct datagram again;
	uint16_t whole = datagram_write(frame, &macs, &usual), length, i;

	(void)state;
	datagram_read(frame, whole, &again);
	datagram_refuse(refusal, &macs, &again);
	for (i = 0; i < 2; i++)
		for (length = 0; length < UDP + 8 + usual.bytes; length++) {
			/* So that reading past the end is noticed. */
			exact = malloc(length + (length == 0));
			memcpy(exact, i == 0 ? frame : refusal, length);
			assert_int_not_equal(datagram_read(exact, length, &again), PACKET_READ);
			free(exact);
		}
}

static void
test_who_is_refused_hears_which_datagram_it_was(void **state)
{
	uint8_t frame[ROOM], refusal[ROOM];
	struct datagram again, refused;
	uint16_t length = datagram_write(frame, &macs, &usual);

	(void)state;
	assert_int_equal(datagram_read(frame, length, &again), PACKET_READ);
	length = datagram_refuse(refusal, &macs, &again);
	assert_int_equal(length, datagram_refusal_bytes(&again));
	assert_int_equal(length, 14 + 20 + 8 + 20 + 8);
	/* From who was asked; and a port, of all that there may be, is what cannot be reached. */
	assert_memory_equal(refusal + IP + 12, frame + IP + 16, 4);
	assert_memory_equal(refusal + IP + 16, frame + IP + 12, 4);
	assert_memory_equal(refusal + ICMP, "\x03\x03", 2);
	assert_memory_equal(refusal + ICMP + 8, frame + IP, 28);
	assert_int_equal(datagram_read(refusal, length, &refused), PACKET_READ);
	assert_true(refused.is_unreachable);
	assert_int_equal(refused.source.ip, usual.source.ip);
	assert_int_equal(refused.source.port, usual.source.port);
	assert_int_equal(refused.destination.ip, usual.destination.ip);
	assert_int_equal(refused.destination.port, usual.destination.port);
	refusal[ICMP + 8 + 20] ^= 1;
	assert_int_equal(datagram_read(refusal, length, &refused), PACKET_DAMAGED);
}

/* Each with a checksum that is right again. */
static void
test_of_icmp_only_what_did_not_arrive_of_udp_is_ours(void **state)
{
	static const struct {
		uint16_t at;
		uint8_t value;
	} other[] = {
		{ ICMP, 8 }, /* an echo */
		{ ICMP + 1, 4 }, /* too long for the next link: somebody is there all the same */
		{ ICMP + 8, 0x65 }, /* version of what it quotes */
		{ ICMP + 8, 0x4f }, /* a header of that which it does not have */
		{ ICMP + 8 + 9, 6 }, /* TCP */
	};
	uint8_t frame[ROOM], refusal[ROOM];
	struct datagram again;
	size_t i;

	(void)state;
	datagram_read(frame, datagram_write(frame, &macs, &usual), &again);
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct datagram found;
		uint16_t length = datagram_refuse(refusal, &macs, &again);

		refusal[other[i].at] = other[i].value;
		bytes_put_16(refusal + ICMP + 2, 0);
		bytes_put_16(refusal + ICMP + 2,
			checksum_finish(checksum_add(0, refusal + ICMP, 36)));
		assert_int_equal(datagram_read(refusal, length, &found), PACKET_FOREIGN);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_datagram_is_written_as_others_write_it),
		cmocka_unit_test(test_what_was_written_is_read_again),
		cmocka_unit_test(test_every_flipped_bit_is_noticed),
		cmocka_unit_test(test_a_datagram_without_a_checksum_is_taken),
		cmocka_unit_test(test_one_too_short_for_a_number_has_none),
		cmocka_unit_test(test_a_frame_that_ends_too_early_is_damaged_or_none),
		cmocka_unit_test(test_who_is_refused_hears_which_datagram_it_was),
		cmocka_unit_test(test_of_icmp_only_what_did_not_arrive_of_udp_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
