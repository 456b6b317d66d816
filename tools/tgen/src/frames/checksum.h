/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CHECKSUM_H
#define TGEN_CHECKSUM_H

/*
 * The Internet checksum: from scratch, and changed along with a field (RFC 1624, equation 3).
 * Sums are 64 bits wide and are folded at the end. All values are numbers, not bytes in memory:
 * bytes.h reads and writes them in network order.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Add the bytes as 16-bit words; a last odd byte counts as the upper half of one. Exact for up to
 * 2^32 bytes in one sum.
 */
uint64_t checksum_add(uint64_t sum, const void *bytes, size_t length);

/* Words of a number that is 16, 32, 48 or 64 bits wide, for adding to a sum. */
static inline uint64_t
checksum_words(uint64_t value)
{
	return (value & UINT32_MAX) + (value >> 32);
}

/* To 16 bits with end-around carries; 0 only if the sum is 0. */
static inline uint16_t
checksum_fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)((sum & UINT16_MAX) + (sum >> 16));
}

/* What goes into a header of IPv4 or TCP. */
static inline uint16_t
checksum_finish(uint64_t sum)
{
	return (uint16_t)~checksum_fold(sum);
}

/* A checksum of 0 would say that there is none: UDP sends its other zero instead. */
static inline uint16_t
checksum_finish_udp(uint64_t sum)
{
	uint16_t checksum = checksum_finish(sum);

	return checksum != 0 ? checksum : UINT16_MAX;
}

/* The sum below a checksum, with the words of a field taken out; other words can then be added. */
static inline uint64_t
checksum_without(uint16_t checksum, uint64_t field)
{
	return (uint64_t)(uint16_t)~checksum + checksum_words(~field);
}

/*
 * The checksum after a field of 16, 32, 48 or 64 bits changed. UDP also needs the zero rule: use
 * checksum_finish_udp(checksum_without(checksum, old) + checksum_words(new)).
 */
static inline uint16_t
checksum_change(uint16_t checksum, uint64_t old, uint64_t new)
{
	return checksum_finish(checksum_without(checksum, old) + checksum_words(new));
}

/* The same for a field of 128 bits, in network order. */
uint16_t checksum_change_128(uint16_t checksum, const void *old, const void *new);

#endif /* TGEN_CHECKSUM_H */
