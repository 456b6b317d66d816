/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SENDER_H
#define TGEN_SENDER_H

/* A part of a stream on a transmit queue. Its one worker alone writes it while that is not parked. */

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#include "atomics.h"
#include "broadcast.h"
#include "capture.h"
#include "flow.h"
#include "frame.h"
#include "histogram.h"
#include "pacer.h"
#include "part.h"
#include "port.h"
#include "replay.h"
#include "schedule.h"
#include "steps.h"
#include "template.h"

/* What a look at a port finds. */
enum room {
	ROOM_ENOUGH,
	ROOM_FULL, /* it does not take all frames */
	ROOM_HELD, /* frames on their way hold others back */
};

/* What of a stream is on its way; see flight.h. */
struct flight {
	const struct watch *watch; /* where its frames arrive; NULL: there is no bound */
	uint64_t most;
	uint64_t seen, seen_tsc; /* the highest number that arrived, and since when it is that */
	uint64_t given_up; /* frames below this number do not come any more */
	uint64_t held_back; /* times that nothing was sent for it */
};

struct __rte_cache_aligned sender {
	uint16_t port, queue;
	struct part part;
	uint8_t number; /* of the part among those of all streams: what receivers know it by */
	uint8_t trial;
	bool paced, shares_buffers, varies;
	uint16_t burst;
	uint16_t sizes; /* entries of the pattern */
	uint32_t tag; /* of buffers that already hold this stream's fill bytes */
	const struct template *const *pattern;
	const struct frame *fill; /* the longest frame: its fill bytes serve all sizes */
	const struct replay *replay; /* sent in place of the pattern, unless NULL */
	struct rte_mempool *pool;
	struct histogram *departure_error;
	struct capture *capture;
	uint64_t intended;
	struct flow_plan plan;
	struct pacer pacer;
	uint64_t phase; /* cycles by which it begins after the others */
	uint64_t until_cycles; /* when it ends, though others go on; 0: with its frames */
	struct sender_slots *slots; /* NULL in a trial without slots */
	/* Written by its worker from here on. */
	uint64_t next __rte_cache_aligned; /* number of the next frame to build */
	struct broadcast broadcast;
	RTE_ATOMIC(uint64_t) sent; /* read while it runs */
	uint64_t sent_bytes;
	uint64_t given_up; /* of steps that are over, or of all, when its time is */
	RTE_ATOMIC(uint64_t) over; /* its own time is; read while it runs */
	uint64_t first_sent_tsc, last_sent_tsc;
	uint64_t retries, no_buffers;
	struct flight flight;
	uint64_t earliest; /* TSC of the next burst, when it is behind its schedule */
	uint64_t last_refusal; /* when the port last did not take all frames; 0 if it did since */
	struct {
		uint64_t before, last, tsc; /* the last one apart: no frame may follow it */
	} pauses;
	uint64_t full_cycles, last_full; /* time in which it did not, and of that up to the last look */
	uint32_t position; /* in the pattern, or in the file */
	uint16_t held; /* frames built that the port has not taken yet */
	uint16_t length[PORT_BURST];
	struct rte_mbuf *buffer[PORT_BURST];
	struct schedule schedule; /* of the pacer, when it goes by the times of a file */
	struct steps steps;
};

#endif /* TGEN_SENDER_H */
