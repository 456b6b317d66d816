/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <rte_mbuf.h>

#include "transmit_steps.h"
#include "wide.h"

void
steps_drop_held(struct sender *sender)
{
	uint32_t turn = sender->replay != NULL ? sender->replay->frames : sender->sizes;

	if (sender->held == 0)
		return;
	rte_pktmbuf_free_bulk(sender->buffer, sender->held);
	sender->next -= sender->held;
	broadcast_seek(&sender->broadcast, sender->next);
	/* The next one is what the first of these was. */
	sender->position = (sender->position + turn - sender->held % turn) % turn;
	sender->held = 0;
}

void
steps_note_first(struct sender *sender, uint64_t departure)
{
	struct step_account *step = &sender->steps.of[sender->steps.now];

	if (sender->sent == 0)
		sender->first_sent_tsc = departure;
	if (step->began_tsc != 0)
		return; /* a burst behind the first one */
	step->began_tsc = departure;
	step->due_tsc = sender->pacer.start_tsc;
}

static uint64_t
intended_now(const struct sender *sender)
{
	const struct steps *steps = &sender->steps;

	if (steps->count != 0)
		return steps->pace[steps->now].frames;
	/* Without a bound but time, what was intended is what was sent. */
	return sender->intended == TGEN_48_BITS ? sender->sent : sender->intended;
}

/*
 * Of the frames that were not sent, those that the port did not take: as many as were due while it was
 * full. Without a rate of its own, a sender that ended before a full port was refused all of them.
 */
static uint64_t
refused_of(const struct sender *sender, uint64_t unsent)
{
	uint64_t distance = sender->pacer.pace.distance;

	if (distance == 0)
		return sender->last_refusal != 0 ? unsent : 0;
	return RTE_MIN(unsent, (uint64_t)(((uint128_t)sender->full_cycles << 16) / distance));
}

void
steps_end(struct sender *sender)
{
	struct step_account *step = &sender->steps.of[sender->steps.now];

	step->sent = sender->sent - step->first;
	step->refused = refused_of(sender, intended_now(sender) - step->sent);
}

void
steps_next(struct sender *sender)
{
	struct steps *steps = &sender->steps;

	steps_end(sender);
	sender->given_up += intended_now(sender) - steps->of[steps->now].sent;
	steps_drop_held(sender);
	/* What the port did not take is told; from now on it counts at another rate. */
	sender->full_cycles = 0;
	sender->last_full = 0;
	pacer_next_step(&sender->pacer, sender->sent);
	if (steps->now + 1 == steps->count)
		return;
	steps->now++;
	steps->of[steps->now].first = sender->sent;
	steps->of[steps->now].due_tsc = sender->pacer.start_tsc;
}

void
steps_begin(struct worker *worker)
{
	worker->step = 0;
	worker->end_cycles = worker->steps > 1 ? worker->step_end[0] : worker->duration_cycles;
}

bool
steps_go_on(struct worker *worker)
{
	unsigned int i;

	if (worker->step + 1 >= worker->steps)
		return false;
	for (i = 0; i < worker->senders; i++)
		if (worker->sender[i]->steps.now == worker->step)
			steps_next(worker->sender[i]);
	worker->step++;
	worker->end_cycles = worker->step + 1 < worker->steps ?
		worker->step_end[worker->step] : worker->duration_cycles;
	return true;
}
