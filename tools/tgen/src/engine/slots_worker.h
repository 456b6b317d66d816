/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SLOTS_WORKER_H
#define TGEN_SLOTS_WORKER_H

/* What a worker writes down in slots of time, and as events. None of it is called in a trial without. */

#include "events.h"
#include "slots.h"
#include "worker.h"

#define SLOTS_RECENT 256 /* gaps that a silence may have had; of more the first are forgotten */

/* Of a worker; those of its senders and watches hang on these. */
struct worker_slots {
	struct slot_grid grid;
	struct events events;
	struct {
		uint64_t from, to;
	} recent[SLOTS_RECENT];
	uint32_t gaps; /* so many have been; the last of them are in `recent` */
	uint64_t *away; /* cycles */
	uint64_t lane[];
};

struct sender_slots {
	uint64_t full_since; /* TSC of the first look that found no room, while none finds any */
	enum room first, last; /* why that one found none, and the last */
	uint64_t *sent; /* frames that can be recognised */
	uint64_t *full; /* cycles without room, for either reason */
	uint64_t *held; /* and those for which frames on their way were it */
	uint64_t lane[];
};

struct watch_slots {
	struct worker *worker; /* that sees it */
	uint64_t least_latency; /* UINT64_MAX before the first arrival */
	uint64_t *received; /* frames */
	uint64_t *silent; /* cycles */
	uint64_t lane[];
};

/* A worker begins, and may have been away until now: from now on it writes down. */
void slots_begin(struct worker *worker);

/* It was away from one moment to the other. */
void slots_note_gap(struct worker *worker, uint64_t from, uint64_t to);

/* The first of the frames that are held left. */
void slots_note_sent(const struct worker *worker, struct sender *sender, uint64_t departure,
	unsigned int frames);

/* A look that found this much room; since the last one there was none for so many cycles. */
void slots_note_room(struct worker *worker, struct sender *sender, uint64_t now, uint64_t full,
	enum room room);
/* There will be no more looks. */
void slots_end_room(struct worker *worker, struct sender *sender);

/*
 * Of frames that left in one slot and arrived together, so many are new. If the stream was silent for
 * more than 100 us before, though the first of them should have come, its path stood still: for all of
 * that time in which this worker was running. A frame should come when it has been on its way for as
 * long as the quickest one so far.
 */
void slots_note_arrival(const struct watch *watch, uint64_t departure, uint64_t frames, uint64_t now);

/* A number that is not the next one: others are missing before it, or it was missing itself. */
void slots_note_jump(struct watch_slots *slots, const struct payload *payload,
	enum window_seen seen, uint64_t next, uint64_t now);

#endif /* TGEN_SLOTS_WORKER_H */
