/* SPDX-License-Identifier: Apache-2.0 */
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

#define WINDOW_SIZE (UINT64_C(1) << 20) /* the usual one: 128 KB, 67 ms at 15 million a second */

enum window_seen {
	WINDOW_NEW, /* and the highest so far */
	WINDOW_LATE, /* new as well, but after a later one: reordered */
	WINDOW_DUPLICATE,
	WINDOW_BEYOND, /* late, and too far behind to be told from a duplicate */
};

struct window {
	uint64_t next; /* one above the highest number seen */
	uint64_t mask; /* size - 1 */
	uint64_t *bits;
};

/* The size is a power of two, at least 64. Allocates: not for the data path. */
int window_create(struct window *window, uint64_t size, struct error *error);
void window_destroy(struct window *window);

/* Forget everything, for a new trial. */
static inline void
window_clear(struct window *window)
{
	window->next = 0;
}

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

/* How far a number is behind the highest one seen; 0 for the highest itself. */
static inline uint64_t
window_extent(const struct window *window, uint64_t sequence)
{
	return window->next - 1 - sequence;
}

#endif /* TGEN_WINDOW_H */
