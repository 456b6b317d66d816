/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <float.h>
#include <string.h>

#include "histogram.h"

void
histogram_clear(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->minimum = UINT64_MAX;
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	uint32_t index;

	into->count += from->count;
	into->sum += from->sum;
	if (from->minimum < into->minimum)
		into->minimum = from->minimum;
	if (from->maximum > into->maximum)
		into->maximum = from->maximum;
	for (index = 0; index < HISTOGRAM_BUCKETS; index++)
		into->bucket[index] += from->bucket[index];
}

uint64_t
histogram_lowest(uint32_t index)
{
	const uint32_t buckets = 1u << HISTOGRAM_BUCKETS_BITS;

	if (index < (1u << HISTOGRAM_LINEAR_BITS))
		return index;
	return (uint64_t)(buckets + (index & (buckets - 1))) <<
		((index >> HISTOGRAM_BUCKETS_BITS) - 1);
}

uint64_t
histogram_highest(uint32_t index)
{
	/* The last bucket also takes everything that is too great for the others. */
	if (index >= HISTOGRAM_BUCKETS - 1)
		return UINT64_MAX;
	return histogram_lowest(index + 1) - 1;
}

uint64_t
histogram_middle(const struct histogram *histogram, uint32_t index)
{
	uint64_t lowest = histogram_lowest(index);
	uint64_t highest = histogram_highest(index);

	if (lowest < histogram->minimum)
		lowest = histogram->minimum;
	if (highest > histogram->maximum)
		highest = histogram->maximum;
	return lowest + (highest - lowest) / 2;
}

/*
 * The nearest rank, rounded up. A decimal share is often a little too great in binary; without the
 * correction 7 % of 100 values would be the eighth.
 */
static uint64_t
rank_of(const struct histogram *histogram, double share)
{
	double exact = share * (double)histogram->count * (1 - 2 * DBL_EPSILON);
	uint64_t rank = (uint64_t)exact;

	return (double)rank < exact || rank == 0 ? rank + 1 : rank;
}

/* The bucket in which a rank is, and how many values come before it. */
static uint32_t
bucket_of(const struct histogram *histogram, uint64_t rank, uint64_t *before)
{
	uint32_t index;

	*before = 0;
	for (index = 0; index < HISTOGRAM_BUCKETS - 1; index++) {
		if (*before + histogram->bucket[index] >= rank)
			break;
		*before += histogram->bucket[index];
	}
	return index;
}

uint64_t
histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t before;

	if (histogram->count == 0)
		return 0;
	if (!(share > 0))
		return histogram->minimum;
	if (share >= 1)
		return histogram->maximum;
	return histogram_middle(histogram,
		bucket_of(histogram, rank_of(histogram, share), &before));
}

uint64_t
histogram_between(const struct histogram *histogram, double share)
{
	uint64_t rank, before, lowest, highest;
	uint32_t index;

	if (histogram->count == 0)
		return 0;
	rank = rank_of(histogram, share);
	index = bucket_of(histogram, rank, &before);
	lowest = histogram_lowest(index);
	highest = histogram_highest(index);
	if (lowest < histogram->minimum)
		lowest = histogram->minimum;
	if (highest > histogram->maximum)
		highest = histogram->maximum;
	return lowest + (uint64_t)((double)(highest - lowest) *
		((double)(rank - before) - 0.5) / (double)histogram->bucket[index]);
}
