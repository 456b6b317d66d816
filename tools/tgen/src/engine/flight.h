/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_FLIGHT_H
#define TGEN_FLIGHT_H

/*
 * How many frames of a stream may be on their way at a time. Whatever is on its way has to have room in
 * the ring that it comes in by, or a stall of this CPU loses frames that the switch did forward. What has
 * arrived is the highest number seen: those lost before it are on their way no more. Of frames none of
 * which comes for 100 ms nobody knows that; they are given up, as the switch may be gone. One that its
 * machine keeps from running comes back sooner, and then all of them come at once.
 */

#include "worker.h"

#define FLIGHT_LOST_TIMES 10000 /* of 10 us */

/* How many of the `wanted` frames may leave now. */
static inline uint64_t
flight_room(const struct worker *worker, struct sender *sender, uint64_t now, uint64_t wanted)
{
	struct flight *flight = &sender->flight;
	uint64_t seen = flight->watch->window.next;
	int64_t flying;

	if (seen != flight->seen) {
		flight->seen = seen;
		flight->seen_tsc = now;
	} else if ((int64_t)(now - flight->seen_tsc) > (int64_t)(FLIGHT_LOST_TIMES * worker->ten_us)) {
		flight->given_up = sender->sent;
		flight->seen_tsc = now;
	}
	flying = (int64_t)(sender->sent - RTE_MAX(seen, flight->given_up));
	if (flying < (int64_t)flight->most)
		return RTE_MIN(wanted, (uint64_t)((int64_t)flight->most - flying));
	flight->held_back++;
	return 0;
}

#endif /* TGEN_FLIGHT_H */
