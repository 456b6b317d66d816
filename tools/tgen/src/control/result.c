/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <stdio.h>
#include <stdlib.h>

#include "hdr.h"
#include "payload.h"
#include "result.h"
#include "result_histogram.h"
#include "result_slots.h"
#include "result_stream.h"

#define MILLION 1000000

__extension__ typedef unsigned __int128 uint128;

static void
set_where(json_t *json, const struct session *session, unsigned int i)
{
	const struct stream *stream = &session->traffic.stream[i];

	message_count(json, "stream", i);
	message_count(json, "transmit_port", stream->transmit_port);
	message_count(json, "receive_port", stream->receive_port);
}

static void
set_sent(json_t *json, const struct stream_result *stream, uint64_t asked, uint64_t tsc_hz)
{
	/* A stream that only time bounds has no number to fall short of. */
	if (asked != TGEN_48_BITS) {
		message_count(json, "intended", stream->intended);
		message_count(json, "unsent", stream->intended - stream->sent);
		message_count(json, "refused", stream->refused);
	}
	message_count(json, "sent", stream->sent);
	message_count(json, "sent_bytes", stream->sent_bytes);
	if (stream->sent != 0)
		message_count(json, "sending_ns",
			hdr_nanoseconds(stream->last_sent_tsc - stream->first_sent_tsc, tsc_hz));
}

static json_t *
arrived_json(const struct stream_result *stream, unsigned int ports)
{
	json_t *json = json_object();
	char port[16];
	unsigned int i;

	for (i = 0; i < ports; i++) {
		snprintf(port, sizeof(port), "%u", i);
		if (stream->arrived[i] != 0)
			message_count(json, port, stream->arrived[i]);
	}
	return json;
}

static void
set_received(json_t *json, const struct stream_result *stream, unsigned int ports, uint64_t hz)
{
	message_count(json, "received", stream->received);
	message_count(json, "received_bytes", stream->received_bytes);
	json_object_set_new(json, "arrived", arrived_json(stream, ports));
	message_count(json, "distinct", stream->distinct);
	message_count(json, "lost", stream->sent - stream->unmarked - stream->distinct);
	if (stream->replays) {
		message_count(json, "unmarked", stream->unmarked);
		message_count(json, "unmarked_received", stream->unmarked_received);
	}
	message_count(json, "duplicates", stream->duplicates);
	/* The flows of a file are not told apart, and queues are by flow. */
	if (!stream->replays || !stream->several_queues) {
		message_count(json, "reordered", stream->reordered);
		message_count(json, "reorder_extent", stream->reorder_extent);
	}
	message_count(json, "beyond_window", stream->beyond_window);
	message_count(json, "corrupted", stream->corrupted);
	message_count(json, "corrupted_bytes", stream->corrupted_bytes);
	message_count(json, "misrouted", stream->misrouted);
	message_count(json, "misrouted_bytes", stream->misrouted_bytes);
	message_count(json, "wrong_size", stream->wrong_size);
	if (stream->last_arrival != 0)
		message_count(json, "receiving_ns",
			hdr_nanoseconds(stream->last_arrival - stream->first_arrival, hz));
	if (stream->longest_silence != 0)
		message_count(json, "longest_silence_ns",
			hdr_nanoseconds(stream->longest_silence, hz));
}

static json_t *
streams_json(const struct session *session, const struct trial_result *trial)
{
	const struct trial_request *request = &session->pending.request;
	const struct stream_result *stream;
	json_t *list = json_array(), *json;
	unsigned int i;

	for (i = 0; i < trial->streams; i++) {
		stream = &trial->stream[i];
		json = json_object();
		set_where(json, session, i);
		set_sent(json, stream, request->frames[i], trial->tsc_hz);
		set_received(json, stream, trial->ports, trial->tsc_hz);
		result_set_last_loss(json, stream, trial);
		result_set_steps(json, stream, trial);
		result_set_latency(json, stream, request, trial);
		json_array_append_new(list, json);
	}
	return list;
}

json_t *
result_ports(const struct trial_result *trial)
{
	const struct port_result *port;
	json_t *list = json_array(), *json;
	unsigned int i;

	for (i = 0; i < trial->ports; i++) {
		port = &trial->port[i];
		json = json_object();
		message_count(json, "port", i);
		if (!port->counts_unmarked)
			message_count(json, "foreign", port->foreign);
		message_count(json, "answered", port->answered);
		message_count(json, "stale", port->stale);
		message_count(json, "corrupted", port->corrupted);
		message_count(json, "transmit_retries", port->transmit_retries);
		message_count(json, "held_back", port->held_back);
		message_count(json, "receive_polls", port->receive_polls);
		message_count(json, "receive_full_polls", port->receive_full_polls);
		message_count(json, "receive_behind_ns",
			trial->tsc_hz == 0 ? 0 : hdr_nanoseconds(port->receive_behind_cycles, trial->tsc_hz));
		message_count(json, "no_buffers", port->no_buffers);
		if (port->device_told) {
			message_count(json, "missed", port->missed);
			message_count(json, "device_errors", port->device_errors);
		}
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *
worker_json(const struct worker_result *worker, const struct trial_result *trial)
{
	uint64_t hz = trial->tsc_hz;
	json_t *json = json_object();

	message_count(json, "lcore", worker->lcore);
	if (worker->cpu >= 0)
		message_count(json, "cpu", (uint64_t)worker->cpu);
	message_count(json, "loops", worker->loops);
	message_count(json, "busy_ns", hdr_nanoseconds(worker->busy_cycles, hz));
	message_count(json, "total_ns", hdr_nanoseconds(worker->total_cycles, hz));
	if (worker->total_cycles != 0)
		message_count(json, "busy_ppm", (uint64_t)((uint128)worker->busy_cycles *
			MILLION / worker->total_cycles));
	if (worker->longest_gap_cycles != 0) {
		message_count(json, "longest_gap_ns",
			hdr_nanoseconds(worker->longest_gap_cycles, hz));
		message_count(json, "longest_gap_unix_ns", trial->started_unix_ns +
			hdr_nanoseconds(worker->longest_gap_tsc - trial->started_tsc, hz));
	}
	message_count(json, "gaps_over_10us", worker->gaps_over_10us);
	message_count(json, "paused_ns", hdr_nanoseconds(worker->paused_cycles, hz));
	if (worker->departure_error != NULL)
		json_object_set_new(json, "departure_error",
			result_histogram(worker->departure_error, hz));
	return json;
}

json_t *
result_workers(const struct trial_result *trial)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < trial->workers; i++)
		json_array_append_new(list, worker_json(&trial->worker[i], trial));
	return list;
}

void
result_set_capture_failure(json_t *json, const struct trial_result *trial)
{
	const struct error *failure = &trial->capture_failure;

	if (failure->code != NULL)
		json_object_set_new(json, "capture_error", json_pack("{s:s, s:o}",
			"code", failure->code, "message", message_string(failure->text)));
}

json_t *
result_trial(const struct session *session)
{
	const struct trial_result *trial = engine_result(session->engine);
	json_t *json = json_object();

	message_count(json, "number", session->pending.request.number);
	json_object_set_new(json, "stopped_early", json_boolean(trial->stopped_early));
	json_object_set_new(json, "settled", json_boolean(trial->settled));
	message_count(json, "tsc_hz", trial->tsc_hz);
	if (trial->tsc_hz_meanwhile != 0)
		message_count(json, "tsc_hz_meanwhile", trial->tsc_hz_meanwhile);
	message_count(json, "started_unix_ns", trial->started_unix_ns);
	message_count(json, "elapsed_ns",
		hdr_nanoseconds(trial->ended_tsc - trial->started_tsc, trial->tsc_hz));
	json_object_set_new(json, "streams", streams_json(session, trial));
	json_object_set_new(json, "ports", result_ports(trial));
	json_object_set_new(json, "workers", result_workers(trial));
	result_set_slots(json, trial);
	result_set_capture_failure(json, trial);
	return json;
}

json_t *
result_probe(const struct session *session)
{
	const struct trial_result *trial = engine_result(session->engine);
	json_t *list = json_array(), *json;
	unsigned int i;

	for (i = 0; i < trial->streams; i++) {
		json = json_object();
		set_where(json, session, i);
		set_sent(json, &trial->stream[i], trial->stream[i].intended, trial->tsc_hz);
		set_received(json, &trial->stream[i], trial->ports, trial->tsc_hz);
		json_array_append_new(list, json);
	}
	json = json_pack("{s:b, s:o, s:o}", "settled", (int)trial->settled, "streams", list,
		"ports", result_ports(trial));
	result_set_capture_failure(json, trial);
	return json;
}

json_t *
result_stalls(const struct session *session)
{
	const struct process_facts *facts = session->facts;
	const struct histogram *gaps;
	json_t *list = json_array(), *json;
	unsigned int i;

	for (i = 0; i < facts->workers; i++) {
		gaps = engine_stall_gaps(session->engine, i);
		if (gaps == NULL)
			continue;
		json = json_object();
		message_count(json, "lcore", facts->worker[i].lcore);
		if (facts->worker[i].cpu >= 0)
			message_count(json, "cpu", (uint64_t)facts->worker[i].cpu);
		json_object_set_new(json, "gaps", result_histogram(gaps, facts->tsc_hz));
		json_array_append_new(list, json);
	}
	return json_pack("{s:o}", "workers", list);
}

json_t *
result_learn(const struct session *session, struct problem *problem)
{
	struct error error = { 0 };
	unsigned int rounds;

	if (engine_learned(session->engine, &rounds, &error) == 0)
		return json_pack("{s:i}", "rounds", (int)rounds);
	problem_set(problem, "", error.code, "%s", error.text);
	return NULL;
}
