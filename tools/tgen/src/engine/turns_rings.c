/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * How fast a side empties rings that were filled while it was held. Nothing is sent meanwhile, so this worker
 * has to receive only, and is not slower than a device that forwards as fast as it sends and receives.
 *
 * A ring has room for all that comes back, so nothing is lost if this worker is away or slow for a while. It is
 * measured from one moment to another at which nothing waited at the ports: whatever had come by then is
 * counted, however long it had waited before.
 */

#include <rte_cycles.h>

#include "turns_rings.h"
#include "turns_side.h"

#define FILL_TIMES 200 /* of 10 us at most, until all rings are full */
/* Of 10 us without a frame: what has not come by then is lost. The machine may keep a side from running. */
#define SILENCE_TIMES 50
/* Parts of what was sent that are left out at both ends: the side is not yet, or no longer, as busy as it is. */
#define FIRST_PART 4
#define LAST_PART 16

struct moment {
	uint64_t tsc, distinct, gaps;
};

static bool
all_are_full(const struct turns_side *side)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		if (side->sender[i]->last_refusal == 0)
			return false;
	return true;
}

/* All that had come when its ports were looked at last is counted. */
static bool
nothing_waits(const struct turns_side *side)
{
	unsigned int i;

	for (i = 0; i < side->receivers; i++)
		if (side->receiver[i]->backlog != 0)
			return false;
	return true;
}

static void
fill(struct worker *worker, const struct turns_side *side)
{
	uint64_t begin = worker_tick(worker);
	unsigned int i;

	begin_schedules(side, begin);
	do {
		struct round round = { .begin = worker_tick(worker) };

		look(worker, side, round.begin, &round);
	} while (!all_are_full(side) && worker->last_tick - begin < FILL_TIMES * worker->ten_us);
	for (i = 0; i < side->senders; i++)
		steps_drop_held(side->sender[i]);
	worker->away_cycles = 0;
}

/* What is known of one time that rings were emptied. */
struct emptied {
	uint64_t begin, sent;
	struct moment first, last; /* looks that found frames, the ends left out */
	struct moment from, to; /* those of them behind which nothing waited; 0: there were none */
};

static void
note_look(struct emptied *emptied, const struct turns_side *side, const struct moment now)
{
	if (now.distinct < emptied->sent / FIRST_PART)
		return;
	if (emptied->first.tsc == 0)
		emptied->first = now;
	emptied->last = now;
	if (!nothing_waits(side))
		return;
	if (emptied->from.tsc == 0)
		emptied->from = now;
	else if (now.distinct < emptied->sent - emptied->sent / LAST_PART)
		emptied->to = now;
}

/* Receive what a side brings, until that is all that it has got or nothing comes any more. */
static void
empty(struct worker *worker, const struct turns *turns, const struct turns_side *side,
	struct emptied *emptied, struct turn *turn)
{
	uint64_t before = tally_of(side).distinct, distinct = 0, last;

	emptied->begin = last = worker->last_tick;
	turn->is_drained = false;
	do {
		/* Until something has come, it may not have gone on yet. */
		uint64_t most = distinct == 0 ? turns->drain_cycles :
			SILENCE_TIMES * worker->ten_us;
		struct round round = { .begin = worker_tick(worker) };

		look(worker, side, 0, &round);
		note_first(turn, &round);
		if (round.ours) {
			distinct = tally_of(side).distinct - before;
			note_look(emptied, side, (struct moment){
				round.begin, distinct, worker->gap_cycles,
			});
			last = worker->last_tick;
		}
		turn->is_drained = distinct >= emptied->sent ||
			(int64_t)(round.begin - last) >= (int64_t)most;
	} while (!turn->is_drained && worker->last_tick - emptied->begin < turns->drain_cycles);
	if (emptied->last.tsc == 0) /* so little came that the time until then is that of the side */
		emptied->last = (struct moment){
			worker->last_tick, distinct, worker->gap_cycles,
		};
}

/*
 * Where this worker was behind from the begin to the end, the side is faster than what it received shows.
 * Too little that came at all is no such case: frames are missing then, and the side took all of that time.
 */
static void
note_emptied(const struct turns *turns, const struct emptied *emptied, uint64_t guard_end,
	struct turn *turn)
{
	struct moment from = emptied->from, to = emptied->to;
	uint64_t cycles, distinct;
	unsigned int i = 0;

	turn->fillings++;
	if (to.tsc == 0) {
		from = emptied->first;
		to = emptied->last;
		turn->fillings_behind += from.tsc != 0;
	}
	if (from.tsc == 0)
		from.tsc = emptied->begin;
	cycles = to.tsc - from.tsc;
	distinct = to.distinct - from.distinct;
	while (i + 1 < TURN_SLOTS && (emptied->begin - guard_end) * 100 >=
			turns->turn_cycles * turns_slot_ends[i])
		i++;
	turn->slot[i].cycles += cycles;
	turn->slot[i].distinct += distinct;
	turn->measured += cycles;
	turn->distinct += distinct;
	turn->sent += distinct;
	turn->gaps += to.gaps - from.gaps;
	turn->longest_gap = RTE_MAX(turn->longest_gap, to.gaps - from.gaps);
}

bool
turns_rings(struct worker *worker, struct turns *turns, const struct turns_side *side,
	struct turn *turn)
{
	uint64_t guard_end, end;

	worker->last_tick = rte_rdtsc();
	guard_end = worker->last_tick + turns->guard_cycles;
	end = guard_end + turns->turn_cycles;
	begin_receiving(side, worker->last_tick);
	do {
		struct emptied emptied = { .sent = tally_of(side).sent };

		if (!goes_on(worker))
			return false;
		fill(worker, side);
		emptied.sent = tally_of(side).sent - emptied.sent;
		if (!signal_side(worker, holds_continue, &turns->holds, turn->side,
				&turn->continued))
			return false;
		worker->gap_cycles = 0;
		empty(worker, turns, side, &emptied, turn);
		if ((int64_t)(emptied.begin - guard_end) >= 0)
			note_emptied(turns, &emptied, guard_end, turn);
		if (!signal_side(worker, holds_stop, &turns->holds, turn->side, &turn->held))
			return false;
	} while ((int64_t)(worker->last_tick - end) < 0 || turn->fillings == 0);
	return goes_on(worker);
}
