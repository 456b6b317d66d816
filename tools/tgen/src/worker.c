/* SPDX-License-Identifier: Apache-2.0 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getcpu() */
#endif

#include <sched.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "worker.h"

#define PARKED_SLEEP_US 200
#define WAIT_STEP_US 50
#define WAIT_STEPS 20000

static void
set_state(struct worker *worker, enum worker_state state)
{
	__atomic_store_n(&worker->state, state, __ATOMIC_RELEASE); /* S1 */
}

void
worker_command(struct worker *worker, enum worker_command command)
{
	__atomic_store_n(&worker->command, command, __ATOMIC_RELEASE); /* C1 */
}

enum worker_state
worker_state(const struct worker *worker)
{
	return __atomic_load_n(&worker->state, __ATOMIC_ACQUIRE); /* S2 */
}

bool
worker_wait(const struct worker *worker, enum worker_state state)
{
	unsigned int i;

	/* Sleep in between: the worker may have to run on this very CPU. */
	for (i = 0; i < WAIT_STEPS; i++) {
		if (worker_state(worker) == state)
			return true;
		rte_delay_us_sleep(WAIT_STEP_US);
	}
	return false;
}

void
worker_note_gap(struct worker *worker, uint64_t gap)
{
	if (gap > worker->ten_us)
		worker->gaps_over_10us++;
	if (gap > worker->longest_gap_cycles) {
		worker->longest_gap_cycles = gap;
		worker->longest_gap_tsc = worker->last_tick;
	}
	worker->gap_limit = RTE_MIN(worker->longest_gap_cycles, worker->ten_us);
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
	}
}

static void
start_clock(struct worker *worker)
{
	unsigned int i;

	worker->loops = 0;
	worker->first_sender = 0;
	worker->busy_cycles = 0;
	worker->longest_gap_cycles = 0;
	worker->longest_gap_tsc = 0;
	worker->gaps_over_10us = 0;
	worker->gap_limit = 0;
	worker->started_tsc = rte_rdtsc();
	worker->last_tick = worker->started_tsc;
	worker->last_arrival = worker->started_tsc;
	for (i = 0; i < worker->senders; i++)
		worker->sender[i]->pacer.start_tsc = worker->started_tsc;
}

/* Offer everything once; false when there will be nothing to offer any more. */
static bool
send_round(struct worker *worker, uint64_t now, bool *busy)
{
	uint64_t end = worker->started_tsc + worker->duration_cycles;
	bool more = false, offered = false;
	unsigned int i, next;

	/* Frames that are due by the end may still leave a moment later: the loop is not infinitely
	 * fast, and without it the last of them would never be sent.
	 */
	if (worker->duration_cycles != 0 && now >= end) {
		if (now > end + worker->grace_cycles)
			return false;
		now = end - 1;
		for (i = 0; i < worker->senders; i++)
			if (worker->sender[i]->paced)
				offered |= transmit_round(worker, worker->sender[i], now);
		*busy |= offered;
		return offered;
	}
	/* In turn, or the first one would take all room in a ring that is nearly full. */
	next = worker->first_sender;
	for (i = 0; i < worker->senders; i++) {
		struct sender *sender = worker->sender[next];

		*busy |= transmit_round(worker, sender, now);
		more |= !transmit_done(sender);
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
	worker->ended_tsc = rte_rdtsc();
	set_state(worker, STATE_SENT);
}

static void
note_quiet(struct worker *worker, uint64_t now, bool received, bool draining)
{
	if (received)
		worker->last_arrival = now;
	else if (draining)
		__atomic_store_n(&worker->quiet_cycles, now - worker->last_arrival,
			__ATOMIC_RELAXED);
}

/* Send until all is sent or the command changes; receive until it is to park. */
static void
run(struct worker *worker)
{
	bool sending = true, draining = false;
	uint32_t command;
	unsigned int i;

	start_clock(worker);
	set_state(worker, STATE_BUSY);
	while ((command = worker_load_command(worker)) == COMMAND_SEND ||
			command == COMMAND_DRAIN) {
		uint64_t begin = worker_tick(worker), end;
		bool received = false, busy = false;

		for (i = 0; i < worker->receivers; i++)
			received |= receive_poll(worker, worker->receiver[i]);
		if (unlikely(command == COMMAND_DRAIN && !draining)) {
			/* Others may have sent until now: quiet begins here. */
			draining = true;
			worker->last_arrival = begin;
		}
		if (sending && (command == COMMAND_DRAIN ||
				!send_round(worker, begin, &busy))) {
			sending = false;
			finish_sending(worker);
		}
		if (received)
			for (i = 0; i < worker->receivers; i++)
				receive_check(worker, worker->receiver[i]);
		end = worker->last_tick;
		note_quiet(worker, end, received, draining);
		if (busy || received)
			worker->busy_cycles += end - begin;
		worker->loops++;
	}
	if (sending)
		finish_sending(worker);
	worker->total_cycles = rte_rdtsc() - worker->started_tsc;
}

int
worker_main(void *argument)
{
	struct worker *worker = argument;
	uint32_t command;

	worker->cpu = sched_getcpu();
	while ((command = worker_load_command(worker)) != COMMAND_QUIT) {
		if (command == COMMAND_PREPARE && worker->state != STATE_READY) {
			discard_leftovers(worker);
			set_state(worker, STATE_READY);
		} else if (command == COMMAND_SEND && worker->state == STATE_READY) {
			run(worker);
		} else if (command == COMMAND_STALLS && worker->state == STATE_PARKED) {
			set_state(worker, STATE_BUSY);
			stalls_run(worker);
			set_state(worker, STATE_SENT);
		} else if (command == COMMAND_PARK) {
			set_state(worker, STATE_PARKED);
			rte_delay_us_sleep(PARKED_SLEEP_US);
		} else {
			rte_delay_us_sleep(WAIT_STEP_US);
		}
	}
	set_state(worker, STATE_GONE);
	return 0;
}
