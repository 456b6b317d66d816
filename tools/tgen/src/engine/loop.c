/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What an lcore does: wait for a command, then send and receive in rounds until the next one. */

#define _GNU_SOURCE /* sched_getcpu() */

#include <sched.h>

#include <rte_cycles.h>

#include "connections_worker.h"
#include "loop.h"
#include "receive.h"
#include "round.h"
#include "slots_worker.h"
#include "transmit.h"
#include "transmit_steps.h"
#include "turns_worker.h"

#define PARKED_SLEEP_US 200
#define WAITING_SLEEP_US 50
#define LOOKS 64 /* at the clock, for one at the command */

static void
stalls_run(struct worker *worker)
{
	uint64_t begin = rte_rdtsc(), before = begin, end = begin + worker->stall_cycles;
	uint64_t threshold = worker->stall_threshold;
	unsigned int i;

	worker->started_tsc = begin;
	while (before < end && worker_load_command(worker) == COMMAND_STALLS) {
		for (i = 0; i < LOOKS; i++) {
			uint64_t now = rte_rdtsc();

			/* A CPU's clock that is behind another's is no gap. */
			if (unlikely((int64_t)(now - before) >= (int64_t)threshold))
				histogram_add(worker->gaps, now - before);
			before = now;
		}
	}
	worker->ended_tsc = before;
}

/* One poll after another until all queues are empty; bounded, for a switch may never stop. */
static void
discard_leftovers(struct worker *worker)
{
	unsigned int i, rounds;

	for (rounds = 0; rounds < 2 * UINT16_MAX / PORT_BURST; rounds++) {
		bool any = false;

		for (i = 0; i < worker->receivers; i++) {
			any |= receive_poll(worker, worker->receiver[i]);
			receive_discard(worker->receiver[i]);
		}
		if (!any)
			break;
	}
	for (i = 0; i < worker->receivers; i++) {
		worker->receiver[i]->polls = 0;
		worker->receiver[i]->full_polls = 0;
		worker->receiver[i]->behind_cycles = 0;
		worker->receiver[i]->backlog = 0;
	}
}

static void
offer(struct worker *worker, struct sender *sender, uint64_t now, bool is_last, struct round *round)
{
	round_offer(worker, sender, now, is_last, worker->receiver, worker->receivers, round);
}

/*
 * While this CPU was away nothing was offered, and all that came due meanwhile would be a burst that no
 * load of the trial has: schedules go on where they were. Half of the trial's time is the most that is
 * waited for.
 */
static void
pause_schedules(struct worker *worker)
{
	uint64_t most = worker->duration_cycles == 0 ? UINT64_MAX : worker->duration_cycles / 2;
	uint64_t away = RTE_MIN(worker->away_cycles, most - worker->paused_cycles);
	uint64_t paused = 0;
	unsigned int i;

	worker->away_cycles = 0;
	for (i = 0; i < worker->senders; i++) {
		struct sender *sender = worker->sender[i];
		/* Between two bursts nothing was held up; one that has not begun keeps its distance. */
		uint64_t from = sender->sent != 0 ? sender->pacer.start_tsc : worker->started_tsc;
		int64_t running = (int64_t)(worker->last_tick - from);
		uint64_t moved = running > 0 ? RTE_MIN(away, (uint64_t)running) : 0;

		transmit_pause(sender, worker->last_tick, moved);
		paused = RTE_MAX(paused, moved);
	}
	worker->paused_cycles += paused;
}

/*
 * The same of a sender that ends by itself, at a moment of the trial; false when it has nothing to
 * offer any more. What is due by then may leave a moment later, as at the end of all.
 */
static bool
offer_until(struct worker *worker, struct sender *sender, uint64_t now, bool is_last,
	struct round *round)
{
	uint64_t end = worker->started_tsc + sender->until_cycles + worker->paused_cycles;

	if (sender->over != 0 || transmit_done(sender))
		return false;
	if (now >= end && (!sender->paced || now > end + sender->until_cycles / GRACE_SHARE ||
			!transmit_due(sender, end - 1))) {
		transmit_give_up(worker, sender);
		return false;
	}
	offer(worker, sender, RTE_MIN(now, end - 1), is_last, round);
	return true;
}

/* Offer everything once; false when there will be nothing to offer any more. */
static bool
send_round(struct worker *worker, struct round *round)
{
	uint64_t end, now = round->begin;
	bool more = false;
	unsigned int i, next;

	if (unlikely(worker->away_cycles != 0))
		pause_schedules(worker);
	end = worker->started_tsc + worker->end_cycles + worker->paused_cycles;
	/* Frames that are due by the end may still leave a moment later: the loop is not infinitely
	 * fast, and without it the last of them would never be sent.
	 */
	if (worker->duration_cycles != 0 && now >= end) {
		if (steps_go_on(worker))
			return true;
		if (now > end + worker->grace_cycles)
			return false;
		for (i = 0; i < worker->senders; i++) {
			struct sender *sender = worker->sender[i];

			if (!sender->paced || sender->over != 0)
				continue;
			offer(worker, sender, end - 1, i + 1 == worker->senders, round);
			more |= transmit_due(sender, end - 1);
		}
		return more;
	}
	/* In turn, or the first one would take all room in a ring that is nearly full. */
	next = worker->first_sender;
	for (i = 0; i < worker->senders; i++) {
		struct sender *sender = worker->sender[next];

		if (unlikely(sender->until_cycles != 0)) {
			more |= offer_until(worker, sender, now, i + 1 == worker->senders, round);
		} else {
			offer(worker, sender, now, i + 1 == worker->senders, round);
			more |= !transmit_done(sender);
		}
		next = next + 1 == worker->senders ? 0 : next + 1;
	}
	worker->first_sender = next + 1 >= worker->senders ? 0 : next + 1;
	return more;
}

static void
finish_sending(struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < worker->senders; i++)
		transmit_abandon(worker, worker->sender[i]);
	worker->ended_tsc = RTE_MAX(rte_rdtsc(), worker->started_tsc);
	worker_set_state(worker, STATE_SENT);
}

/* Send until all is sent or the command changes; receive until it is to park. */
static void
run(struct worker *worker)
{
	bool sending = true, draining = false;
	uint64_t begun;
	uint32_t command;
	unsigned int i;

	loop_start_clock(worker);
	begun = worker->last_tick;
	worker_set_state(worker, STATE_BUSY);
	while ((command = worker_load_command(worker)) == COMMAND_SEND ||
			command == COMMAND_DRAIN) {
		struct round round = { .begin = worker_tick(worker) };
		uint64_t end;

		round.received = round_poll(worker, worker->receiver, worker->receivers);
		if (unlikely(command == COMMAND_DRAIN && !draining)) {
			/* Others may have sent until now: quiet begins here. */
			draining = true;
			worker->last_arrival = round.begin;
		}
		if (sending && (command == COMMAND_DRAIN || !send_round(worker, &round))) {
			sending = false;
			finish_sending(worker);
		}
		if (round.received)
			round.ours |= round_check(worker, worker->receiver, worker->receivers);
		if (unlikely(worker->answering != 0))
			respond_send(worker);
		end = worker->last_tick;
		round_note_quiet(worker, &round, end, draining);
		if (round.offered || round.received)
			worker->busy_cycles += end - round.begin;
		worker->loops++;
	}
	if (sending)
		finish_sending(worker);
	for (i = 0; i < worker->receivers; i++)
		receive_end(worker->receiver[i]);
	worker->total_cycles = rte_rdtsc() - begun;
}

int
loop_main(void *argument)
{
	struct worker *worker = argument;
	uint32_t command;

	worker->cpu = sched_getcpu();
	while ((command = worker_load_command(worker)) != COMMAND_QUIT) {
		if (command == COMMAND_PREPARE && worker->state != STATE_READY) {
			discard_leftovers(worker);
			worker_set_state(worker, STATE_READY);
		} else if ((command == COMMAND_SEND || command == COMMAND_DRAIN) &&
				worker->state == STATE_READY) {
			/* Already to drain when it was stopped at once: nothing is sent then. */
			run(worker);
		} else if (command == COMMAND_TURNS && worker->state == STATE_READY) {
			turns_run(worker);
		} else if (command == COMMAND_CONNECTIONS && worker->state == STATE_READY) {
			connections_run(worker);
		} else if (command == COMMAND_STALLS && worker->state == STATE_PARKED) {
			worker_set_state(worker, STATE_BUSY);
			stalls_run(worker);
			worker_set_state(worker, STATE_SENT);
		} else if (command == COMMAND_PARK) {
			worker_set_state(worker, STATE_PARKED);
			rte_delay_us_sleep(PARKED_SLEEP_US);
		} else {
			rte_delay_us_sleep(WAITING_SLEEP_US);
		}
	}
	worker_set_state(worker, STATE_GONE);
	return 0;
}
