/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "gaps.h"

void
gaps_clear(struct gaps *gaps)
{
	memset(gaps, 0, sizeof(*gaps));
}

static void
add_missing(struct gaps *gaps, uint64_t frames)
{
	rte_atomic_store_explicit(&gaps->missing, gaps->missing + frames, rte_memory_order_relaxed);
}

void
gaps_open(struct gaps *gaps, uint64_t first, uint64_t span, uint64_t followed_tsc)
{
	struct gap *gap = &gaps->known[gaps->opened % GAPS_KNOWN];

	if (gap->missing != 0) {
		gaps->before.missing += gap->missing;
		gaps->before.followed_tsc = gap->followed_tsc;
	}
	*gap = (struct gap){
		.first = first, .span = span, .missing = span, .followed_tsc = followed_tsc,
	};
	gaps->opened++;
	add_missing(gaps, span);
}

void
gaps_fill(struct gaps *gaps, uint64_t sequence)
{
	struct gap *found = &gaps->before;
	uint64_t back;

	/* The last one first: late frames mostly are not very late. */
	for (back = 1; back <= GAPS_KNOWN && back <= gaps->opened; back++) {
		struct gap *gap = &gaps->known[(gaps->opened - back) % GAPS_KNOWN];

		if (sequence - gap->first < gap->span) {
			found = gap;
			break;
		}
	}
	if (found->missing == 0)
		return; /* nobody missed it */
	found->missing--;
	add_missing(gaps, UINT64_MAX); /* one less */
}

uint64_t
gaps_last(const struct gaps *gaps)
{
	uint64_t back;

	for (back = 1; back <= GAPS_KNOWN && back <= gaps->opened; back++) {
		const struct gap *gap = &gaps->known[(gaps->opened - back) % GAPS_KNOWN];

		if (gap->missing != 0)
			return gap->followed_tsc;
	}
	return gaps->before.missing != 0 ? gaps->before.followed_tsc : 0;
}
