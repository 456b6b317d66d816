/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TURNS_WORKER_H
#define TGEN_TURNS_WORKER_H

/* A worker's part in turns: it sends, receives and holds processes still, all in one thread. */

#include "holds.h"
#include "turns.h"
#include "worker.h"

struct turns_side {
	uint16_t senders, receivers;
	struct sender *sender[TGEN_MAX_STREAMS];
	struct watch *watch[TGEN_MAX_STREAMS]; /* where the frames of the same sender arrive */
	struct receiver *receiver[WORKER_MAX_QUEUES];
	uint64_t gap_cycles;
};

struct turns {
	struct turns_request request;
	struct holds holds;
	struct turns_side side[TURNS_MAX_SIDES];
	uint64_t turn_cycles, guard_cycles, silent_cycles, drain_cycles;
	/* Written by the worker from here on. */
	RTE_ATOMIC(uint64_t) begun; /* turns; read while it runs */
	struct histogram *latency; /* of the turn that is taken; NULL when not asked for */
	struct turns_result result;
	struct turn_stream *stream; /* the result's */
	struct turn turn[];
};

/* Take turns until the last is over, one cannot be taken, or the command changes; receive until then. */
void turns_run(struct worker *worker);

#endif /* TGEN_TURNS_WORKER_H */
