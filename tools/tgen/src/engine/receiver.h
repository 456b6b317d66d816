/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RECEIVER_H
#define TGEN_RECEIVER_H

/* A receive queue. Its one worker alone writes it while that is not parked. */

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#include "atomics.h"
#include "capture.h"
#include "listen.h"
#include "port.h"
#include "respond.h"

struct __rte_cache_aligned receiver {
	uint16_t port; /* its number here, */
	uint16_t device, queue; /* and what DPDK knows it by */
	uint16_t count; /* frames polled and not yet checked */
	uint8_t unmarked; /* part that has frames without a mark for this port, from 1; 0: none */
	uint64_t tsc; /* when they were polled */
	uint64_t calm_tsc; /* when a poll last found less than a full burst */
	uint64_t backlog, backlog_limit; /* frames found in full bursts without a pause */
	uint64_t behind_cycles; /* time in which so many waited */
	uint64_t polls, full_polls;
	uint64_t foreign, answered, stale, corrupted;
	struct answers *answers; /* NULL: nobody is answered */
	struct capture *capture;
	struct listening *listening; /* of its port */
	RTE_ATOMIC(bool) copies; /* for one of these: all that the usual way asks */
	struct rte_mbuf *buffer[PORT_BURST];
};

/* Say to whoever receives whether there is somebody to copy frames for. */
static inline void
receiver_tell_copies(struct receiver *receiver)
{
	rte_atomic_store_explicit(&receiver->copies,
		receiver->capture != NULL || listening_is_on(receiver->listening),
		rte_memory_order_relaxed);
}

#endif /* TGEN_RECEIVER_H */
