/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Turns, as a controller asks for them. */

#include <string.h>

#include "payload.h"
#include "verbs.h"
#include "verbs_each.h"

#define MILLISECOND_NS UINT64_C(1000000)
#define TURN_NS (10 * MILLISECOND_NS)
#define TURN_LEAST_NS (MILLISECOND_NS / 10)
#define GUARD_NS (2 * MILLISECOND_NS)
#define SILENT_NS (MILLISECOND_NS / 20)
#define SILENT_MOST_NS MILLISECOND_NS
#define GAP_NS (MILLISECOND_NS / 100)
#define QUIET_NS (100 * MILLISECOND_NS)
#define DRAIN_NS (2 * SECOND_NS)
#define BURST_MOST 64
#define BURST_USUAL 32

static bool
read_streams(struct session *session, struct object *object, uint32_t *streams, uint32_t *taken)
{
	char list_path[MESSAGE_PATH], path[MESSAGE_PATH];
	json_t *list;
	size_t i;

	if (!object_list(object, "streams", 1, TGEN_MAX_STREAMS, &list))
		return false;
	object_path(object, "streams", list_path);
	for (i = 0; i < json_array_size(list); i++) {
		uint64_t stream = 0;

		element_path(list_path, i, path);
		if (!value_count(json_array_get(list, i), path, 0, session->traffic.streams - 1,
				&stream, object->problem))
			continue;
		if (*taken >> stream & 1)
			problem_set(object->problem, path, "bad-value",
				"stream %u is in two places", (unsigned int)stream);
		*streams |= UINT32_C(1) << stream;
		*taken |= UINT32_C(1) << stream;
	}
	return true;
}

static void
read_processes(struct object *object, struct turns_request *turns, unsigned int side)
{
	char list_path[MESSAGE_PATH], path[MESSAGE_PATH];
	json_t *list;
	size_t i;

	if (!object_list(object, "processes", 0, TURNS_MAX_PROCESSES, &list))
		return;
	object_path(object, "processes", list_path);
	for (i = 0; i < json_array_size(list); i++) {
		uint64_t process = 0;

		element_path(list_path, i, path);
		if (value_count(json_array_get(list, i), path, 1, INT32_MAX, &process,
				object->problem))
			turns->side[side].process[turns->side[side].processes++] =
				(int32_t)process;
	}
}

/* Who is not held empties a ring while it is filled; and whose frames are few on their way, fills none. */
static void
read_rings(struct object *object, struct turns_request *turns, unsigned int side)
{
	char path[MESSAGE_PATH];

	if (!object_flag(object, "rings", &turns->side[side].rings) || !turns->side[side].rings)
		return;
	object_path(object, "rings", path);
	if (turns->side[side].processes == 0)
		problem_set(object->problem, path, "bad-value",
			"rings are filled while a side is held, and this one has no processes");
	if (turns->side[side].in_flight != 0)
		problem_set(object->problem, path, "bad-value",
			"rings are filled, so in_flight bounds nothing");
}

static void
read_sides(struct session *session, struct object *request, struct turns_request *turns)
{
	char path[MESSAGE_PATH];
	uint64_t in_flight;
	uint32_t taken = 0;
	json_t *list;
	unsigned int i;

	if (!object_list(request, "sides", 2, TURNS_MAX_SIDES, &list)) {
		problem_set(request->problem, "sides", "missing-key", "who takes turns?");
		return;
	}
	turns->sides = (uint8_t)json_array_size(list);
	for (i = 0; i < turns->sides; i++) {
		struct object side;

		element_path("sides", i, path);
		object_begin(&side, json_array_get(list, i), path, request->problem);
		if (!read_streams(session, &side, &turns->side[i].streams, &taken))
			problem_set(request->problem, path, "missing-key",
				"which streams are for it?");
		read_processes(&side, turns, i);
		if (object_count(&side, "in_flight", 0, UINT32_MAX, &in_flight))
			turns->side[i].in_flight = (uint32_t)in_flight;
		turns->side[i].gap_ns = GAP_NS;
		object_count(&side, "gap_ns", GAP_NS, SECOND_NS, &turns->side[i].gap_ns);
		read_rings(&side, turns, i);
		object_end(&side);
	}
}

static void
read_order(struct object *request, struct turns_request *turns)
{
	char path[MESSAGE_PATH];
	json_t *list;
	size_t i;

	if (!object_list(request, "order", 1, TURNS_MAX, &list)) {
		problem_set(request->problem, "order", "missing-key", "whose turn is it, and when?");
		return;
	}
	turns->turns = (uint16_t)json_array_size(list);
	for (i = 0; i < turns->turns; i++) {
		uint64_t side = 0;

		element_path("order", i, path);
		if (value_count(json_array_get(list, i), path, 0,
				turns->sides > 0 ? turns->sides - 1 : 0, &side, request->problem))
			turns->order[i] = (uint8_t)side;
	}
}

/* Streams that are in no side are not sent. */
static void
read_loads(struct session *session, struct object *request, const struct turns_request *turns,
	struct trial_request *trial)
{
	unsigned int side, i;

	each_rate(session, request, trial->rate_mfps);
	for (side = 0; side < turns->sides; side++)
		for (i = 0; i < session->traffic.streams; i++) {
			if ((turns->side[side].streams >> i & 1) == 0)
				continue;
			trial->frames[i] = TGEN_48_BITS;
			trial->in_flight[i] = turns->side[side].in_flight;
			if (session->traffic.stream[i].replay[0] != '\0')
				problem_set(request->problem, "sides", "bad-value",
					"stream %u sends a file, which knows no turns", i);
		}
}

enum verb_outcome
verb_turns(struct session *session, struct object *request, json_t **result)
{
	struct trial_request trial = { .burst = BURST_USUAL };
	struct turns_request turns = {
		.turn_ns = TURN_NS, .guard_ns = GUARD_NS, .silent_ns = SILENT_NS,
	};
	struct pending *pending = &session->pending;
	struct error error = { 0 };
	uint64_t burst = BURST_USUAL;

	(void)result;
	if (!session->has_traffic) {
		problem_set(request->problem, "", "not-configured", "configure comes first");
		return VERB_FAILED;
	}
	read_sides(session, request, &turns);
	read_order(request, &turns);
	object_count(request, "turn_ns", TURN_LEAST_NS, SECOND_NS, &turns.turn_ns);
	object_count(request, "guard_ns", 0, SECOND_NS, &turns.guard_ns);
	object_count(request, "silent_ns", 0, SILENT_MOST_NS, &turns.silent_ns);
	object_flag(request, "latency", &turns.latency);
	object_count(request, "burst", 1, BURST_MOST, &burst);
	read_loads(session, request, &turns, &trial);
	trial.burst = (uint16_t)burst;
	trial.quiet_ns = QUIET_NS;
	trial.drain_ns = DRAIN_NS;
	rest_read(session, request, &trial);
	if (!request_end(request))
		return VERB_FAILED;
	trial.duration_ns = turns.turns * (turns.turn_ns + turns.guard_ns);
	if (engine_turns(session->engine, &trial, &turns, &error) < 0)
		return verb_refuse(request, &error);
	session->next_trial = (uint8_t)(trial.number + 1);
	pending->activity = ACTIVITY_TURNS;
	pending->wait = true;
	pending->request = trial;
	pending->started_ns = session->now_ns;
	return VERB_LATER;
}
