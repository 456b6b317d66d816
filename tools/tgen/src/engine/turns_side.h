/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TURNS_SIDE_H
#define TGEN_TURNS_SIDE_H

/* What a worker does to the side whose turn it is, however it measures it. */

#include <rte_cycles.h>

#include "receive.h"
#include "round.h"
#include "transmit_steps.h"
#include "turns_worker.h"

/* Where slots of what is measured end, in percent of it: caches that are cold are so at its begin. */
static const uint8_t turns_slot_ends[TURN_SLOTS] = { 5, 10, 20, 40, 100 };

/* What a side has counted by now. */
struct tally {
	uint64_t sent, distinct;
};

static inline struct tally
tally_of(const struct turns_side *side)
{
	struct tally tally = { 0 };
	unsigned int i;

	for (i = 0; i < side->senders; i++) {
		tally.sent += side->sender[i]->sent;
		tally.distinct += side->watch[i]->distinct;
	}
	return tally;
}

static inline bool
goes_on(const struct worker *worker)
{
	return worker_load_command(worker) == COMMAND_TURNS;
}

/* Schedules begin anew: what was held up before is not caught up with. */
static inline void
begin_schedules(const struct turns_side *side, uint64_t now)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++) {
		struct sender *sender = side->sender[i];

		steps_drop_held(sender);
		sender->earliest = now;
		sender->full_cycles = 0;
		sender->last_full = 0;
		sender->last_refusal = 0;
		sender->pacer.start_tsc = now;
		if (sender->pacer.flat_out)
			continue; /* all of its frames are due at any time */
		sender->pacer.first = sender->sent;
		sender->pacer.start_tsc += sender->phase;
	}
}

/* What waits at the ports from now on is of what is measured. */
static inline void
begin_receiving(const struct turns_side *side, uint64_t now)
{
	unsigned int i;

	for (i = 0; i < side->receivers; i++) {
		receive_end(side->receiver[i]);
		side->receiver[i]->calm_tsc = now;
	}
}

/* Look at the ports of a side; offer what is due at a moment, unless that is 0. */
static inline void
look(struct worker *worker, const struct turns_side *side, uint64_t due_tsc, struct round *round)
{
	unsigned int next = worker->first_sender, i;

	round->received = round_poll(worker, side->receiver, side->receivers);
	/* In turn, or the first one would take all room in a ring that is nearly full. */
	for (i = 0; i < side->senders && due_tsc != 0; i++) {
		round_offer(worker, side->sender[next], due_tsc, i + 1 == side->senders,
			side->receiver, side->receivers, round);
		next = next + 1 == side->senders ? 0 : next + 1;
	}
	worker->first_sender = next + 1 >= side->senders ? 0 : next + 1;
	if (round->received)
		round->ours |= round_check(worker, side->receiver, side->receivers);
	if (unlikely(worker->answering != 0))
		respond_send(worker);
}

static inline void
note_first(struct turn *turn, const struct round *round)
{
	if (unlikely(turn->first_tsc == 0) && round->ours)
		turn->first_tsc = round->begin;
}

/* A signal takes its time, which is no gap. */
static inline bool
signal_side(struct worker *worker, bool (*signal)(struct holds *holds, unsigned int side),
	struct holds *holds, unsigned int side, uint64_t *took)
{
	uint64_t begin = rte_rdtsc();
	bool done = signal(holds, side);

	worker->last_tick = rte_rdtsc();
	worker->away_cycles = 0;
	*took = worker->last_tick - begin;
	return done;
}

#endif /* TGEN_TURNS_SIDE_H */
