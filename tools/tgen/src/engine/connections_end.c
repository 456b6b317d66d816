/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* How connections end: what was counted, and what is given back. */

#include <stdlib.h>

#include "captures.h"
#include "collect.h"
#include "collect_latency.h"
#include "collect_slots.h"
#include "connections_end.h"
#include "connections_worker.h"
#include "slots_worker.h"
#include "workers.h"

/* From the begin to a moment that may never have been. */
static uint64_t
since_begin(const struct worker *worker, uint64_t tsc)
{
	return (int64_t)(tsc - worker->started_tsc) > 0 && tsc != 0 ? tsc - worker->started_tsc : 0;
}

static struct end_counts
between(const struct end_counts *begin, const struct end_counts *end)
{
	return (struct end_counts){
		.sent = end->sent - begin->sent, .received = end->received - begin->received,
		.damaged = end->damaged - begin->damaged, .stray = end->stray - begin->stray,
		.repeated = end->repeated - begin->repeated,
		.disordered = end->disordered - begin->disordered,
		.no_room = end->no_room - begin->no_room,
	};
}

/* Of requests by a clock; where that was stopped, up to then. */
static void
fill_asking(struct engine *engine)
{
	const struct connections *connections = engine->connections;
	const struct asking *asking = &connections->client.asking;
	const struct worker *worker = engine->worker[0];
	const struct connections_moment *begun = &connections->asking_begun;
	struct connections_moment heard = connections->asking_heard;
	struct connections_result *result = &engine->connections_result;

	result->has_asking = connections->request.asking.intended != 0;
	result->asking = (struct asking_result){
		.intended = connections->request.asking.intended, .counts = &asking->counts,
		.unasked = connections->request.asking.intended - asking_issued(asking),
	};
	if (begun->tsc == 0)
		return;
	if (heard.tsc == 0)
		heard = (struct connections_moment){
			.tsc = worker->ended_tsc, .busy_cycles = worker->busy_cycles,
			.client = connections->client.end.counts,
			.server = connections->server.end.counts,
		};
	if (asking->counts.last_asked_tsc != 0)
		result->asking.asking = asking->counts.last_asked_tsc - begun->tsc;
	if (asking->counts.last_replied_tsc != 0)
		result->asking.replying = asking->counts.last_replied_tsc - begun->tsc;
	result->asking.elapsed = heard.tsc - begun->tsc;
	result->asking.paused_cycles = connections->asking_paused_cycles;
	result->asking.busy_cycles = heard.busy_cycles - begun->busy_cycles;
	result->asking.client_end = between(&begun->client, &heard.client);
	result->asking.server_end = between(&begun->server, &heard.server);
}

static void
fill_result(struct engine *engine)
{
	const struct connections *connections = engine->connections;
	const struct worker *worker = engine->worker[0];
	struct connections_result *result = &engine->connections_result;

	*result = (struct connections_result){
		.has_client = connections->request.client.is_here,
		.has_server = connections->request.server.is_here,
		.settled = connections->settled,
		.begin_port = (uint16_t)(connections->request.client.first.port +
			connections->request.turned),
		.intended = connections->request.intended,
		.unsent = client_unsent(&connections->client),
		.launching = since_begin(worker, connections->client.counts.last_launched_tsc),
		.completing = since_begin(worker, connections->client.counts.last_completed_tsc),
		.client = &connections->client.counts, .server = &connections->server.counts,
		.client_end = &connections->client.end.counts,
		.server_end = &connections->server.end.counts,
		.handshake = connections->histogram[0], .first = connections->histogram[1],
		.response = connections->histogram[2],
	};
	fill_asking(engine);
	engine->flooded += connections->flood.counts.sent;
	if (connections->request.flood.rate_mfps != 0)
		result->flood = &connections->flood.counts;
	if (worker->slots == NULL || worker->started_tsc == 0)
		return;
	result->slots = &connections->slots;
	result->away = worker->slots->away;
	result->slots_used = slot_at(&connections->slots.grid, worker->ended_tsc) + 1;
}

/* Ports and workers are told of as after a trial. */
static void
fill_trial(struct engine *engine)
{
	const struct connections *connections = engine->connections;
	const struct worker *worker = engine->worker[0];
	struct trial_result *trial = &engine->result;
	struct clock_moment now;
	unsigned int i;

	trial->streams = 0;
	trial->slots = NULL;
	trial->events = NULL;
	collect_machine(engine);
	trial->worker[0].paused_cycles = worker->paused_cycles;
	for (i = 0; i < connections->ports; i++) {
		const struct connections_port *port = &connections->port[i];

		trial->port[port->number].transmit_retries += port->retries;
		trial->port[port->number].no_buffers += port->no_buffers;
	}
	if (worker->started_tsc != 0) {
		trial->started_unix_ns += clock_later_ns(trial->started_tsc, worker->started_tsc,
			engine->tsc_hz);
		trial->started_tsc = worker->started_tsc;
	}
	trial->ended_tsc = worker->started_tsc != 0 ? worker->ended_tsc : trial->started_tsc;
	trial->settled = connections->settled;
	clock_read(&now);
	trial->tsc_hz_meanwhile = clock_hz(&engine->begun, &now);
	captures_finish(engine);
}

void
connections_poll(struct engine *engine)
{
	if (engine->phase == PHASE_CONNECTIONS) {
		if (worker_state(engine->worker[0]) != STATE_SENT)
			return;
		engine_dismiss(engine);
		engine->phase = PHASE_CONNECTIONS_PARKING;
	}
	if (!engine_parked(engine))
		return;
	fill_trial(engine);
	fill_result(engine);
	engine->phase = PHASE_NONE;
	engine->state = ENGINE_DONE;
}

void
connections_stop(struct engine *engine)
{
	engine_dismiss(engine);
	engine->phase = PHASE_CONNECTIONS_PARKING;
}

void
connections_free(struct engine *engine)
{
	struct connections *connections = engine->connections;
	unsigned int i;

	if (connections == NULL)
		return;
	client_destroy(&connections->client);
	server_destroy(&connections->server);
	content_destroy(&connections->question);
	content_destroy(&connections->response);
	for (i = 0; i < 3; i++)
		collect_drop_histogram(&connections->histogram[i]);
	free(connections->slots.launched); /* and with it all others */
	free(connections);
	engine->connections = NULL;
}
