/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WATCH_H
#define TGEN_WATCH_H

/* What a worker sees arrive of a part of a stream. It alone writes it while it is not parked. */

#include <stdint.h>
#include <rte_memory.h>

#include "atomics.h"
#include "details.h"
#include "gaps.h"
#include "histogram.h"
#include "replay.h"
#include "template.h"
#include "traffic.h"
#include "window.h"

struct __rte_cache_aligned watch {
	struct window window;
	uint64_t intended; /* no frame of this trial has a higher number */
	uint32_t flows; /* frames whose numbers differ by a multiple of this are of one flow */
	uint16_t port; /* where frames should come in: its number */
	uint16_t length; /* in memory; 0 when sizes differ */
	uint16_t sizes;
	const struct template *const *pattern;
	const struct replay *replay; /* in place of the pattern, unless NULL */
	struct histogram *latency; /* NULL when not asked for */
	struct details *details; /* of latencies that are counted; NULL when not asked for */
	struct watch_slots *slots; /* NULL in a trial without slots */
	struct gaps *gaps; /* elsewhere: where a watch is, is worked out for each frame */
	/* Written by its worker from here on. */
	RTE_ATOMIC(uint64_t) received __rte_cache_aligned; /* read while it runs */
	RTE_ATOMIC(uint64_t) unmarked; /* beside them; read while it runs, too */
	RTE_ATOMIC(uint64_t) distinct; /* and these */
	RTE_ATOMIC(uint64_t) received_bytes;
	/* Of them those that are damaged, or at a wrong port; read while it runs, too. */
	RTE_ATOMIC(uint64_t) corrupted, corrupted_bytes, misrouted, misrouted_bytes;
	uint64_t duplicates, reordered, reorder_extent, beyond_window;
	uint64_t first_arrival, last_arrival, longest_silence; /* TSC; 0 before the first */
	uint64_t wrong_size;
	uint64_t arrived[TGEN_MAX_PORTS];
};

#endif /* TGEN_WATCH_H */
