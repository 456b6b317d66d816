/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Turns as JSON: a list for each quantity, since there may be thousands of them. */

#include <stddef.h>

#include "hdr.h"
#include "result.h"
#include "result_histogram.h"

/* Quantities of a turn, and whether they are times. */
static const struct column {
	const char *name;
	size_t offset;
	bool is_time;
} columns[] = {
	{ "measured_ns", offsetof(struct turn, measured), true },
	{ "sent", offsetof(struct turn, sent), false },
	{ "distinct", offsetof(struct turn, distinct), false },
	{ "full_ns", offsetof(struct turn, full), true },
	{ "gaps_ns", offsetof(struct turn, gaps), true },
	{ "longest_gap_ns", offsetof(struct turn, longest_gap), true },
	{ "behind_ns", offsetof(struct turn, behind), true },
	{ "silence_ns", offsetof(struct turn, silence), true },
	{ "turn_sent", offsetof(struct turn, turn_sent), false },
	{ "turn_distinct", offsetof(struct turn, turn_distinct), false },
	{ "elsewhere", offsetof(struct turn, elsewhere), false },
	{ "continue_ns", offsetof(struct turn, continued), true },
	{ "drain_ns", offsetof(struct turn, drained), true },
	{ "hold_ns", offsetof(struct turn, held), true },
};
static const struct column with_devices[] = {
	{ "missed", offsetof(struct turn, missed), false },
};
static const struct column with_rate[] = {
	{ "intended", offsetof(struct turn, intended), false },
	{ "refused", offsetof(struct turn, refused), false },
};
static const struct column with_rings[] = {
	{ "fillings", offsetof(struct turn, fillings), false },
	{ "fillings_behind", offsetof(struct turn, fillings_behind), false },
	{ "fillings_short", offsetof(struct turn, fillings_short), false },
};
static const struct column with_latency[] = {
	{ "latencies", offsetof(struct turn, latencies), false },
	{ "latency_sum_ns", offsetof(struct turn, latency), true },
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static json_t *
integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void
set_columns(json_t *json, const struct turns_result *turns, uint64_t hz,
	const struct column *column, size_t count)
{
	unsigned int i;

	for (; count > 0; count--, column++) {
		json_t *list = json_array();

		for (i = 0; i < turns->turns; i++) {
			const char *turn = (const char *)&turns->turn[i];
			uint64_t value = *(const uint64_t *)(const void *)(turn + column->offset);

			json_array_append_new(list,
				integer(column->is_time ? hdr_nanoseconds(value, hz) : value));
		}
		json_object_set_new(json, column->name, list);
	}
}

/* What a share of the latencies of a turn does not exceed; null of one that had none. */
static json_t *
latency_json(const struct turns_result *turns, uint64_t hz, size_t offset)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < turns->turns; i++) {
		const char *turn = (const char *)&turns->turn[i];
		uint64_t value = *(const uint64_t *)(const void *)(turn + offset);

		json_array_append_new(list, turns->turn[i].latencies == 0 ? json_null() :
			integer(hdr_nanoseconds(value, hz)));
	}
	return list;
}

/* A list for each turn, of its slots: how long they were, or, without `hz`, what arrived in them. */
static json_t *
slots_json(const struct turns_result *turns, uint64_t hz)
{
	json_t *json = json_array();
	unsigned int i, j;

	for (i = 0; i < turns->turns; i++) {
		json_t *list = json_array();

		for (j = 0; j < TURN_SLOTS; j++)
			json_array_append_new(list, integer(hz == 0 ? turns->turn[i].slot[j].distinct :
				hdr_nanoseconds(turns->turn[i].slot[j].cycles, hz)));
		json_array_append_new(json, list);
	}
	return json;
}

/* A list for each turn: of the streams of its side, by their numbers. */
static json_t *
streams_json(const struct turns_result *turns, size_t offset)
{
	json_t *json = json_array();
	unsigned int i, j;

	for (i = 0; i < turns->turns; i++) {
		const struct turn_stream *stream = &turns->stream[i * turns->most_streams];
		uint32_t streams = turns->side[turns->turn[i].side].streams;
		json_t *list = json_array();

		for (j = 0; streams != 0; streams &= streams - 1, j++) {
			const char *counts = (const char *)&stream[j];

			json_array_append_new(list,
				integer(*(const uint64_t *)(const void *)(counts + offset)));
		}
		json_array_append_new(json, list);
	}
	return json;
}

static json_t *
turns_json(const struct turns_result *turns, const struct trial_result *trial)
{
	uint64_t hz = trial->tsc_hz;
	json_t *json = json_object(), *side = json_array(), *began = json_array();
	json_t *ended = json_array(), *first = json_array(), *drained = json_array();
	unsigned int i;

	for (i = 0; i < turns->turns; i++) {
		const struct turn *turn = &turns->turn[i];

		json_array_append_new(side, integer(turn->side));
		json_array_append_new(began,
			integer(hdr_nanoseconds(turn->began_tsc - trial->started_tsc, hz)));
		json_array_append_new(ended,
			integer(hdr_nanoseconds(turn->ended_tsc - trial->started_tsc, hz)));
		json_array_append_new(first, turn->first_tsc == 0 ? json_null() :
			integer(hdr_nanoseconds(turn->first_tsc - turn->began_tsc, hz)));
		json_array_append_new(drained, integer(turn->is_drained));
	}
	message_count(json, "count", turns->turns);
	json_object_set_new(json, "side", side);
	json_object_set_new(json, "began_ns", began);
	json_object_set_new(json, "ended_ns", ended);
	json_object_set_new(json, "first_ns", first);
	json_object_set_new(json, "drained", drained);
	set_columns(json, turns, hz, columns, COUNT(columns));
	json_object_set_new(json, "slots_ns", slots_json(turns, hz));
	json_object_set_new(json, "slots_distinct", slots_json(turns, 0));
	json_object_set_new(json, "streams_sent",
		streams_json(turns, offsetof(struct turn_stream, sent)));
	json_object_set_new(json, "streams_distinct",
		streams_json(turns, offsetof(struct turn_stream, distinct)));
	if (turns->devices_told)
		set_columns(json, turns, hz, with_devices, COUNT(with_devices));
	if (!turns->flat_out)
		set_columns(json, turns, hz, with_rate, COUNT(with_rate));
	if (turns->with_rings)
		set_columns(json, turns, hz, with_rings, COUNT(with_rings));
	if (!turns->with_latency)
		return json;
	set_columns(json, turns, hz, with_latency, COUNT(with_latency));
	json_object_set_new(json, "latency_p50_ns",
		latency_json(turns, hz, offsetof(struct turn, median)));
	json_object_set_new(json, "latency_p99_ns",
		latency_json(turns, hz, offsetof(struct turn, p99)));
	return json;
}

static json_t *
bits_json(uint32_t bits)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < 32; i++)
		if (bits >> i & 1)
			json_array_append_new(list, json_integer(i));
	return list;
}

static void
add(struct stream_result *sum, const struct stream_result *stream)
{
	sum->sent += stream->sent;
	sum->received += stream->received;
	sum->distinct += stream->distinct;
	sum->duplicates += stream->duplicates;
	sum->reordered += stream->reordered;
	sum->beyond_window += stream->beyond_window;
	sum->corrupted += stream->corrupted;
	sum->misrouted += stream->misrouted;
	sum->wrong_size += stream->wrong_size;
}

/* All that a side has counted, the time around what was measured included. */
static json_t *
side_json(const struct turns_result *turns, unsigned int side, const struct trial_result *trial)
{
	struct stream_result sum = { 0 };
	json_t *json = json_object();
	uint64_t foreign = 0, stale = 0, unreadable = 0;
	unsigned int i;

	for (i = 0; i < trial->streams; i++)
		if (turns->side[side].streams >> i & 1)
			add(&sum, &trial->stream[i]);
	for (i = 0; i < trial->ports; i++) {
		if ((turns->side[side].ports >> i & 1) == 0)
			continue;
		foreign += trial->port[i].foreign;
		stale += trial->port[i].stale;
		unreadable += trial->port[i].corrupted;
	}
	message_count(json, "side", side);
	json_object_set_new(json, "streams", bits_json(turns->side[side].streams));
	json_object_set_new(json, "ports", bits_json(turns->side[side].ports));
	message_count(json, "sent", sum.sent);
	message_count(json, "received", sum.received);
	message_count(json, "distinct", sum.distinct);
	message_count(json, "lost", sum.sent - sum.distinct);
	message_count(json, "duplicates", sum.duplicates);
	message_count(json, "reordered", sum.reordered);
	message_count(json, "beyond_window", sum.beyond_window);
	message_count(json, "corrupted", sum.corrupted);
	message_count(json, "misrouted", sum.misrouted);
	message_count(json, "wrong_size", sum.wrong_size);
	message_count(json, "foreign", foreign);
	message_count(json, "stale", stale);
	message_count(json, "unreadable", unreadable);
	message_count(json, "elsewhere", turns->side[side].elsewhere);
	if (turns->side[side].latency != NULL)
		json_object_set_new(json, "latency",
			result_latency(turns->side[side].latency, trial->tsc_hz));
	return json;
}

json_t *
result_turns(const struct session *session)
{
	static const char *const ends[] = {
		[TURNS_COMPLETE] = "complete",
		[TURNS_STOPPED] = "stopped",
		[TURNS_PROCESS_ENDED] = "process-ended",
		[TURNS_WORKER_LOST] = "worker-lost",
	};
	const struct turns_result *turns = engine_turns_result(session->engine);
	const struct trial_result *trial = engine_result(session->engine);
	json_t *json = json_object(), *sides = json_array();
	unsigned int i;

	message_count(json, "number", session->pending.request.number);
	json_object_set_new(json, "end", json_string(ends[turns->end]));
	if (turns->end == TURNS_PROCESS_ENDED) {
		message_count(json, "ended_side", turns->ended_side);
		message_count(json, "ended_process", (uint64_t)turns->ended_process);
	}
	json_object_set_new(json, "settled", json_boolean(trial->settled));
	message_count(json, "tsc_hz", trial->tsc_hz);
	if (trial->tsc_hz_meanwhile != 0)
		message_count(json, "tsc_hz_meanwhile", trial->tsc_hz_meanwhile);
	message_count(json, "started_unix_ns", trial->started_unix_ns);
	message_count(json, "elapsed_ns",
		hdr_nanoseconds(trial->ended_tsc - trial->started_tsc, trial->tsc_hz));
	json_object_set_new(json, "turns", turns_json(turns, trial));
	for (i = 0; i < turns->sides; i++)
		json_array_append_new(sides, side_json(turns, i, trial));
	json_object_set_new(json, "sides", sides);
	json_object_set_new(json, "ports", result_ports(trial));
	return json;
}
