/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "loop.h"
#include "turns_rings.h"
#include "turns_side.h"

#define CALM_TIMES 10 /* of 10 us without a gap, before what is measured begins */
#define SWEEP_MOST 256 /* looks at a port that never comes to an end */
/* Of 10 us without an arrival are silence: longer than from one burst of a slow device to the next. */
#define SILENCE_TIMES 50

/* What each stream has counted by now; `end_streams` makes it what it counted since. */
static void
begin_streams(const struct turns_side *side, struct turn_stream *stream)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		stream[i] = (struct turn_stream){
			.sent = side->sender[i]->sent, .distinct = side->watch[i]->distinct,
		};
}

static void
end_streams(const struct turns_side *side, struct turn_stream *stream, struct turn *turn)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++) {
		stream[i].sent = side->sender[i]->sent - stream[i].sent;
		stream[i].distinct = side->watch[i]->distinct - stream[i].distinct;
		turn->turn_sent += stream[i].sent;
		turn->turn_distinct += stream[i].distinct;
	}
}

/* What the devices of a side had no room for by now, as far as they tell. */
static uint64_t
missed_by(struct turns *turns, const struct turns_side *side)
{
	uint64_t missed = 0;
	unsigned int i;

	for (i = 0; i < side->receivers; i++) {
		struct rte_eth_stats stats;

		if (side->receiver[i]->queue != 0)
			continue; /* one of them stands for its port */
		if (rte_eth_stats_get(side->receiver[i]->device, &stats) == 0)
			missed += stats.imissed;
		else
			turns->result.devices_told = false;
	}
	return missed;
}

/* For how long half a ring or more has waited at the ports of a side by now. */
static uint64_t
behind_by(const struct turns_side *side)
{
	uint64_t behind = 0;
	unsigned int i;

	for (i = 0; i < side->receivers; i++) {
		const struct receiver *receiver = side->receiver[i];

		behind += receiver->behind_cycles;
		if (receiver->backlog >= receiver->backlog_limit)
			behind += receiver->tsc - receiver->calm_tsc;
	}
	return behind;
}

/* What came due while this CPU was away would be a burst that no load has. */
static uint64_t
pause_schedules(struct worker *worker, const struct turns_side *side, uint64_t most)
{
	uint64_t away = RTE_MIN(worker->away_cycles, most);
	unsigned int i;

	worker->away_cycles = 0;
	for (i = 0; i < side->senders; i++)
		transmit_pause(side->sender[i], worker->last_tick, away);
	return away;
}

/* Take all that waits at the ports of a side; how many frames that were. */
static uint64_t
sweep(struct worker *worker, const struct turns_side *side)
{
	uint64_t frames = 0, before;
	unsigned int i, looks;

	for (i = 0; i < side->receivers; i++) {
		struct receiver *receiver = side->receiver[i];

		for (looks = 0, before = UINT64_MAX; looks < SWEEP_MOST && frames != before; looks++) {
			before = frames;
			receive_poll(worker, receiver);
			frames += receiver->count;
			receive_check(worker, receiver);
		}
	}
	return frames;
}

/*
 * Send without measuring: caches become warm, and queues as long as they will be. It goes on until this
 * worker has run for a moment, or what waits at the ports behind a gap would be in what is measured. Where it
 * does not come to that, what waits is taken away.
 */
static bool
guard(struct worker *worker, const struct turns *turns, const struct turns_side *side,
	uint64_t begin, struct turn *turn)
{
	uint64_t gaps = worker->gaps_over_10us, calm = begin;
	uint64_t longest = turns->guard_cycles + turns->turn_cycles / 2;

	begin_schedules(side, begin);
	while (goes_on(worker)) {
		struct round round = { .begin = worker_tick(worker) };

		if (unlikely(worker->gaps_over_10us != gaps)) {
			gaps = worker->gaps_over_10us;
			calm = round.begin + CALM_TIMES * worker->ten_us;
		}
		if (round.begin - begin >= turns->guard_cycles && (int64_t)(round.begin - calm) >= 0)
			return true;
		if (round.begin - begin >= longest) {
			sweep(worker, side);
			worker_tick(worker);
			return true;
		}
		if (unlikely(worker->away_cycles != 0))
			pause_schedules(worker, side, round.begin - begin);
		look(worker, side, round.begin, &round);
		note_first(turn, &round);
	}
	return false;
}

static void
count_latencies(const struct turns_side *side, struct histogram *latency)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		side->watch[i]->latency = latency;
}

/* While nobody waits: what a turn had is told of it, and added to what its side has. */
static void
note_latencies(struct turns *turns, struct turn *turn)
{
	struct histogram *latency = turns->latency;

	if (latency == NULL)
		return;
	turn->latencies = latency->count;
	turn->latency = (uint64_t)latency->sum;
	turn->median = histogram_between(latency, 0.5);
	turn->p99 = histogram_between(latency, 0.99);
	histogram_merge(turns->result.side[turn->side].latency, latency);
	histogram_clear(latency);
}

/* What was due by the end, and what of that the ports did not take. */
static void
note_intended(const struct turns_side *side, uint64_t end, uint64_t now, struct turn *turn)
{
	unsigned int i;

	for (i = 0; i < side->senders; i++) {
		const struct sender *sender = side->sender[i];
		uint64_t full = sender->full_cycles +
			(sender->last_refusal != 0 ? now - sender->last_refusal : 0);
		uint64_t due, sent;

		turn->full += full;
		if (!sender->paced)
			continue;
		due = pacer_due(&sender->pacer, end) - sender->pacer.first;
		sent = sender->sent - sender->pacer.first;
		turn->intended += due;
		if (due > sent)
			turn->refused += RTE_MIN(due - sent, (uint64_t)(((uint128_t)full << 16) /
				sender->pacer.pace.distance));
	}
}

/* When something arrived last, and how long all gaps had been until then. */
struct arrival {
	uint64_t tsc, gaps;
};

/* Between two arrivals nothing came; nobody knows that of a gap, behind which frames may have waited. */
static void
note_silence(const struct worker *worker, struct arrival *last, struct turn *turn)
{
	uint64_t silence = worker->last_tick - last->tsc;
	uint64_t gaps = worker->gap_cycles - last->gaps;

	silence -= RTE_MIN(silence, gaps);
	if (unlikely(silence > SILENCE_TIMES * worker->ten_us))
		turn->silence += silence;
	last->tsc = worker->last_tick;
	last->gaps = worker->gap_cycles;
}

/* The slot that is open, and what there was when it began. */
struct open_slot {
	unsigned int number;
	uint64_t began, distinct;
};

static void
end_slot(const struct turns_side *side, uint64_t now, struct open_slot *open, struct turn *turn)
{
	uint64_t distinct = tally_of(side).distinct;

	turn->slot[open->number].cycles = now - open->began;
	turn->slot[open->number].distinct = distinct - open->distinct;
	open->number++;
	open->began = now;
	open->distinct = distinct;
}

/* Those that are over, but for the last, which ends with the turn. */
static void
end_slots(const struct turns *turns, const struct turns_side *side, uint64_t begin, uint64_t now,
	struct open_slot *open, struct turn *turn)
{
	while (open->number + 1 < TURN_SLOTS &&
			(now - begin) * 100 >= turns->turn_cycles * turns_slot_ends[open->number])
		end_slot(side, now, open, turn);
}

/* Its end moves by the time for which this CPU was away, by half of it at most. */
static bool
measure(struct worker *worker, const struct turns *turns, const struct turns_side *side,
	struct turn *turn)
{
	const struct tally before = tally_of(side);
	uint64_t begin = worker->last_tick, end = begin + turns->turn_cycles;
	uint64_t patience = turns->turn_cycles / 2, behind;
	struct arrival last = { .tsc = begin };
	struct open_slot open = { .began = begin, .distinct = before.distinct };
	uint64_t moved = 0; /* by time for which this CPU was away */
	struct round round = { 0 };
	struct tally after;

	worker->gap_cycles = 0;
	worker->longest_gap_cycles = 0;
	worker->gap_limit = 0;
	worker->away_cycles = 0;
	begin_schedules(side, begin);
	begin_receiving(side, begin);
	behind = behind_by(side);
	count_latencies(side, turns->latency);
	do {
		if (unlikely(!goes_on(worker)))
			break;
		round = (struct round){ .begin = worker_tick(worker) };
		if (unlikely(worker->away_cycles != 0)) {
			uint64_t away = pause_schedules(worker, side, patience);

			patience -= away;
			end += away;
			moved += away;
		}
		end_slots(turns, side, begin + moved, round.begin, &open, turn);
		look(worker, side, RTE_MIN(round.begin, end - 1), &round);
		note_first(turn, &round);
		if (round.ours)
			note_silence(worker, &last, turn);
	} while ((int64_t)(round.begin - end) < 0);
	worker_tick(worker); /* a gap in the last look is in what it found, and in the time as well */
	note_silence(worker, &last, turn);
	count_latencies(side, NULL);
	end_slot(side, worker->last_tick, &open, turn);
	after = tally_of(side);
	turn->measured = worker->last_tick - begin;
	turn->sent = after.sent - before.sent;
	turn->distinct = after.distinct - before.distinct;
	turn->behind = behind_by(side) - behind;
	turn->gaps = worker->gap_cycles;
	turn->longest_gap = worker->longest_gap_cycles > worker_least_gap(worker) ?
		worker->longest_gap_cycles : 0;
	note_intended(side, end - 1, worker->last_tick, turn);
	return goes_on(worker);
}

/* Let a side forward what it has, as nobody knows how long that would wait otherwise. */
static void
drain(struct worker *worker, const struct turns *turns, const struct turns_side *side,
	struct turn *turn)
{
	uint64_t begin, last, gaps = worker->gaps_over_10us;
	unsigned int i;

	for (i = 0; i < side->senders; i++)
		steps_drop_held(side->sender[i]);
	begin = last = worker_tick(worker);
	do {
		struct round round = { .begin = worker_tick(worker) };

		look(worker, side, 0, &round);
		note_first(turn, &round);
		if (round.ours || unlikely(worker->gaps_over_10us != gaps))
			last = worker->last_tick; /* the machine may have stood, and the side with it */
		gaps = worker->gaps_over_10us;
		turn->is_drained = (int64_t)(round.begin - last) >= (int64_t)turns->silent_cycles;
	} while (!turn->is_drained && worker->last_tick - begin < turns->drain_cycles);
	turn->drained = worker->last_tick - begin;
}

/* Send to a side all the time, and measure that. */
static bool
take_stream(struct worker *worker, struct turns *turns, const struct turns_side *side,
	struct turn *turn)
{
	if (!signal_side(worker, holds_continue, &turns->holds, turn->side, &turn->continued) ||
			!guard(worker, turns, side, worker->last_tick, turn) ||
			!measure(worker, turns, side, turn))
		return false;
	drain(worker, turns, side, turn);
	return signal_side(worker, holds_stop, &turns->holds, turn->side, &turn->held);
}

/* A whole turn: the side is held before and behind it. */
static bool
take_turn(struct worker *worker, struct turns *turns, struct turn *turn)
{
	const struct turns_side *side = &turns->side[turn->side];
	struct turn_stream *stream = &turns->stream[turns->result.turns *
		turns->result.most_streams];
	uint64_t missed = missed_by(turns, side);
	unsigned int i;
	bool whole;

	counter_add(&turns->begun, 1);
	begin_streams(side, stream);
	worker->first_sender = 0;
	worker->own_work = side->gap_cycles;
	worker->gap_limit = 0; /* which followed from that of the side before */
	turn->began_tsc = rte_rdtsc();
	if (turns->request.side[turn->side].rings)
		whole = turns_rings(worker, turns, side, turn);
	else
		whole = take_stream(worker, turns, side, turn);
	if (!whole)
		return false;
	sweep(worker, side);
	turn->ended_tsc = rte_rdtsc();
	end_streams(side, stream, turn);
	turn->missed = missed_by(turns, side) - missed;
	for (i = 0; i < turns->request.sides; i++) {
		uint64_t frames;

		if (i == turn->side)
			continue;
		frames = sweep(worker, &turns->side[i]);
		turn->elsewhere += frames;
		turns->result.side[i].elsewhere += frames;
	}
	note_latencies(turns, turn);
	worker->away_cycles = 0;
	return holds_complete(&turns->holds);
}

static bool
hold_all(struct worker *worker, struct turns *turns)
{
	uint64_t took;
	unsigned int i;

	for (i = 0; i < turns->request.sides; i++)
		if (!signal_side(worker, holds_stop, &turns->holds, i, &took))
			return false;
	return true;
}

static enum turns_end
take_turns(struct worker *worker, struct turns *turns)
{
	struct turns_result *result = &turns->result;
	bool whole = hold_all(worker, turns);

	for (; whole && result->turns < turns->request.turns; result->turns += whole) {
		struct turn *turn = &turns->turn[result->turns];

		turn->side = turns->request.order[result->turns];
		whole = take_turn(worker, turns, turn);
	}
	if (whole)
		return TURNS_COMPLETE;
	result->ended_side = turns->holds.ended_side;
	result->ended_process = turns->holds.ended_process;
	return result->ended_process != 0 ? TURNS_PROCESS_ENDED : TURNS_STOPPED;
}

/* Nothing more is sent, and all run: whatever one of them still had comes now. */
static void
receive_rest(struct worker *worker)
{
	bool draining = false;
	uint32_t command;
	unsigned int i;

	while ((command = worker_load_command(worker)) == COMMAND_TURNS ||
			command == COMMAND_DRAIN) {
		struct round round = { .begin = worker_tick(worker) };

		if (command == COMMAND_DRAIN && !draining) {
			draining = true;
			worker->last_arrival = round.begin;
		}
		round.received = round_poll(worker, worker->receiver, worker->receivers);
		round.ours = round_check(worker, worker->receiver, worker->receivers);
		if (worker->answering != 0)
			respond_send(worker);
		round_note_quiet(worker, &round, worker->last_tick, draining);
	}
	for (i = 0; i < worker->receivers; i++)
		receive_end(worker->receiver[i]);
}

void
turns_run(struct worker *worker)
{
	struct turns *turns = worker->turns;
	unsigned int i;

	loop_start_clock(worker);
	worker_set_state(worker, STATE_BUSY);
	turns->result.end = take_turns(worker, turns);
	holds_release(&turns->holds);
	for (i = 0; i < turns->request.sides; i++)
		count_latencies(&turns->side[i], NULL);
	for (i = 0; i < worker->senders; i++)
		transmit_abandon(worker, worker->sender[i]);
	worker->ended_tsc = RTE_MAX(rte_rdtsc(), worker->started_tsc);
	worker_set_state(worker, STATE_SENT);
	receive_rest(worker);
}
