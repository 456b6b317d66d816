/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WORKER_H
#define TGEN_WORKER_H

/*
 * What the lcores do: senders (a part of a stream on a transmit queue), receivers (a receive queue)
 * and watches (what a worker sees arrive of such a part). Each of them is served by exactly one worker
 * and written by nobody else while that worker is not parked.
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

#include <rte_mbuf.h>

#include "atomics.h"
#include "broadcast.h"
#include "capture.h"
#include "details.h"
#include "engine.h"
#include "flow.h"
#include "frame.h"
#include "gaps.h"
#include "histogram.h"
#include "pacer.h"
#include "part.h"
#include "port.h"
#include "replay.h"
#include "respond.h"
#include "schedule.h"
#include "steps.h"
#include "traffic.h"
#include "window.h"

#define WORKER_MAX_QUEUES 64 /* receivers of one worker */
#define WORKER_AWAY_TIMES 10 /* of 10 us: shorter gaps are no pause, but caught up with */
#define TEMPLATE_COPY 64 /* headers are copied in such pieces */
#define TEMPLATE_HEADERS ((TGEN_MAX_HEADER + TEMPLATE_COPY - 1) / TEMPLATE_COPY * TEMPLATE_COPY)

enum worker_command {
	COMMAND_PARK,
	COMMAND_PREPARE, /* throw away what came in since the last trial */
	COMMAND_SEND, /* send and receive, from now on */
	COMMAND_DRAIN, /* receive only */
	COMMAND_STALLS, /* spin and look at the clock */
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

/* What a look at a port finds. */
enum room {
	ROOM_ENOUGH,
	ROOM_FULL, /* it does not take all frames */
	ROOM_HELD, /* frames on their way hold others back */
};

/* The bytes of one size of a stream. */
struct template {
	uint16_t length; /* in memory */
	uint16_t payload; /* offset */
	uint16_t copy; /* headers, rounded up */
	uint16_t header; /* headers, exactly: fill bytes begin there */
	struct flow_edits edits;
	const struct frame *frame;
	uint8_t headers[TEMPLATE_HEADERS] __rte_cache_aligned;
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
	unsigned int first_sender; /* takes its turn before the others in this round */
	uint64_t loops, busy_cycles, total_cycles;
	uint64_t longest_gap_cycles, longest_gap_tsc, gaps_over_10us;
	uint64_t gap_cycles; /* the sum of those over 10 us */
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
