/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_LISTEN_H
#define TGEN_LISTEN_H

/*
 * All that a port receives, from one moment to another: copied to a tape, whoever takes it off its
 * queues, and written to a file at the end. That is a worker while there is a trial, and the main
 * lcore in between. Trials need not know of it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "atomics.h"
#include "capture.h"
#include "tape.h"

/* Of one port. It is there as long as the port, so that a worker may look at it at any time. */
struct listening {
	RTE_ATOMIC(bool) on; /* a hint, for those who need not take the lock then */
	rte_spinlock_t lock; /* of the tape alone: each holder is done in a moment */
	struct tape *tape; /* NULL: nobody listens */
	/* The main lcore's own. */
	int file;
	char *path;
	struct capture_clock clock;
};

static inline bool
listening_is_on(const struct listening *listening)
{
	return rte_atomic_load_explicit(&listening->on, rte_memory_order_relaxed);
}

/* Copy frames that came by one of the port's queues. From any lcore. */
void listening_add(struct listening *listening, struct rte_mbuf *const *buffer,
	unsigned int count, uint64_t tsc);

struct receiver;

/* Copy the frames of a poll for whoever wants some: one who listens, or a capture of this trial. */
void listening_copy(struct receiver *receiver);

struct engine;

void listen_forget(struct engine *engine);

#endif /* TGEN_LISTEN_H */
