/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WINDOW_H
#define TGEN_WINDOW_H

/*
 * Which sequence numbers of a stream have arrived: one bit for each of the last `size` numbers up
 * to the highest one seen. Only these bits mean anything; whatever lies ahead of them is left
 * over from a round ago, and is written when the window moves over it. So a frame that arrives in
 * order needs nothing cleared, and a new trial needs no clearing at all.
 */

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "error.h"

#define WINDOW_LEAST (UINT64_C(1) << 20) /* 128 KB */
#define WINDOW_MOST (UINT64_C(1) << 26) /* 8 MB */
#define WINDOW_NS UINT64_C(200000000) /* how late a frame may be, at any rate but the greatest */
#define WINDOW_FASTEST_MFPS UINT64_C(148809524000) /* 100 Gbit/s of the shortest frames */

enum window_seen {
	WINDOW_NEW, /* and the highest so far */
	WINDOW_LATE, /* new as well, but after a later one: reordered */
	WINDOW_DUPLICATE,
	WINDOW_BEYOND, /* late, and too far behind to be told from a duplicate */
};

#define WINDOW_LATE_FLOWS 64

/* What is known of a flow that was late. */
struct window_late {
	uint64_t looked; /* all numbers below this one were looked at; */
	uint64_t highest; /* of these, the flow's highest one that has arrived */
	uint32_t flows; /* of so many it is one; 0: it was never late */
};

struct window {
	uint64_t next; /* one above the highest number seen */
	uint64_t mask; /* size - 1 */
	uint64_t *bits;
	struct window_late *late; /* WINDOW_LATE_FLOWS of them */
};

/* The size is a power of two, at least 64. Allocates: not for the data path. */
int window_create(struct window *window, uint64_t size, struct error *error);
void window_destroy(struct window *window);

/* Forget everything, for a new trial. */
void window_clear(struct window *window);

/* Everything but arrival in order. */
enum window_seen window_see_other(struct window *window, uint64_t sequence);

static inline enum window_seen
window_see(struct window *window, uint64_t sequence)
{
	if (unlikely(sequence != window->next))
		return window_see_other(window, sequence);
	window->bits[(sequence & window->mask) >> 6] |= UINT64_C(1) << (sequence & 63);
	window->next = sequence + 1;
	return WINDOW_NEW;
}

/* The size for a stream's rate (0: as fast as may be, shared by all) and its number of frames. */
uint64_t window_size(uint64_t rate_mfps, uint64_t frames, unsigned int streams);

/*
 * Of a late number: how far it is behind the highest one that has arrived of those that differ from
 * it by a multiple of `flows`, counted in such steps; 0 when none has. Those are of its flow, and
 * where flows go different ways no order between them is asked for. To be asked of each late number when it
 * arrives: where a flow is slower than the others all of its frames are late, and what was looked at for one
 * of them is not looked at again for the next.
 */
uint64_t window_extent_in_flow(struct window *window, uint64_t sequence, uint32_t flows);

/* How far a number is behind the highest one seen; 0 for the highest itself. */
static inline uint64_t
window_extent(const struct window *window, uint64_t sequence)
{
	return window->next - 1 - sequence;
}

#endif /* TGEN_WINDOW_H */
