/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "ratio.h"

/* Long division, one bit at a time: this is not the data path. */
void
ratio_init(struct ratio *ratio, uint64_t numerator, uint64_t denominator)
{
	uint64_t remainder = numerator % denominator;

	ratio->numerator = numerator;
	ratio->denominator = denominator;
	ratio->leading = numerator / denominator;
	ratio->shift = 0;
	while (ratio->leading >> 63 == 0) {
		bool bit = remainder >= denominator - remainder;

		remainder = bit ? remainder - (denominator - remainder) : 2 * remainder;
		ratio->leading = ratio->leading << 1 | bit;
		ratio->shift++;
	}
}
