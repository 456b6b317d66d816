/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "hdr.h"
#include "result_slots.h"

static const char *const lane_names[SLOT_LANES] = {
	[SLOT_SENT] = "sent",
	[SLOT_RECEIVED] = "received",
	[SLOT_REFUSED] = "refused",
	[SLOT_HELD] = "held_ns",
};

static const char *const event_names[EVENT_KINDS] = {
	[EVENT_GAP] = "gaps",
	[EVENT_FULL] = "full",
	[EVENT_HELD] = "held",
	[EVENT_MISSING] = "missing",
};

/* Frames, or time. */
static json_t *
lane_value(enum slot_lane kind, uint64_t value, uint64_t tsc_hz)
{
	return json_integer((json_int_t)(kind == SLOT_HELD ? hdr_nanoseconds(value, tsc_hz) : value));
}

/* What is by streams as lists, one element for each of them. */
static json_t *
slot_json(const struct slots *slots, uint32_t index, uint64_t tsc_hz)
{
	json_t *json = json_object();
	unsigned int kind, i;

	message_count(json, "slot", index);
	for (kind = 0; kind < SLOT_LANES; kind++) {
		json_t *list = json_array();

		for (i = 0; i < slots->streams; i++)
			json_array_append_new(list,
				lane_value(kind, slots->stream[i][kind][index], tsc_hz));
		json_object_set_new(json, lane_names[kind], list);
	}
	message_count(json, "away_ns", hdr_nanoseconds(slots->away[index], tsc_hz));
	message_count(json, "silent_ns", hdr_nanoseconds(slots->silent[index], tsc_hz));
	return json;
}

static json_t *
totals_json(const struct slots *slots, uint64_t tsc_hz)
{
	json_t *json = json_object();
	unsigned int kind, i;

	for (kind = 0; kind < SLOT_LANES; kind++) {
		json_t *list = json_array();

		for (i = 0; i < slots->streams; i++)
			json_array_append_new(list, lane_value(kind,
				slots_sum(slots, slots->stream[i][kind]), tsc_hz));
		json_object_set_new(json, lane_names[kind], list);
	}
	message_count(json, "away_ns", hdr_nanoseconds(slots_sum(slots, slots->away), tsc_hz));
	message_count(json, "silent_ns", hdr_nanoseconds(slots_sum(slots, slots->silent), tsc_hz));
	return json;
}

static json_t *
slots_json(const struct slots *slots, uint64_t tsc_hz)
{
	json_t *json = json_object(), *noted = json_array();
	uint32_t i;

	for (i = 0; i < slots->shown; i++)
		if (slots_is_noted(slots, i))
			json_array_append_new(noted, slot_json(slots, i, tsc_hz));
	message_count(json, "slot_cycles", UINT64_C(1) << slots->grid.shift);
	message_count(json, "slot_ns", hdr_nanoseconds(UINT64_C(1) << slots->grid.shift, tsc_hz));
	message_count(json, "count", slots->used);
	json_object_set_new(json, "totals", totals_json(slots, tsc_hz));
	json_object_set_new(json, "noted", noted);
	return json;
}

/* Since the trial began. */
static uint64_t
since_ns(const struct trial_result *trial, uint64_t cycles)
{
	return (int64_t)cycles > 0 ? hdr_nanoseconds(cycles, trial->tsc_hz) : 0;
}

static json_t *
event_json(enum event_kind kind, const struct event *event, const struct trial_result *trial)
{
	json_t *json = json_object();

	message_count(json, "at_ns", since_ns(trial, event->tsc - trial->started_tsc));
	if (kind == EVENT_GAP) {
		message_count(json, "lcore", trial->worker[event->worker].lcore);
		message_count(json, "ns", hdr_nanoseconds(event->cycles, trial->tsc_hz));
		return json;
	}
	message_count(json, "stream", event->stream);
	message_count(json, "part", event->index);
	if (kind != EVENT_MISSING) {
		message_count(json, "ns", hdr_nanoseconds(event->cycles, trial->tsc_hz));
		return json;
	}
	message_count(json, "sent_ns", since_ns(trial,
		(event->departure - trial->started_tsc) & TGEN_48_BITS));
	message_count(json, "first", event->first);
	message_count(json, "span", event->span);
	message_count(json, "frames", event->frames);
	return json;
}

static json_t *
events_json(const struct events *events, const struct trial_result *trial)
{
	json_t *json = json_object(), *more = json_object();
	unsigned int kind;
	uint32_t i;

	for (kind = 0; kind < EVENT_KINDS; kind++) {
		const struct event_list *list = &events->of[kind];
		json_t *listed = json_array();

		for (i = 0; i < list->listed; i++)
			json_array_append_new(listed, event_json(kind, &list->event[i], trial));
		json_object_set_new(json, event_names[kind], listed);
		message_count(more, event_names[kind], list->more);
	}
	json_object_set_new(json, "more", more);
	return json;
}

void
result_set_slots(json_t *json, const struct trial_result *trial)
{
	if (trial->slots != NULL)
		json_object_set_new(json, "slots", slots_json(trial->slots, trial->tsc_hz));
	if (trial->events != NULL)
		json_object_set_new(json, "events", events_json(trial->events, trial));
}
