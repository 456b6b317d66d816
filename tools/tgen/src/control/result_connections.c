/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Connections as JSON: what became of each, at both ends. */

#include "hdr.h"
#include "result.h"
#include "result_histogram.h"
#include "wide.h"

#define MILLION 1000000

static void
set_end(json_t *json, const struct end_counts *end)
{
	message_count(json, "segments_sent", end->sent);
	message_count(json, "segments_received", end->received);
	message_count(json, "damaged", end->damaged);
	message_count(json, "stray", end->stray);
	message_count(json, "repeated", end->repeated);
	message_count(json, "disordered", end->disordered);
	message_count(json, "no_room", end->no_room);
}

static json_t *
asking_json(const struct connections_result *found, uint64_t tsc_hz)
{
	const struct asking_result *asking = &found->asking;
	const struct asking_counts *counts = asking->counts;
	json_t *json = json_object(), *client = json_object(), *server = json_object();

	message_count(json, "intended", asking->intended);
	message_count(json, "unasked", asking->unasked);
	message_count(json, "asked", counts->asked);
	message_count(json, "waiting", counts->waiting);
	message_count(json, "gone", counts->gone);
	message_count(json, "replied", counts->replied);
	if (asking->asking != 0)
		message_count(json, "asking_ns", hdr_nanoseconds(asking->asking, tsc_hz));
	if (asking->replying != 0)
		message_count(json, "replying_ns", hdr_nanoseconds(asking->replying, tsc_hz));
	message_count(json, "elapsed_ns", hdr_nanoseconds(asking->elapsed, tsc_hz));
	message_count(json, "paused_ns", hdr_nanoseconds(asking->paused_cycles, tsc_hz));
	message_count(json, "busy_ppm", asking->elapsed == 0 ? 0 :
		(uint64_t)((uint128_t)asking->busy_cycles * MILLION / asking->elapsed));
	set_end(client, &asking->client_end);
	json_object_set_new(json, "client", client);
	set_end(server, &asking->server_end);
	json_object_set_new(json, "server", server);
	return json;
}

static json_t *
client_json(const struct connections_result *found, uint64_t tsc_hz)
{
	static const char *const outcomes[CLIENT_OUTCOMES] = {
		[CLIENT_COMPLETED] = "completed",
		[CLIENT_REFUSED] = "refused",
		[CLIENT_NO_ANSWER] = "no_answer",
		[CLIENT_MISANSWERED] = "misanswered",
		[CLIENT_GIVEN_UP] = "given_up",
		[CLIENT_RESET] = "reset",
		[CLIENT_NO_RESPONSE] = "no_response",
		[CLIENT_WRONG_PAYLOAD] = "wrong_payload",
		[CLIENT_NOT_CLOSED] = "not_closed",
		[CLIENT_UNFINISHED] = "unfinished",
	};
	const struct client_counts *client = found->client;
	json_t *json = json_object();
	unsigned int i;

	message_count(json, "begin_port", found->begin_port);
	message_count(json, "intended", found->intended);
	message_count(json, "unsent", found->unsent);
	message_count(json, "launched", client->launched);
	message_count(json, "answered", client->answered);
	for (i = 0; i < CLIENT_OUTCOMES; i++)
		message_count(json, outcomes[i], client->outcome[i]);
	if (found->launching != 0)
		message_count(json, "launching_ns", hdr_nanoseconds(found->launching, tsc_hz));
	if (found->completing != 0)
		message_count(json, "completing_ns", hdr_nanoseconds(found->completing, tsc_hz));
	message_count(json, "repeated_syns", client->repeated_syns);
	message_count(json, "misanswers", client->misanswers);
	message_count(json, "requests", client->requests);
	message_count(json, "responses", client->responses);
	message_count(json, "response_bytes", client->response_bytes);
	message_count(json, "most_established", client->most_established);
	message_count(json, "no_port", client->no_port);
	set_end(json, found->client_end);
	json_object_set_new(json, "handshake", result_histogram(found->handshake, tsc_hz));
	json_object_set_new(json, "first_response", result_histogram(found->first, tsc_hz));
	json_object_set_new(json, "response", result_histogram(found->response, tsc_hz));
	if (found->has_asking)
		json_object_set_new(json, "asking", asking_json(found, tsc_hz));
	return json;
}

static json_t *
server_json(const struct connections_result *found)
{
	static const char *const outcomes[SERVER_OUTCOMES] = {
		[SERVER_CLOSED] = "closed",
		[SERVER_HALF_OPEN] = "half_open",
		[SERVER_RESET] = "reset",
		[SERVER_WRONG_PAYLOAD] = "wrong_payload",
		[SERVER_NOT_HEARD] = "not_heard",
		[SERVER_IDLE] = "idle",
		[SERVER_NOT_CLOSED] = "not_closed",
		[SERVER_LEFT] = "left",
	};
	const struct server_counts *server = found->server;
	json_t *json = json_object();
	unsigned int i;

	message_count(json, "accepted", server->accepted);
	message_count(json, "full", server->full);
	message_count(json, "flooded", server->flooded);
	message_count(json, "established", server->established);
	for (i = 0; i < SERVER_OUTCOMES; i++)
		message_count(json, outcomes[i], server->outcome[i]);
	message_count(json, "requests", server->requests);
	message_count(json, "responses", server->responses);
	message_count(json, "request_bytes", server->request_bytes);
	message_count(json, "most_connections", server->most);
	set_end(json, found->server_end);
	return json;
}

static void
set_lane(json_t *json, const char *name, const uint32_t *lane, uint32_t count)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(list, json_integer((json_int_t)lane[i]));
	json_object_set_new(json, name, list);
}

/* A list for each quantity, with an element for each slot. */
static json_t *
slots_json(const struct connections_result *found, uint64_t tsc_hz)
{
	const struct client_slots *slots = found->slots;
	json_t *json = json_object(), *away = json_array();
	uint32_t i;

	message_count(json, "slot_ns", hdr_nanoseconds(UINT64_C(1) << slots->grid.shift, tsc_hz));
	message_count(json, "slot_cycles", UINT64_C(1) << slots->grid.shift);
	message_count(json, "count", found->slots_used);
	set_lane(json, "launched", slots->launched, found->slots_used);
	set_lane(json, "answered", slots->answered, found->slots_used);
	set_lane(json, "completed", slots->completed, found->slots_used);
	set_lane(json, "established", slots->established, found->slots_used);
	set_lane(json, "heard", slots->heard, found->slots_used);
	if (found->has_asking) {
		set_lane(json, "asked", slots->asked, found->slots_used);
		set_lane(json, "replied", slots->replied, found->slots_used);
	}
	for (i = 0; i < found->slots_used; i++)
		json_array_append_new(away,
			json_integer((json_int_t)hdr_nanoseconds(found->away[i], tsc_hz)));
	json_object_set_new(json, "away_ns", away);
	return json;
}

json_t *
result_connections(const struct session *session)
{
	const struct connections_result *found = engine_connections_result(session->engine);
	const struct trial_result *trial = engine_result(session->engine);
	json_t *json = json_object();

	json_object_set_new(json, "stopped_early", json_boolean(trial->stopped_early));
	json_object_set_new(json, "settled", json_boolean(found->settled));
	message_count(json, "tsc_hz", trial->tsc_hz);
	if (trial->tsc_hz_meanwhile != 0)
		message_count(json, "tsc_hz_meanwhile", trial->tsc_hz_meanwhile);
	message_count(json, "started_unix_ns", trial->started_unix_ns);
	message_count(json, "elapsed_ns",
		hdr_nanoseconds(trial->ended_tsc - trial->started_tsc, trial->tsc_hz));
	if (found->has_client)
		json_object_set_new(json, "client", client_json(found, trial->tsc_hz));
	if (found->has_server)
		json_object_set_new(json, "server", server_json(found));
	if (found->flood != NULL) {
		json_t *flood = json_object();

		message_count(flood, "sent", found->flood->sent);
		message_count(flood, "answered", found->flood->answered);
		message_count(flood, "refused", found->flood->refused);
		json_object_set_new(json, "flood", flood);
	}
	json_object_set_new(json, "ports", result_ports(trial));
	json_object_set_new(json, "workers", result_workers(trial));
	if (found->slots != NULL)
		json_object_set_new(json, "slots", slots_json(found, trial->tsc_hz));
	result_set_capture_failure(json, trial);
	return json;
}
