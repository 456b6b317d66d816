/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What is sent: each part made ready before a trial, and added to its stream after it. */

#include <string.h>

#include "collect_senders.h"
#include "engine_private.h"

static void
set_pace(const struct engine *engine, struct sender *sender, const struct trial_request *request)
{
	const struct part *part = &sender->part;
	uint64_t rate_mfps = request->steps != 0 ? request->step[0].rate_mfps[part->stream] :
		request->rate_mfps[part->stream];
	uint64_t shift;

	/* Not all at once: a port that takes one frame after another need not hold one of each. */
	pacer_init(&sender->pacer, engine->tsc_hz, rate_mfps, 0);
	shift = sender->pacer.pace.distance / engine->traffic.streams * part->stream >> 16;
	sender->phase = shift + pacer_when(&sender->pacer, part->index);
	/* Of so many frames one is the part's, as if seconds were as much longer. */
	pacer_init(&sender->pacer, engine->tsc_hz * part->of, rate_mfps, 0);
	if (request->steps != 0) {
		steps_init(&sender->steps, request, part, engine->tsc_hz);
		pacer_set_steps(&sender->pacer, sender->steps.pace, request->steps);
	}
	if (!request->own_times)
		return;
	sender->pacer.pace.distance = 0;
	if (sender->replay != NULL) {
		schedule_init(&sender->schedule, sender->replay, rate_mfps, engine->tsc_hz);
		sender->pacer.schedule = &sender->schedule;
		sender->phase = 0;
	}
}

void
collect_clear_sender(struct engine *engine, struct sender *sender,
	const struct trial_request *request)
{
	const struct part *part = &sender->part;

	sender->trial = request->number;
	sender->paced = request->rate_mfps[part->stream] != 0 || request->own_times ||
		request->steps != 0;
	sender->burst = sender->paced ? request->burst : PORT_BURST;
	sender->intended = part_share(part, request->frames[part->stream]);
	sender->next = 0;
	broadcast_seek(&sender->broadcast, 0);
	sender->sent = 0;
	sender->sent_bytes = 0;
	sender->given_up = 0;
	sender->until_cycles = engine_cycles(engine, request->until_ns[part->stream]);
	sender->over = 0;
	sender->first_sent_tsc = 0;
	sender->last_sent_tsc = 0;
	sender->retries = 0;
	memset(&sender->pauses, 0, sizeof(sender->pauses));
	sender->last_refusal = 0;
	sender->full_cycles = 0;
	sender->last_full = 0;
	sender->no_buffers = 0;
	sender->position = 0;
	sender->held = 0;
	sender->earliest = 0;
	memset(&sender->steps, 0, sizeof(sender->steps));
	set_pace(engine, sender, request);
}

static void
add_replay(struct stream_result *result, const struct sender *sender, const struct port *receives)
{
	result->replays = true;
	result->unmarked = replay_count_unmarked(sender->replay, sender->sent);
	result->several_queues = receives->receive_queues > 1;
}

/* Of two moments the earlier; 0 is none. */
static uint64_t
earlier(uint64_t one, uint64_t other)
{
	/* Which less 1 is later than any. */
	return RTE_MIN(one - 1, other - 1) + 1;
}

static void
add_steps(struct stream_result *result, const struct steps *steps)
{
	unsigned int i;

	for (i = 0; i <= steps->now; i++)
		result->refused += steps->of[i].refused;
	result->steps = (uint8_t)steps->count;
	for (i = 0; i < steps->count; i++) {
		struct step_result *step = &result->step[i];

		step->intended += steps->pace[i].frames;
		step->sent += steps->of[i].sent;
		step->refused += steps->of[i].refused;
		step->due_tsc = earlier(step->due_tsc, steps->of[i].due_tsc);
		step->began_tsc = earlier(step->began_tsc, steps->of[i].began_tsc);
	}
}

void
collect_sender(struct engine *engine, const struct sender *sender)
{
	const struct stream *stream = &engine->traffic.stream[sender->part.stream];
	struct stream_result *result = &engine->result.stream[sender->part.stream];

	/* Without a bound but time, what was intended is what was sent. */
	result->intended += sender->intended == TGEN_48_BITS ? sender->sent : sender->intended;
	add_steps(result, &sender->steps);
	if (sender->replay != NULL)
		add_replay(result, sender, &engine->port[stream->receive_port]);
	if (sender->sent == 0)
		return;
	if (result->sent == 0 || sender->first_sent_tsc < result->first_sent_tsc)
		result->first_sent_tsc = sender->first_sent_tsc;
	result->last_sent_tsc = RTE_MAX(result->last_sent_tsc, sender->last_sent_tsc);
	result->sent += sender->sent;
	result->sent_bytes += sender->sent_bytes;
}

/* When the port was last seen full, in a step of which it did not take all; 0: it took all of each. */
static uint64_t
last_refused(const struct steps *steps)
{
	unsigned int i;

	for (i = steps->now + 1; i > 0; i--)
		if (steps->of[i - 1].refused != 0)
			return steps->of[i - 1].full_tsc;
	return 0;
}

/* Who alone saw a part arrive; NULL where nobody did, or several. */
static const struct watch *
only_listener(const struct engine *engine, unsigned int index, unsigned int *listeners,
	uint64_t *distinct)
{
	const struct watch *found = NULL;
	unsigned int i;

	*listeners = 0;
	*distinct = 0;
	for (i = 0; i < engine->workers; i++) {
		const struct watch *watch = &engine->worker[i]->watch[index];

		if (engine->worker[i]->receivers == 0 || watch->received == 0)
			continue;
		found = watch;
		(*listeners)++;
		*distinct += watch->distinct;
	}
	return *listeners == 1 ? found : NULL;
}

void
collect_last_loss(struct engine *engine, unsigned int index)
{
	const struct sender *sender = &engine->sender[index];
	struct stream_result *result = &engine->result.stream[sender->part.stream];
	uint64_t distinct, lost_tsc = 0;
	unsigned int listeners;
	const struct watch *watch = only_listener(engine, index, &listeners, &distinct);

	if (replay_has_unmarked(sender->replay))
		distinct += replay_count_unmarked(sender->replay, sender->sent);
	if (distinct != sender->sent) {
		if (listeners > 1 || replay_has_unmarked(sender->replay))
			result->last_loss_unknown = true;
		else if (watch == NULL || watch->window.next < sender->sent)
			lost_tsc = sender->last_sent_tsc;
		else
			lost_tsc = gaps_last(watch->gaps);
	}
	result->last_loss_tsc = RTE_MAX(result->last_loss_tsc,
		RTE_MAX(lost_tsc, last_refused(&sender->steps)));
}
