/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "bytes.h"
#include "checksum.h"

uint64_t
checksum_add(uint64_t sum, const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;

	for (; length >= 4; length -= 4, byte += 4)
		sum += bytes_get_32(byte);
	if (length >= 2) {
		sum += bytes_get_16(byte);
		length -= 2;
		byte += 2;
	}
	if (length > 0)
		sum += (uint64_t)*byte << 8;
	return sum;
}

uint16_t
checksum_change_128(uint16_t checksum, const void *old, const void *new)
{
	uint64_t sum = (uint16_t)~checksum;
	int half;

	for (half = 0; half < 16; half += 8) {
		sum += checksum_words(~bytes_get_64((const uint8_t *)old + half));
		sum += checksum_words(bytes_get_64((const uint8_t *)new + half));
	}
	return checksum_finish(sum);
}
