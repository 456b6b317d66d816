/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SLOTS_H
#define TGEN_SLOTS_H

/*
 * A trial in slots of time: what left in each of them, what of that arrived, and when somebody stood
 * still. A frame is counted where it left, both when it is sent and when it arrives, so what is lost in
 * a slot is exactly the difference. The last slot takes all that is later.
 *
 * A slot is a power of two of TSC cycles, so that its number is a shift. Departures in payloads have
 * 48 bits; what seems to be more than half of that after the begin was before it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "error.h"
#include "payload.h"
#include "traffic.h"

#define SLOTS_MOST 8192

/* Where the slots of a trial lie. */
struct slot_grid {
	uint64_t origin; /* TSC at which the first one begins; 0 before anybody knows */
	uint32_t count;
	uint8_t shift; /* each has 2^shift cycles */
};

/* What is counted by streams in each slot. */
enum slot_lane {
	SLOT_SENT, /* frames that left then and can be recognised */
	SLOT_RECEIVED, /* how many of these arrived, whenever */
	SLOT_REFUSED, /* frames that were due while the port was full */
	SLOT_HELD, /* cycles for which frames on their way held others back */
	SLOT_LANES,
};

/* What all workers have seen of a trial. */
struct slots {
	struct slot_grid grid;
	uint32_t used; /* slots to the end of sending */
	uint32_t shown; /* and the one behind them, where there is one: what came right after */
	uint8_t streams;
	uint64_t *stream[TGEN_MAX_STREAMS][SLOT_LANES];
	uint64_t *away, *silent; /* cycles of the worker, and of the stream, that had most */
};

/*
 * Slots of about so many cycles, the nearest power of two, for a trial of `length` cycles; wider ones
 * where these would be more than SLOTS_MOST. One whose end is not sure has that many in any case.
 */
void slot_grid_init(struct slot_grid *grid, uint64_t cycles, uint64_t length, bool is_sure);

/* In which slot a frame left, by its departure or the 48 bits of it in its payload. */
static inline uint32_t
slot_of(const struct slot_grid *grid, uint64_t departure)
{
	uint64_t since = (departure - grid->origin) & TGEN_48_BITS;
	uint64_t index = since >> grid->shift;

	if (unlikely(since > TGEN_48_BITS / 2))
		return 0;
	return unlikely(index >= grid->count) ? grid->count - 1 : (uint32_t)index;
}

/* The same of a moment of which all bits are known, so however long after the begin it was. */
static inline uint32_t
slot_at(const struct slot_grid *grid, uint64_t tsc)
{
	uint64_t since = tsc - grid->origin, index = since >> grid->shift;

	if (unlikely((int64_t)since < 0))
		return 0;
	return unlikely(index >= grid->count) ? grid->count - 1 : (uint32_t)index;
}

/* Add the time between two moments to the slots that it covers; what was before the first is nobody's. */
void slots_spread(const struct slot_grid *grid, uint64_t *slot, uint64_t from, uint64_t to);

/*
 * How many frames were due in so much time of the slots from one to the one before `to`, by the sum of it:
 * no frame is rounded away.
 */
void slots_add_refused(uint64_t *refused, const uint64_t *full, uint32_t from, uint32_t to,
	uint64_t distance);

/* Room for the sums of so many streams, all of it zero; 0, or -ENOMEM. */
int slots_create(struct slots *slots, const struct slot_grid *grid, uint8_t streams,
	struct error *error);
void slots_destroy(struct slots *slots);
/* Sending ended then. */
void slots_end(struct slots *slots, uint64_t ended_tsc);

/* Something happened in this slot, or in one of its neighbours. */
bool slots_is_noted(const struct slots *slots, uint32_t index);
/* Of all that are shown. */
uint64_t slots_sum(const struct slots *slots, const uint64_t *lane);

#endif /* TGEN_SLOTS_H */
