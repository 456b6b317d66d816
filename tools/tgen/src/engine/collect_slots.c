/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Slots of time and events: room for them before a trial, and their sums after it; the workers are parked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect_slots.h"
#include "engine_private.h"
#include "slots_worker.h"

#define SECOND_NS UINT64_C(1000000000)

/* Written through, so that the first frames meet no page faults. */
static void *
ready(size_t head, size_t lanes, uint32_t count)
{
	size_t size = RTE_ALIGN_CEIL(head + lanes * count * sizeof(uint64_t), RTE_CACHE_LINE_SIZE);
	void *room = aligned_alloc(RTE_CACHE_LINE_SIZE, size);

	if (room != NULL)
		memset(room, 0, size);
	return room;
}

static bool
ready_worker(struct engine *engine, struct worker *worker, const struct slot_grid *grid)
{
	struct worker_slots *slots = ready(sizeof(*slots), 1, grid->count);
	unsigned int i;

	worker->ready_slots = slots;
	if (slots == NULL)
		return false;
	slots->grid = *grid;
	slots->away = slots->lane;
	for (i = 0; i < engine->senders && worker->receivers != 0; i++) {
		struct watch_slots *seen = ready(sizeof(*seen), 2, grid->count);

		worker->watch[i].slots = seen;
		if (seen == NULL)
			return false;
		seen->worker = worker;
		seen->least_latency = UINT64_MAX;
		seen->received = seen->lane;
		seen->silent = seen->lane + grid->count;
	}
	return true;
}

static bool
ready_sender(struct sender *sender, uint32_t count)
{
	struct sender_slots *slots = ready(sizeof(*slots), 3, count);

	sender->slots = slots;
	if (slots == NULL)
		return false;
	slots->sent = slots->lane;
	slots->full = slots->lane + count;
	slots->held = slots->lane + 2 * (size_t)count;
	return true;
}

/*
 * How long sending takes, with pauses of half of that. It is sure only where there is a duration: what
 * frames bound may take any time, and the last slot takes the rest of it; 0 when nobody knows.
 */
static uint64_t
longest_ns(const struct trial_request *request, unsigned int streams)
{
	uint64_t longest = request->duration_ns;
	unsigned int i;

	for (i = 0; i < streams && request->duration_ns == 0; i++) {
		double ns = (double)request->frames[i] * 1e12 / (double)request->rate_mfps[i];

		if (request->rate_mfps[i] == 0 || request->own_times || ns > 1e18)
			return 0;
		longest = RTE_MAX(longest, (uint64_t)ns);
	}
	return longest + longest / 2 + SECOND_NS / 100;
}

int
collect_prepare_slots(struct engine *engine, const struct trial_request *request,
	struct error *error)
{
	struct slot_grid grid;
	bool is_ready = true;
	unsigned int i;

	collect_free_slots(engine);
	if (request->slot_ns == 0)
		return 0;
	slot_grid_init(&grid, engine_cycles(engine, request->slot_ns),
		engine_cycles(engine, longest_ns(request, engine->traffic.streams)),
		request->duration_ns != 0);
	for (i = 0; i < engine->workers && is_ready; i++)
		is_ready = ready_worker(engine, engine->worker[i], &grid);
	for (i = 0; i < engine->senders && is_ready; i++)
		is_ready = ready_sender(&engine->sender[i], grid.count);
	if (!is_ready)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u slots of time",
			grid.count);
	return slots_create(&engine->slots, &grid, engine->traffic.streams, error);
}

/* For slots, several workers begin at one moment, even if only one of them sends. */
void
collect_place_slots(struct engine *engine, uint64_t begin_tsc)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->ready_slots != NULL)
			engine->worker[i]->ready_slots->grid.origin = begin_tsc;
}

static void
add(uint64_t *sum, const uint64_t *lane, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		sum[i] += lane[i];
}

/*
 * While a worker was away it could see no silence, and nothing was due that a full port kept. It may have
 * noted both all the same: of silences it remembers so many gaps only, and a full port it may have met just
 * behind a gap. But for the last slot, which has room for any time, a slot has no time for that.
 */
static void
cut_lane(uint64_t *lane, const uint64_t *away, uint64_t width, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		lane[i] = RTE_MIN(lane[i], width - RTE_MIN(width, away[i]));
}

static void
raise(uint64_t *most, const uint64_t *lane, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		most[i] = RTE_MAX(most[i], lane[i]);
}

static const uint64_t *
away_of(const struct engine *engine, const struct sender *sender)
{
	unsigned int i, j;

	for (i = 0; i < engine->workers; i++)
		for (j = 0; j < engine->worker[i]->senders; j++)
			if (engine->worker[i]->sender[j] == sender)
				return engine->worker[i]->ready_slots->away;
	return NULL; /* every sender has a worker */
}

/* A slot with the end of a step counts at the rate of the next. */
static void
add_refused(const struct sender *sender, const struct slot_grid *grid, uint64_t *refused)
{
	const struct steps *steps = &sender->steps;
	const uint64_t *full = sender->slots->full;
	uint32_t from = 0, to;
	unsigned int i;

	for (i = 0; i < steps->now; i++, from = to) {
		to = slot_of(grid, steps->of[i + 1].due_tsc);
		slots_add_refused(refused, full, from, to, steps->pace[i].pace.distance);
	}
	slots_add_refused(refused, full, from, grid->count, sender->pacer.pace.distance);
}

static void
collect_part_slots(struct engine *engine, unsigned int index)
{
	const struct sender *sender = &engine->sender[index];
	struct slots *slots = &engine->slots;
	const uint64_t *away = away_of(engine, sender);
	uint64_t **lane = slots->stream[sender->part.stream];
	uint64_t width = UINT64_C(1) << slots->grid.shift;
	uint32_t count = slots->grid.count;
	unsigned int i, listeners = 0;

	cut_lane(sender->slots->full, away, width, count - 1);
	cut_lane(sender->slots->held, away, width, count - 1);
	add(lane[SLOT_SENT], sender->slots->sent, count);
	add(lane[SLOT_HELD], sender->slots->held, count);
	add_refused(sender, &slots->grid, lane[SLOT_REFUSED]);
	for (i = 0; i < engine->workers; i++) {
		const struct watch *watch = engine->worker[i]->watch;

		if (engine->worker[i]->receivers == 0)
			continue;
		watch += index;
		listeners += watch->received != 0;
		add(lane[SLOT_RECEIVED], watch->slots->received, count);
		cut_lane(watch->slots->silent, engine->worker[i]->ready_slots->away, width,
			count - 1);
		raise(slots->silent, watch->slots->silent, count);
	}
	/* Who sees a part of the numbers only misses others, and those of frames without a mark. */
	for (i = 0; i < engine->workers && (listeners > 1 || replay_has_unmarked(sender->replay)); i++)
		events_forget_part(&engine->worker[i]->ready_slots->events.of[EVENT_MISSING],
			(uint8_t)index);
}

static void
collect_worker_events(struct engine *engine, unsigned int index, uint64_t origin)
{
	struct events *events = &engine->worker[index]->ready_slots->events;
	unsigned int kind, i;

	for (kind = 0; kind < EVENT_KINDS; kind++) {
		struct event_list *list = &events->of[kind];

		for (i = 0; i < list->listed; i++) {
			const struct part *part = &engine->sender[list->event[i].part].part;

			list->event[i].worker = (uint8_t)index;
			list->event[i].stream = part->stream;
			list->event[i].index = part->index;
		}
		events_merge(&engine->events.of[kind], list, origin);
	}
}

void
collect_slots(struct engine *engine)
{
	struct trial_result *result = &engine->result;
	struct slots *slots = &engine->slots;
	unsigned int i;

	if (engine->request.slot_ns == 0)
		return;
	slots->grid.origin = result->started_tsc;
	slots_end(slots, result->ended_tsc);
	memset(&engine->events, 0, sizeof(engine->events));
	for (i = 0; i < engine->senders; i++)
		collect_part_slots(engine, i);
	for (i = 0; i < engine->workers; i++) {
		raise(slots->away, engine->worker[i]->ready_slots->away, slots->grid.count);
		collect_worker_events(engine, i, result->started_tsc);
	}
	result->slots = slots;
	result->events = &engine->events;
}

void
collect_free_slots(struct engine *engine)
{
	unsigned int i, j;

	engine->result.slots = NULL;
	engine->result.events = NULL;
	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		for (j = 0; worker->watch != NULL && j < engine->senders; j++) {
			free(worker->watch[j].slots);
			worker->watch[j].slots = NULL;
		}
		free(worker->ready_slots);
		worker->ready_slots = NULL;
		worker->slots = NULL;
	}
	for (i = 0; i < engine->senders; i++) {
		free(engine->sender[i].slots);
		engine->sender[i].slots = NULL;
	}
	slots_destroy(&engine->slots);
}
