/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "bytes.h"
#include "hdr.h"
#include "wide.h"

#define NANOSECONDS UINT64_C(1000000000)
#define LOWEST 1
#define HIGHEST (100 * NANOSECONDS)
#define DIGITS 3
#define HALF_BITS 10 /* 2^10 buckets for each power of two make 3 digits */
#define COUNTS (28 << HALF_BITS) /* up to 2^38 ns, the first power above the highest value */

#define COOKIE_PLAIN 0x1c849313
#define COOKIE_COMPRESSED 0x1c849314
#define HEADER_BYTES 40
#define WORD_BYTES 9 /* the most that a count takes */

uint64_t
hdr_nanoseconds(uint64_t cycles, uint64_t tsc_hz)
{
	return (uint64_t)(((uint128_t)cycles * NANOSECONDS + tsc_hz / 2) / tsc_hz);
}

uint64_t
hdr_mean_nanoseconds(const struct histogram *histogram, uint64_t tsc_hz)
{
	uint128_t divisor = (uint128_t)histogram->count * tsc_hz;

	if (histogram->count == 0)
		return 0;
	return (uint64_t)((histogram->sum * NANOSECONDS + divisor / 2) / divisor);
}

static uint32_t
index_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2u << HALF_BITS)
		return (uint32_t)value;
	shift = 63 - HALF_BITS - (unsigned int)__builtin_clzll(value);
	return (shift << HALF_BITS) + (uint32_t)(value >> shift);
}

static uint32_t
fill(const struct histogram *histogram, uint64_t tsc_hz, uint64_t *counts)
{
	uint32_t index, used = 0;

	for (index = 0; index < HISTOGRAM_BUCKETS; index++) {
		uint32_t slot;
		uint64_t value;

		if (histogram->bucket[index] == 0)
			continue;
		value = hdr_nanoseconds(histogram_middle(histogram, index), tsc_hz);
		value = value < LOWEST ? LOWEST : value;
		slot = index_of(value < HIGHEST ? value : HIGHEST);
		counts[slot] += histogram->bucket[index];
		used = slot + 1;
	}
	return used;
}

/* ZigZag, then 7 bits a byte from the lowest; a ninth byte holds all 8. */
static uint8_t *
put_word(uint8_t *where, int64_t number)
{
	uint64_t rest = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
	unsigned int bytes;

	for (bytes = 1; bytes < WORD_BYTES && rest > 0x7f; bytes++) {
		*where++ = (uint8_t)(rest | 0x80);
		rest >>= 7;
	}
	*where++ = (uint8_t)rest;
	return where;
}

/* A run of zeros is one negative number. */
static uint8_t *
put_counts(uint8_t *where, const uint64_t *counts, uint32_t used)
{
	uint32_t slot = 0;

	while (slot < used) {
		uint32_t first = slot;

		while (slot < used && counts[slot] == 0)
			slot++;
		if (slot > first)
			where = put_word(where, -(int64_t)(slot - first));
		else
			where = put_word(where, (int64_t)counts[slot++]);
	}
	return where;
}

static size_t
put_plain(uint8_t *where, const uint64_t *counts, uint32_t used)
{
	const double conversion = 1.0;
	uint64_t conversion_bits;
	uint8_t *end = put_counts(where + HEADER_BYTES, counts, used);

	memcpy(&conversion_bits, &conversion, sizeof(conversion_bits));
	bytes_put_32(where, COOKIE_PLAIN);
	bytes_put_32(where + 4, (uint32_t)(end - where) - HEADER_BYTES);
	bytes_put_32(where + 8, 0); /* no normalising offset */
	bytes_put_32(where + 12, DIGITS);
	bytes_put_64(where + 16, LOWEST);
	bytes_put_64(where + 24, HIGHEST);
	bytes_put_64(where + 32, conversion_bits);
	return (size_t)(end - where);
}

static char *
base64(const uint8_t *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((length + 2) / 3 * 4 + 1), *to = text;
	size_t at;

	if (text == NULL)
		return NULL;
	for (at = 0; at < length; at += 3) {
		size_t left = length - at;
		uint32_t group = (uint32_t)bytes[at] << 16 |
			(left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
			(left > 2 ? bytes[at + 2] : 0);

		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[group & 63] : '=';
	}
	*to = '\0';
	return text;
}

static char *
compress_to_text(const uint8_t *plain, size_t length)
{
	uLongf packed = compressBound(length);
	uint8_t *bytes = malloc(8 + packed);
	char *text = NULL;

	if (bytes == NULL)
		return NULL;
	if (compress(bytes + 8, &packed, plain, length) == Z_OK) {
		bytes_put_32(bytes, COOKIE_COMPRESSED);
		bytes_put_32(bytes + 4, (uint32_t)packed);
		text = base64(bytes, 8 + packed);
	}
	free(bytes);
	return text;
}

char *
hdr_encode(const struct histogram *histogram, uint64_t tsc_hz)
{
	uint64_t *counts = calloc(COUNTS, sizeof(*counts));
	uint8_t *plain = malloc(HEADER_BYTES + (size_t)COUNTS * WORD_BYTES);
	char *text = NULL;

	if (counts != NULL && plain != NULL) {
		uint32_t used = fill(histogram, tsc_hz, counts);

		text = compress_to_text(plain, put_plain(plain, counts, used));
	}
	free(plain);
	free(counts);
	return text;
}
