/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_HISTOGRAM_H
#define TGEN_HISTOGRAM_H

/*
 * Log-linear counts: values below 256 exactly, above that 128 buckets for each power of two, so
 * the relative error stays below 1 %. Adding is a shift, a subtraction and an increment; no
 * allocation, no branch on the hot path but one.
 */

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "wide.h"

#define HISTOGRAM_LINEAR_BITS 8
#define HISTOGRAM_BUCKETS_BITS 7
#define HISTOGRAM_MAX_BITS 44 /* 2^44 cycles: above 100 s at 100 GHz */
#define HISTOGRAM_BUCKETS \
	((HISTOGRAM_MAX_BITS - HISTOGRAM_BUCKETS_BITS + 1) << HISTOGRAM_BUCKETS_BITS)

struct histogram {
	uint64_t count;
	uint128_t sum; /* 2^48 values of 2^48 */
	uint64_t minimum; /* UINT64_MAX when empty */
	uint64_t maximum;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline uint32_t
histogram_index(uint64_t value)
{
	unsigned int shift;

	if (value < (1u << HISTOGRAM_LINEAR_BITS))
		return (uint32_t)value;
	if (unlikely(value >> HISTOGRAM_MAX_BITS))
		return HISTOGRAM_BUCKETS - 1;
	shift = 63 - HISTOGRAM_BUCKETS_BITS - (unsigned int)__builtin_clzll(value);
	return (shift << HISTOGRAM_BUCKETS_BITS) + (uint32_t)(value >> shift);
}

static inline void
histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->count++;
	histogram->sum += value;
	if (value < histogram->minimum)
		histogram->minimum = value;
	if (value > histogram->maximum)
		histogram->maximum = value;
	histogram->bucket[histogram_index(value)]++;
}

void histogram_clear(struct histogram *histogram);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Least and greatest value that a bucket stands for; the last one takes all that is greater. */
uint64_t histogram_lowest(uint32_t index);
uint64_t histogram_highest(uint32_t index);
/* The middle of a bucket that is not empty, as far as minimum and maximum leave it open. */
uint64_t histogram_middle(const struct histogram *histogram, uint32_t index);
/* The value at a share of 0 to 1 of the counts, by nearest rank; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
/* The same between the ends of its bucket, by how much of that lies below: of many equal ones it is no step. */
uint64_t histogram_between(const struct histogram *histogram, double share);

#endif /* TGEN_HISTOGRAM_H */
