/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ROUND_H
#define TGEN_ROUND_H

/* A round of a worker's loop: look at ports, offer frames, check what came. */

#include "receive.h"
#include "transmit.h"
#include "worker.h"

/* What a round of the loop met. */
struct round {
	uint64_t begin;
	bool offered; /* frames to ports */
	bool received; /* any frame */
	bool ours; /* of this trial */
};

static inline bool
round_poll(struct worker *worker, struct receiver *const *receiver, unsigned int receivers)
{
	bool received = false;
	unsigned int i;

	for (i = 0; i < receivers; i++)
		received |= receive_poll(worker, receiver[i]);
	return received;
}

static inline bool
round_check(struct worker *worker, struct receiver *const *receiver, unsigned int receivers)
{
	bool ours = false;
	unsigned int i;

	for (i = 0; i < receivers; i++)
		ours |= receive_check(worker, receiver[i]);
	return ours;
}

/*
 * Offer what a sender has due. Frames that it sent come back on top of those of the sender before:
 * in between, all that has arrived is taken, or many streams would fill a ring that one does not.
 */
static inline void
round_offer(struct worker *worker, struct sender *sender, uint64_t now, bool is_last,
	struct receiver *const *receiver, unsigned int receivers, struct round *round)
{
	if (!transmit_round(worker, sender, now))
		return;
	round->offered = true;
	if (is_last)
		return;
	round->ours |= round_check(worker, receiver, receivers);
	round->received |= round_poll(worker, receiver, receivers);
}

/*
 * Quiet is when nothing of this trial comes: what others say may never end. A poll that finds nothing
 * says so of the time before it, and not of that for which the CPU may have been away since.
 */
static inline void
round_note_quiet(struct worker *worker, const struct round *round, uint64_t end, bool draining)
{
	int64_t quiet = (int64_t)(round->begin - worker->last_arrival);

	if (round->ours) {
		worker->last_arrival = end;
		quiet = 0;
	}
	if (draining)
		rte_atomic_store_explicit(&worker->quiet_cycles, quiet > 0 ? (uint64_t)quiet : 0,
			rte_memory_order_relaxed);
}

#endif /* TGEN_ROUND_H */
