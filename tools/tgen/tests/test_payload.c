/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "checksum.h"
#include "payload.h"

static struct payload
some(uint64_t *seed)
{
	struct payload payload = {
		.trial = (uint8_t)unit_random(seed),
		.stream = (uint8_t)unit_random(seed),
		.sequence = unit_magnitude(seed) & TGEN_48_BITS,
		.departure = unit_random(seed) & TGEN_48_BITS,
	};

	return payload;
}

static void
reads_what_was_written(void **state)
{
	uint8_t bytes[TGEN_PAYLOAD_BYTES];
	uint64_t seed = 8;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct payload payload = some(&seed), again;

		payload_write(bytes, &payload);
		assert_int_equal(payload_read(bytes, &again), PAYLOAD_OURS);
		assert_int_equal(again.trial, payload.trial);
		assert_int_equal(again.stream, payload.stream);
		assert_int_equal(again.sequence, payload.sequence);
		assert_int_equal(again.departure, payload.departure);
	}
}

/* So a checksum over it, at even and odd places, is that of a payload of zeros. */
static void
adds_nothing_to_a_checksum(void **state)
{
	uint8_t bytes[TGEN_PAYLOAD_BYTES + 3] = { 0x45, 0x12 };
	uint64_t seed = 9;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct payload payload = some(&seed);
		size_t at = 1 + (i & 1);
		uint16_t empty;

		memset(bytes + 1, 0, sizeof(bytes) - 1);
		empty = checksum_finish(checksum_add(0, bytes, at + TGEN_PAYLOAD_BYTES));
		payload_write(bytes + at, &payload);
		assert_int_equal(checksum_finish(checksum_add(0, bytes, at + TGEN_PAYLOAD_BYTES)),
			empty);
	}
}

static void
every_flipped_bit_is_seen(void **state)
{
	uint8_t bytes[TGEN_PAYLOAD_BYTES];
	uint64_t seed = 10;
	int round, bit;

	(void)state;
	for (round = 0; round < 1000; round++) {
		struct payload payload = some(&seed), again;

		payload_write(bytes, &payload);
		for (bit = 0; bit < 8 * TGEN_PAYLOAD_BYTES; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
			assert_int_equal(payload_read(bytes, &again),
				bit < 16 ? PAYLOAD_FOREIGN : PAYLOAD_CORRUPTED);
			bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(adds_nothing_to_a_checksum),
		cmocka_unit_test(every_flipped_bit_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
