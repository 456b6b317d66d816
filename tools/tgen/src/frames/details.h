/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_DETAILS_H
#define TGEN_DETAILS_H

/*
 * More of a frame's latency than how long it was: how it differs from that of the frame before, and
 * histograms of some frames only. Only trials that ask for it have any of this.
 */

#include <stdint.h>

#include "histogram.h"
#include "part.h"
#include "payload.h"
#include "traffic.h"

/* Frames whose latencies are counted apart. */
struct pick {
	uint64_t first, last; /* by their numbers in the stream, */
	uint64_t after; /* and only if they left so many cycles after the begin of the trial */
	struct histogram *latency;
	uint64_t first_frame; /* the first of them that arrived; UINT64_MAX: none did */
	uint64_t first_tsc, first_latency; /* when that left, and how long it took */
};

struct details {
	struct histogram *variation; /* NULL when not asked for */
	uint64_t last_sequence, last_latency; /* of the frame before */
	const uint64_t *begin_tsc; /* of the trial */
	struct part part;
	unsigned int picks;
	struct pick pick[TGEN_MAX_PICKS];
};

/* Of new frames only. */
void details_note(struct details *details, const struct payload *payload, uint64_t latency,
	uint64_t now);

#endif /* TGEN_DETAILS_H */
