/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Connections, as the main lcore prepares them: its worker is a client, a server or both. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bytes.h"
#include "captures.h"
#include "collect.h"
#include "collect_latency.h"
#include "collect_slots.h"
#include "connections_end.h"
#include "connections_worker.h"
#include "slots_worker.h"
#include "trial.h"
#include "wide.h"
#include "workers.h"

#define SECOND_NS UINT64_C(1000000000)
#define LONGEST_NS (UINT64_C(1) << 60) /* of which anybody needs to know the slots of time */
#define LANES 7

static int
check(const struct engine *engine, struct error *error)
{
	int ret = engine_check_idle(engine, error);

	if (ret != 0)
		return ret;
	if (engine->workers != 1)
		return error_set(error, -EINVAL, "bad-value",
			"connections are for one worker, which is both ends of them; there are %u",
			engine->workers);
	return 0;
}

static struct connections_port *
port_of(struct engine *engine, struct connections *connections, uint16_t number)
{
	struct worker *worker = engine->worker[0];
	struct connections_port *port;
	unsigned int i;

	for (i = 0; i < connections->ports; i++)
		if (connections->port[i].number == number)
			return &connections->port[i];
	port = &connections->port[connections->ports++];
	port->number = number;
	port->device = engine->port[number].id;
	port->capture = engine->capture[number].sent;
	for (i = 0; i < worker->receivers; i++)
		if (worker->receiver[i]->port == number)
			port->receiver[port->receivers++] = worker->receiver[i];
	return port;
}

/* Its hosts are asked for, too. */
static int
add_end(struct engine *engine, struct connections *connections, const struct connections_end *end,
	struct connections_port **found, struct error *error)
{
	struct port *device = &engine->port[end->port];
	struct connections_port *port = port_of(engine, connections, end->port);
	struct neighbour *hosts = &port->neighbours.neighbour[port->neighbours.count++];
	const struct segment longest = { .bytes = connections->request.most };

	*found = port;
	hosts->layer3 = LAYER3_IPV4;
	hosts->count = end->addresses;
	hosts->step = 1;
	bytes_put_32(hosts->ip, end->first.ip);
	memcpy(hosts->mac, end->macs.source, sizeof(hosts->mac));
	if (segment_frame_bytes(&longest) + TGEN_FCS > device->max_frame)
		return error_set(error, -EINVAL, "bad-value",
			"port %u has no room for segments of %u bytes: its frames have %u at most",
			end->port, connections->request.most, device->max_frame);
	port->short_pool = port_transmit_pool(device, PORT_SHORT, error);
	port->long_pool = port_transmit_pool(device, segment_frame_bytes(&longest), error);
	return port->short_pool == NULL || port->long_pool == NULL ? -ENOMEM : 0;
}

static struct end_plan
plan_of(const struct engine *engine, const struct connections_request *request,
	const struct connections_end *end)
{
	return (struct end_plan){
		.transport = request->transport, .macs = end->macs, .first = end->first, .addresses = end->addresses,
		.ports = end->ports, .most = request->most, .attempts = request->attempts,
		.repeat_cycles = engine_cycles(engine, request->repeat_ns),
		.patience_cycles = engine_cycles(engine, request->patience_ns),
		.tsc_hz = engine->tsc_hz,
	};
}

static int
create_client(struct engine *engine, struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	const struct client_plan plan = {
		.end = plan_of(engine, request, &request->client), .turned = request->turned,
		.target = request->target,
		.targets = request->targets, .requests = request->requests,
		.pause_cycles = engine_cycles(engine, request->pause_ns),
		.hold_cycles = engine_cycles(engine, request->hold_ns),
		.rate_mfps = request->rate_mfps, .intended = request->intended,
		.burst = request->burst,
		.asking = {
			.rate_mfps = request->asking.rate_mfps,
			.intended = request->asking.intended,
			.duration_cycles = connections->asking_cycles,
			.grace_cycles = connections->asking_cycles / GRACE_SHARE +
				engine->worker[0]->ten_us,
			.quiet_cycles = engine_cycles(engine, request->quiet_ns),
		},
	};
	struct output output = { .room = connections_room };
	struct connections_port *port;
	int ret = add_end(engine, connections, &request->client, &port, error);

	if (ret != 0)
		return ret;
	output.context = port;
	port->client = &connections->client;
	return client_create(&connections->client, &plan, &connections->question,
		&connections->response, &output, rte_rdtsc(), error);
}

/* It is where the client is, and goes to whom the client asks. */
static int
create_flood(struct engine *engine, struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	struct connections_end end = request->client;
	struct connections_port *port;
	int ret;

	end.first = request->flood.first;
	end.addresses = request->flood.addresses;
	ret = add_end(engine, connections, &end, &port, error);
	if (ret != 0)
		return ret;
	port->flood = &connections->flood;
	connections->flood = (struct flood){
		.plan = {
			.macs = end.macs, .first = end.first, .addresses = end.addresses,
			.ports = UINT32_C(65536) - end.first.port, .before = engine->flooded,
			.target = request->target,
			.targets = request->targets, .rate_mfps = request->flood.rate_mfps,
			.tsc_hz = engine->tsc_hz, .most = request->most, .burst = request->burst,
		},
		.output = { .context = port, .room = connections_room },
	};
	return 0;
}

static int
create_server(struct engine *engine, struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	struct server_plan plan = {
		.end = plan_of(engine, request, &request->server),
		/* What is kept over UDP may have been asked twice. */
		.capacity = request->transport == TRANSPORT_UDP ? 2 * request->capacity :
			request->capacity,
		.hold_cycles = engine_cycles(engine, request->hold_ns),
		.answers_flood = request->flood.is_answered,
	};
	struct output output = { .room = connections_room };
	struct connections_port *port;
	int ret = add_end(engine, connections, &request->server, &port, error);

	if (ret != 0)
		return ret;
	plan.end.attempts = server_attempts(&plan.end);
	plan.end.patience_cycles = engine_cycles(engine, request->idle_ns);
	output.context = port;
	port->server = &connections->server;
	return server_create(&connections->server, &plan, &connections->response,
		&connections->question, &output, rte_rdtsc(), error);
}

/* What is said is known to both ends only where both are here. */
static int
create_contents(struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	bool both = request->client.is_here && request->server.is_here;
	int ret = content_create(&connections->question, request->content, true,
		request->request_bytes, error);

	if (ret == 0)
		ret = content_create(&connections->response, request->content, false,
			request->response_bytes, error);
	connections->question.is_known = both || request->content == CONTENT_BYTES;
	connections->response.is_known = connections->question.is_known;
	return ret;
}

static int
create_histograms(struct engine *engine, struct connections *connections, struct error *error)
{
	struct client *client = &connections->client;
	bool ready = collect_clear_worker(engine->worker[0]);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		connections->histogram[i] = collect_histogram(NULL);
		ready &= connections->histogram[i] != NULL;
	}
	client->handshake = connections->histogram[0];
	client->first = connections->histogram[1];
	client->response = connections->histogram[2];
	client->lateness = engine->worker[0]->departure_error;
	return ready ? 0 : error_set(error, -ENOMEM, "no-memory", "no memory for histograms");
}

/* Until all is over where nothing has to be waited for; whatever comes later is in the last slot. */
static uint64_t
usual_ns(const struct connections_request *request)
{
	uint128_t begin_ns = (uint128_t)request->intended * 1000 * SECOND_NS / request->rate_mfps;

	if (request->duration_ns != 0 && begin_ns > request->duration_ns)
		begin_ns = request->duration_ns;
	if (begin_ns > LONGEST_NS)
		begin_ns = LONGEST_NS;
	return (uint64_t)begin_ns + request->hold_ns + (request->asking.intended == 0 ? 0 :
		(uint64_t)begin_ns + request->asking.duration_ns);
}

static int
create_slots(struct engine *engine, struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	struct client_slots *slots = &connections->slots;
	struct worker_slots *own;
	uint32_t *lanes, count;

	collect_free_slots(engine);
	if (request->slot_ns == 0 || !request->client.is_here)
		return 0;
	slot_grid_init(&slots->grid, engine_cycles(engine, request->slot_ns),
		engine_cycles(engine, usual_ns(request)), false);
	count = slots->grid.count;
	own = calloc(1, sizeof(*own) + count * sizeof(own->lane[0]));
	lanes = calloc(LANES * (size_t)count, sizeof(*lanes));
	engine->worker[0]->ready_slots = own;
	slots->launched = lanes;
	if (own == NULL || lanes == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u slots of time",
			count);
	own->grid = slots->grid;
	own->away = own->lane;
	slots->answered = lanes + count;
	slots->completed = lanes + 2 * (size_t)count;
	slots->established = lanes + 3 * (size_t)count;
	slots->asked = lanes + 4 * (size_t)count;
	slots->replied = lanes + 5 * (size_t)count;
	slots->heard = lanes + 6 * (size_t)count;
	connections->client.slots = slots;
	return 0;
}

static int
create(struct engine *engine, struct connections *connections, struct error *error)
{
	const struct connections_request *request = &connections->request;
	int ret = create_contents(connections, error);

	connections->asking_cycles = engine_cycles(engine, request->asking.duration_ns);
	if (ret == 0 && request->client.is_here)
		ret = create_client(engine, connections, error);
	if (ret == 0 && request->flood.rate_mfps != 0)
		ret = create_flood(engine, connections, error);
	if (ret == 0 && request->server.is_here)
		ret = create_server(engine, connections, error);
	if (ret == 0)
		ret = create_histograms(engine, connections, error);
	if (ret == 0)
		ret = create_slots(engine, connections, error);
	connections->duration_cycles = engine_cycles(engine, request->duration_ns);
	connections->drain_cycles = engine_cycles(engine, request->drain_ns);
	connections->quiet_cycles = engine_cycles(engine, request->quiet_ns);
	return ret;
}

/* Those that send streams have counted in the trial before, and do not now. */
static void
clear_senders(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->senders; i++) {
		engine->sender[i].retries = 0;
		engine->sender[i].no_buffers = 0;
		engine->sender[i].flight.held_back = 0;
	}
}

int
engine_connections(struct engine *engine, const struct connections_request *request,
	struct error *error)
{
	int ret = check(engine, error);
	unsigned int i;

	if (ret != 0)
		return ret;
	connections_free(engine);
	engine->connections = calloc(1, sizeof(*engine->connections));
	if (engine->connections == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for connections");
	engine->connections->request = *request;
	ret = create(engine, engine->connections, error);
	if (ret != 0)
		return ret;
	engine->worker[0]->connections = engine->connections;
	memset(&engine->request, 0, sizeof(engine->request));
	clear_senders(engine);
	captures_attach(engine);
	for (i = 0; i < engine->receivers; i++)
		engine->receiver[i].backlog_limit = RTE_MAX((uint64_t)PORT_BURST,
			(uint64_t)engine->port[engine->receiver[i].port].receive_ring / 2);
	ret = trial_launch(engine, COMMAND_CONNECTIONS, error);
	if (ret == 0)
		engine->phase = PHASE_CONNECTIONS;
	return ret;
}

const struct connections_result *
engine_connections_result(const struct engine *engine)
{
	return &engine->connections_result;
}
