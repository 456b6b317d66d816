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

#define FILL_TIMES 1000 /* of 10 us at most, until all rings are full */
#define DUE_TIMES 6000000 /* of 10 us: what would have been due for a minute */
/* Of 10 us without a frame: what has not come by then is lost. The machine may keep a side from running. */
#define SILENCE_TIMES 50
/* Parts of what a stream has that are left out: a side is not yet, or no longer, as busy as it is in between. */
#define FIRST_PART 4
#define LAST_PART 16
#define LEAST_PART 3 /* of all, between two moments: fewer are those of one at which it was slow */
#define SEVERAL 10 /* one in so many */

struct moment {
	uint64_t tsc, distinct, gaps;
};

/* One time that rings are emptied. */
struct emptied {
	uint64_t begin;
	uint64_t all, has[TGEN_MAX_STREAMS]; /* frames that it has got by then, of each stream */
	struct moment before, last; /* looks: one behind which the first frame came; one that found frames */
	struct moment from, to; /* nothing waited; the ends are left out; 0: there were none */
	bool is_cut; /* not all had come when it ended, and nothing waited: the side was slow, or did not run */
};

/* Several times. */
struct sum {
	uint64_t cycles, distinct, gaps, longest_gap;
	struct {
		uint64_t cycles, distinct;
	} slot[TURN_SLOTS];
};

/* What has arrived is the highest number seen, so what was lost before that is on its way no more. */
static uint64_t
on_its_way(const struct turns_side *side, unsigned int stream)
{
	int64_t flying = (int64_t)(side->sender[stream]->sent -
		side->watch[stream]->window.next);

	return flying > 0 ? (uint64_t)flying : 0;
}

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

/* It takes a moment until it is held: what it forwards meanwhile is received, and its place is filled again. */
static bool
fill(struct worker *worker, const struct turns_side *side, struct emptied *emptied)
{
	uint64_t begin = worker_tick(worker);
	bool full;
	unsigned int i;

	begin_schedules(side, begin);
	for (i = 0; i < side->senders; i++) /* whatever the rate: all that has room is due */
		side->sender[i]->pacer.start_tsc -= DUE_TIMES * worker->ten_us;
	do {
		struct round round = { .begin = worker_tick(worker) };

		look(worker, side, round.begin, &round);
		full = all_are_full(side) && !round.ours;
	} while (!full && worker->last_tick - begin < FILL_TIMES * worker->ten_us);
	for (i = 0; i < side->senders; i++) {
		steps_drop_held(side->sender[i]);
		emptied->has[i] = on_its_way(side, i);
		emptied->all += emptied->has[i];
	}
	worker->away_cycles = 0;
	return full;
}

/* Whether each stream has brought a part of what it had; or one of them has no more than a part left. */
static bool
has_begun(const struct turns_side *side, const struct emptied *emptied)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		if ((emptied->has[i] - RTE_MIN(emptied->has[i], on_its_way(side, i))) * FIRST_PART <
				emptied->has[i])
			return false;
	return true;
}

static bool
is_ending(const struct turns_side *side, const struct emptied *emptied)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		if (on_its_way(side, i) * LAST_PART < emptied->has[i])
			return true;
	return false;
}

static bool
is_empty(const struct turns_side *side)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		if (on_its_way(side, i) != 0)
			return false;
	return true;
}

static void
note_look(struct emptied *emptied, const struct turns_side *side, const struct moment now)
{
	if (!has_begun(side, emptied) || !nothing_waits(side))
		return;
	if (emptied->from.tsc == 0)
		emptied->from = now;
	else if (!is_ending(side, emptied))
		emptied->to = now;
}

/* Receive what a side brings, until that is all that it has got or nothing comes any more. */
static void
empty(struct worker *worker, const struct turns *turns, const struct turns_side *side,
	struct emptied *emptied, struct turn *turn)
{
	uint64_t before = tally_of(side).distinct, last;
	uint64_t longest = RTE_MAX(turns->drain_cycles, turns->turn_cycles);
	bool found = false; /* frames, by the look before */

	emptied->begin = last = worker->last_tick;
	worker->gap_cycles = 0;
	do {
		/* Until something has come, it may not have gone on yet. */
		uint64_t most = emptied->last.tsc == 0 ? turns->drain_cycles :
			SILENCE_TIMES * worker->ten_us;
		struct round round = { .begin = worker_tick(worker) };
		struct moment now;

		look(worker, side, 0, &round);
		note_first(turn, &round);
		now = (struct moment){
			round.begin, tally_of(side).distinct - before, worker->gap_cycles,
		};
		if (round.ours)
			emptied->last = now;
		else if (emptied->last.tsc == 0)
			emptied->before = now;
		/* A look that found as much as it can take may have taken all: the next one tells. */
		if (round.ours || found)
			note_look(emptied, side, now);
		found = round.ours;
		if (found)
			last = worker->last_tick;
		turn->is_drained = is_empty(side);
		if ((int64_t)(round.begin - last) >= (int64_t)most)
			break;
	} while (!turn->is_drained && worker->last_tick - emptied->begin < longest);
	emptied->is_cut = !turn->is_drained && nothing_waits(side);
}

static void
add(struct sum *sum, unsigned int slot, struct moment from, struct moment to)
{
	uint64_t gaps = to.gaps - from.gaps;

	sum->cycles += to.tsc - from.tsc;
	sum->distinct += to.distinct - from.distinct;
	sum->slot[slot].cycles += to.tsc - from.tsc;
	sum->slot[slot].distinct += to.distinct - from.distinct;
	sum->gaps += gaps;
	sum->longest_gap = RTE_MAX(sum->longest_gap, gaps);
}

/*
 * Where this worker was behind for most of the time, it knows how fast the side is at least: it had forwarded
 * all of that by the end, and none before the last look that found nothing yet. Where it only waited, it knows
 * how fast the part came that did come.
 */
static void
note_emptied(const struct turns_side *side, struct emptied *emptied, unsigned int slot,
	struct sum *exact, struct sum *behind, struct turn *turn)
{
	struct moment from = emptied->from, to = emptied->to;
	uint64_t part = to.tsc != 0 ? to.distinct - from.distinct : 0;
	bool is_short = emptied->is_cut && part * LAST_PART < emptied->all;

	if (!has_begun(side, emptied) || is_short) {
		turn->fillings_short++;
	} else if (emptied->is_cut || part * LEAST_PART >= emptied->all) {
		add(exact, slot, from, to);
	} else {
		if (emptied->before.tsc == 0)
			emptied->before.tsc = emptied->begin;
		turn->fillings_behind++;
		add(behind, slot, emptied->before, emptied->last);
	}
}

static void
count(struct turn *turn, const struct sum *sum)
{
	unsigned int i;

	turn->measured += sum->cycles;
	turn->distinct += sum->distinct;
	turn->sent += sum->distinct;
	turn->gaps += sum->gaps;
	turn->longest_gap = RTE_MAX(turn->longest_gap, sum->longest_gap);
	for (i = 0; i < TURN_SLOTS; i++) {
		turn->slot[i].cycles += sum->slot[i].cycles;
		turn->slot[i].distinct += sum->slot[i].distinct;
	}
}

static unsigned int
turn_slot(const struct turns *turns, uint64_t since)
{
	unsigned int i = 0;

	while (i + 1 < TURN_SLOTS && since * 100 >= turns->turn_cycles * turns_slot_ends[i])
		i++;
	return i;
}

bool
turns_rings(struct worker *worker, struct turns *turns, const struct turns_side *side,
	struct turn *turn)
{
	struct sum exact = { 0 }, behind = { 0 };
	uint64_t guard_end, end, most = 0;

	worker->last_tick = rte_rdtsc();
	guard_end = worker->last_tick + turns->guard_cycles;
	end = guard_end + turns->turn_cycles;
	begin_receiving(side, worker->last_tick);
	do {
		struct emptied emptied = { 0 };
		bool full;

		if (!goes_on(worker))
			return false;
		full = fill(worker, side, &emptied);
		most = RTE_MAX(most, emptied.all);
		if (!signal_side(worker, holds_continue, &turns->holds, turn->side,
				&turn->continued))
			return false;
		empty(worker, turns, side, &emptied, turn);
		if ((int64_t)(emptied.begin - guard_end) >= 0) {
			turn->fillings++;
			if (full && emptied.all * 2 > most)
				note_emptied(side, &emptied, turn_slot(turns, emptied.begin - guard_end),
					&exact, &behind, turn);
			else
				turn->fillings_short++;
		}
		if (!signal_side(worker, holds_stop, &turns->holds, turn->side, &turn->held))
			return false;
	} while ((int64_t)(worker->last_tick - end) < 0 || turn->fillings == 0);
	count(turn, &exact);
	if (turn->fillings_behind * SEVERAL > turn->fillings)
		count(turn, &behind);
	return goes_on(worker);
}
