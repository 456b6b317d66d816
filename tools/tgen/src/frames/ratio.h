/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RATIO_H
#define TGEN_RATIO_H

/*
 * A fraction by which to multiply without dividing: its first 64 significant bits find the whole
 * part to within one, and the remainder then decides.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wide.h"

struct ratio {
	uint64_t numerator, denominator;
	uint64_t leading; /* of numerator / denominator: the first 64 significant bits */
	unsigned int shift; /* 0 to 127; leading / 2^shift is the fraction */
};

/* Neither is 0. */
void ratio_init(struct ratio *ratio, uint64_t numerator, uint64_t denominator);

/* The whole part of value * ratio; the result must be below 2^63. */
static inline uint64_t
ratio_multiply(const struct ratio *ratio, uint64_t value, bool *has_remainder)
{
	uint64_t whole = (uint64_t)(((uint128_t)value * ratio->leading) >> ratio->shift);
	uint128_t remainder = (uint128_t)value * ratio->numerator -
		(uint128_t)whole * ratio->denominator;

	if (remainder >= ratio->denominator) {
		remainder -= ratio->denominator;
		whole++;
	}
	*has_remainder = remainder != 0;
	return whole;
}

#endif /* TGEN_RATIO_H */
