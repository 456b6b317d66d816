/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_UNIT_H
#define TGEN_TESTS_UNIT_H

/* What all unit tests need; cmocka wants these headers before its own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef assert_uint_in_range
/* Before cmocka 2.0 there was one for all kinds of numbers. */
#define assert_uint_in_range assert_in_range
#endif

/* Numbers that look random and are the same on every run (SplitMix64). */
static inline uint64_t
unit_random(uint64_t *state)
{
	uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

/* Of any magnitude: as often below 2^8 as above 2^56. */
static inline uint64_t
unit_magnitude(uint64_t *state)
{
	unsigned int shift = unit_random(state) & 63;

	return unit_random(state) >> shift;
}

#endif /* TGEN_TESTS_UNIT_H */
