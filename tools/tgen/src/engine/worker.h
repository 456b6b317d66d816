/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WORKER_H
#define TGEN_WORKER_H

/*
 * What the lcores do: each serves its senders, its receivers and its watches.
 *
 * The main lcore and a worker meet in two words. `command` goes one way, `state` the other:
 *   C1  main    stores command, release    after it prepared what the command needs
 *   C2  worker  loads command, acquire     pairs with C1: sees what was prepared
 *   S1  worker  stores state, release      after its last write to counters and buffers
 *   S2  main    loads state, acquire       pairs with S1: sees them, and may touch them
 * Counters that are looked at while a worker runs are stored and loaded relaxed: each is true by
 * itself, and nothing is concluded from two of them.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_cycles.h>
#include <rte_memory.h>

#include "atomics.h"
#include "gaps.h"
#include "histogram.h"
#include "receiver.h"
#include "respond.h"
#include "sender.h"
#include "traffic.h"
#include "watch.h"

#define WORKER_MAX_QUEUES 64 /* receivers of one worker */
#define WORKER_AWAY_TIMES 10 /* of 10 us: shorter gaps are no pause, but caught up with */

enum worker_command {
	COMMAND_PARK,
	COMMAND_PREPARE, /* throw away what came in since the last trial */
	COMMAND_SEND, /* send and receive, from now on */
	COMMAND_DRAIN, /* receive only */
	COMMAND_STALLS, /* spin and look at the clock */
	COMMAND_CONNECTIONS, /* begin connections, and serve them */
	COMMAND_TURNS, /* send to one side after the other, while all others are held still */
	COMMAND_QUIT,
};

#define GRACE_SHARE 100000 /* of a duration, in which the last frames may still leave: 10 ppm */

enum worker_state {
	STATE_PARKED,
	STATE_READY, /* prepared */
	STATE_BUSY, /* sending, or looking for stalls */
	STATE_SENT, /* nothing more to send; receiving */
	STATE_GONE,
};

struct __rte_cache_aligned worker {
	/* Written by the main lcore only. */
	RTE_ATOMIC(uint32_t) command;
	unsigned int lcore;
	int cpu;
	uint8_t trial;
	uint8_t streams; /* parts of streams, each of which is one on the wire */
	bool check_fill;
	bool detailed; /* watches have details of latencies */
	uint16_t senders, receivers;
	uint64_t begin_tsc; /* of all workers that send together; 0: as soon as it can */
	uint64_t duration_cycles, grace_cycles; /* 0: until everything is sent */
	unsigned int steps; /* of the trial */
	uint64_t step_end[TGEN_MAX_STEPS]; /* cycles after the begin: what is left of it is given up */
	uint64_t ten_us; /* [cycles] */
	uint64_t stall_cycles, stall_threshold;
	struct sender *sender[TGEN_MAX_STREAMS];
	struct receiver *receiver[WORKER_MAX_QUEUES];
	struct watch *watch; /* one for each part of each stream, */
	struct gaps *missing; /* and what of that has not come */
	struct answers *answers[TGEN_MAX_PORTS]; /* of ports on whose first queue it sends */
	unsigned int answering;
	struct histogram *gaps; /* of stalls */
	struct connections *connections; /* NULL where there are none */
	struct turns *turns; /* NULL in any other trial */
	struct histogram *departure_error;
	struct worker_slots *ready_slots; /* for the trial to come; NULL in one without slots */
	/* Written by the worker only. */
	struct worker_slots *slots; /* the same, from the begin of the trial on */
	RTE_ATOMIC(uint32_t) state __rte_cache_aligned;
	RTE_ATOMIC(uint64_t) quiet_cycles; /* since the last frame, while draining; read while it runs */
	uint64_t started_tsc, ended_tsc;
	unsigned int step; /* the one whose end comes next, and when that is: cycles after the begin */
	uint64_t end_cycles;
	uint64_t last_arrival;
	uint64_t last_tick;
	uint64_t gap_limit; /* a gap above this is worth a look */
	uint64_t own_work; /* what takes no longer is no gap, where that is more than 10 us */
	unsigned int first_sender; /* takes its turn before the others in this round */
	uint64_t loops, busy_cycles, total_cycles;
	uint64_t longest_gap_cycles, longest_gap_tsc, gaps_over_10us;
	uint64_t gap_cycles; /* the sum of these, which are over 10 us or own work */
	uint64_t away_cycles; /* in long gaps that the schedules were not yet moved by */
	uint64_t paused_cycles; /* by which the end of sending was */
};

/* From the main lcore. */
void worker_command(struct worker *worker, enum worker_command command);
enum worker_state worker_state(const struct worker *worker);
/* False when the worker did not reach the state in a second: it is gone, or never runs. */
bool worker_wait(const struct worker *worker, enum worker_state state);

/* From the worker itself. */
void worker_set_state(struct worker *worker, enum worker_state state);
void worker_note_gap(struct worker *worker, uint64_t gap);

/* Read the clock; called after each piece of work, so that a long gap is not our own doing. */
static inline uint64_t
worker_tick(struct worker *worker)
{
	uint64_t now = rte_rdtsc();
	uint64_t gap = now - worker->last_tick;

	worker->last_tick = now;
	if (unlikely(gap > worker->gap_limit))
		worker_note_gap(worker, gap);
	return now;
}

/* What is longer is a gap. */
static inline uint64_t
worker_least_gap(const struct worker *worker)
{
	return worker->own_work > worker->ten_us ? worker->own_work : worker->ten_us;
}

static inline uint32_t
worker_load_command(const struct worker *worker)
{
	return rte_atomic_load_explicit(&worker->command, rte_memory_order_acquire); /* C2 */
}

/* A counter that the main lcore reads while the worker runs; only one lcore ever adds to it. */
static inline void
counter_add(RTE_ATOMIC(uint64_t) *counter, uint64_t value)
{
	rte_atomic_store_explicit(counter, *counter + value, rte_memory_order_relaxed);
}

static inline uint64_t
counter_read(const RTE_ATOMIC(uint64_t) *counter)
{
	return rte_atomic_load_explicit(counter, rte_memory_order_relaxed);
}

#endif /* TGEN_WORKER_H */
