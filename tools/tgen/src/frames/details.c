/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "details.h"

static void
note_variation(struct details *details, uint64_t sequence, uint64_t latency)
{
	uint64_t before = details->last_latency;

	/* RFC 5481: between a frame and the one sent just before it. */
	if (sequence == details->last_sequence + 1)
		histogram_add(details->variation,
			latency > before ? latency - before : before - latency);
	details->last_sequence = sequence;
	details->last_latency = latency;
}

static void
note_pick(struct pick *pick, uint64_t frame, uint64_t left_tsc, uint64_t latency)
{
	histogram_add(pick->latency, latency);
	if (frame >= pick->first_frame)
		return;
	pick->first_frame = frame;
	pick->first_tsc = left_tsc;
	pick->first_latency = latency;
}

void
details_note(struct details *details, const struct payload *payload, uint64_t latency,
	uint64_t now)
{
	uint64_t frame = part_frame(&details->part, payload->sequence);
	uint64_t left_tsc = now - latency;
	unsigned int i;

	if (details->variation != NULL)
		note_variation(details, payload->sequence, latency);
	for (i = 0; i < details->picks; i++) {
		struct pick *pick = &details->pick[i];

		if (frame >= pick->first && frame <= pick->last &&
				(int64_t)(left_tsc - *details->begin_tsc) >= (int64_t)pick->after)
			note_pick(pick, frame, left_tsc, latency);
	}
}
