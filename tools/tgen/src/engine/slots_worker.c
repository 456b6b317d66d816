/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "slots_worker.h"
#include "transmit_replay.h"

#define SILENCE_TIMES 10 /* of 10 us */

void
slots_begin(struct worker *worker)
{
	worker->slots = worker->ready_slots;
	if (worker->slots == NULL)
		return;
	if (worker->slots->grid.origin == 0)
		worker->slots->grid.origin = worker->started_tsc;
	if (worker->away_cycles != 0)
		slots_note_gap(worker, worker->slots->grid.origin, worker->last_tick);
}

void
slots_note_gap(struct worker *worker, uint64_t from, uint64_t to)
{
	struct worker_slots *slots = worker->slots;

	slots_spread(&slots->grid, slots->away, from, to);
	slots->recent[slots->gaps % SLOTS_RECENT].from = from;
	slots->recent[slots->gaps % SLOTS_RECENT].to = to;
	slots->gaps++;
	events_note(&slots->events.of[EVENT_GAP], &(struct event){
		.tsc = from, .cycles = to - from,
	});
}

void
slots_note_sent(const struct worker *worker, struct sender *sender, uint64_t departure,
	unsigned int frames)
{
	if (sender->replay != NULL)
		frames = replay_marked(sender, frames);
	sender->slots->sent[slot_of(&worker->slots->grid, departure)] += frames;
}

static void
note_no_room(struct worker *worker, const struct sender *sender, uint64_t ended)
{
	const struct sender_slots *slots = sender->slots;
	enum event_kind kind = slots->first == ROOM_HELD ? EVENT_HELD : EVENT_FULL;

	events_note(&worker->slots->events.of[kind], &(struct event){
		.tsc = slots->full_since, .cycles = ended - slots->full_since,
		.part = sender->number,
	});
}

void
slots_note_room(struct worker *worker, struct sender *sender, uint64_t now, uint64_t full,
	enum room room)
{
	const struct slot_grid *grid = &worker->slots->grid;
	struct sender_slots *slots = sender->slots;
	uint64_t from = sender->last_refusal;

	if (from == 0) {
		slots->full_since = now;
		slots->first = room;
	} else {
		slots_spread(grid, slots->full, from, from + full);
		if (slots->last == ROOM_HELD)
			slots_spread(grid, slots->held, from, from + full);
		if (room == ROOM_ENOUGH)
			note_no_room(worker, sender, from + full);
	}
	slots->last = room;
}

void
slots_end_room(struct worker *worker, struct sender *sender)
{
	note_no_room(worker, sender, sender->last_refusal);
}

/* The time between two moments in which a worker ran; into the slots, too, unless there are none. */
static uint64_t
add_running(const struct worker_slots *slots, uint64_t *slot, uint64_t from, uint64_t to)
{
	uint32_t known = RTE_MIN(slots->gaps, (uint32_t)SLOTS_RECENT), i;
	uint64_t running = 0;

	for (i = 1; i <= known && (int64_t)(to - from) > 0; i++) {
		uint32_t gap = (slots->gaps - i) % SLOTS_RECENT;
		uint64_t begin = slots->recent[gap].from, end = slots->recent[gap].to;

		if ((int64_t)(end - from) <= 0)
			break;
		if ((int64_t)(to - end) > 0) {
			running += to - end;
			if (slot != NULL)
				slots_spread(&slots->grid, slot, end, to);
		}
		if ((int64_t)(to - begin) > 0)
			to = begin;
	}
	if ((int64_t)(to - from) <= 0)
		return running;
	if (slot != NULL)
		slots_spread(&slots->grid, slot, from, to);
	return running + to - from;
}

void
slots_note_arrival(const struct watch *watch, uint64_t departure, uint64_t frames, uint64_t now)
{
	struct watch_slots *slots = watch->slots;
	const struct worker *worker = slots->worker;
	const struct worker_slots *all = worker->slots;
	uint64_t most = SILENCE_TIMES * worker->ten_us, least = slots->least_latency;
	uint64_t latency = (now - departure) & TGEN_48_BITS, expected;

	slots->received[slot_of(&all->grid, departure)] += frames;
	if (unlikely(latency > TGEN_48_BITS / 2))
		latency = 0;
	if (unlikely(latency < least))
		slots->least_latency = latency;
	if (least == UINT64_MAX)
		least = 0;
	if (latency < least)
		return;
	expected = now - latency + least;
	if (watch->last_arrival != 0 && (int64_t)(watch->last_arrival - expected) > 0)
		expected = watch->last_arrival;
	if (likely((int64_t)(now - expected) <= (int64_t)most))
		return;
	if (add_running(all, NULL, expected, now) > most)
		add_running(all, slots->silent, expected, now);
}

void
slots_note_jump(struct watch_slots *slots, const struct payload *payload,
	enum window_seen seen, uint64_t next, uint64_t now)
{
	struct event_list *list = &slots->worker->slots->events.of[EVENT_MISSING];
	uint64_t span = payload->sequence - next;

	if (seen == WINDOW_LATE)
		events_fill(list, payload->stream, payload->sequence);
	else if (seen == WINDOW_NEW)
		events_note(list, &(struct event){
			.tsc = now, .departure = payload->departure, .part = payload->stream,
			.first = next, .span = span, .frames = span,
		});
}
