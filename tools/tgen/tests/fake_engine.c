/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * An engine without ports, DPDK or time: two ports joined back to back, and a trial that ends after
 * a few looks at it. It aborts when the control side breaks what engine.h says.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "engine.h"
#include "fake_engine.h"
#include "payload.h"
#include "roundtrip.h"

#define LOOKS 3

/* Of the answer that was asked for last; too large for each engine to have its own. */
static struct turn_stream turn_stream[TURNS_MAX * TGEN_MAX_STREAMS];

struct engine {
	enum engine_state state;
	bool is_trial;
	bool listens[2];
	unsigned int looks, rounds;
	struct traffic traffic;
	struct trial_request request;
	struct trial_result result;
	struct histogram histogram;
	struct slots slots;
	struct events events;
	struct turns_request turns;
	struct turns_result turns_result;
	struct turn turn[TURNS_MAX];
	struct connections_request connections;
	struct connections_result connections_result;
	struct asking_counts asking;
	struct client_slots client_slots;
};

static void
demand(bool holds)
{
	if (!holds)
		abort();
}

struct engine *
engine_create(const struct engine_options *options, struct error *error)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	(void)options;
	if (engine == NULL) {
		error_set(error, ENOMEM, "memory", "no memory");
		return NULL;
	}
	histogram_clear(&engine->histogram);
	histogram_add(&engine->histogram, 100);
	histogram_add(&engine->histogram, 3000);
	return engine;
}

void
engine_destroy(struct engine *engine)
{
	slots_destroy(&engine->slots);
	free(engine);
}

uint16_t
engine_ports(const struct engine *engine)
{
	(void)engine;
	return 2;
}

void
engine_port_facts(const struct engine *engine, uint16_t port, struct port_facts *facts)
{
	(void)engine;
	demand(port < 2);
	*facts = (struct port_facts){
		.id = port, .name = "fake", .driver = "f\xc3\xa4lschung \xff", .link_up = true,
		.link_mbps = 10000, .mtu = 1500, .receive_queues = 1, .transmit_queues = 1,
		.receive_ring = 1024, .transmit_ring = 1024, .receive_offloads = 5,
		.numa_node = -1, .has_virtio_features = port == 1, .virtio_features = 0x130008000,
	};
}

int
engine_configure(struct engine *engine, const struct traffic *traffic, struct error *error)
{
	unsigned int i;

	demand(engine->state != ENGINE_RUNNING);
	demand(traffic->streams >= 1 && traffic->streams <= TGEN_MAX_STREAMS);
	for (i = 0; i < traffic->streams; i++) {
		const struct stream *stream = &traffic->stream[i];

		demand(stream->id == i && stream->transmit_port < 2 && stream->receive_port < 2);
		demand(stream->workers >= 1 && stream->workers <= TGEN_MAX_WORKERS);
		demand(stream->flows.count >= 1 && stream->flows.count <= TGEN_MAX_FLOWS);
		if (stream->replay[0] != '\0') {
			demand(stream->replay[0] == '/' && stream->sizes == 0);
			continue;
		}
		demand(stream->sizes >= 1 && stream->sizes <= TGEN_MAX_SIZES);
		demand(stream->size[0] >= TGEN_MIN_FRAME && stream->size[0] <= TGEN_MAX_FRAME);
		demand(stream->headers.vlans <= 2 && stream->headers.mpls_labels <= 3);
		demand(stream->flows.variations <= TGEN_MAX_VARIATIONS);
	}
	if (traffic->stream[0].size[0] == FAKE_REFUSED_SIZE)
		return error_set(error, EINVAL, "refused", "the engine does not like this size");
	engine->traffic = *traffic;
	return 0;
}

/* Any file has these three frames, the last of them without a mark. */
const struct replay *
engine_replay(const struct engine *engine, unsigned int stream)
{
	static struct replay_frame frames[] = {
		{ .length = 60, .mark = 42 }, { .when_ns = 1000, .length = 60, .mark = 42 },
		{ .when_ns = 2000, .length = 60, .mark = REPLAY_UNMARKED },
	};
	static const struct replay replay = {
		.frames = 3, .unmarked = 1, .longest = 60, .shortest = 60, .sum = 192,
		.period_ns = 3000, .frame = frames,
	};

	return engine->traffic.stream[stream].replay[0] != '\0' ? &replay : NULL;
}

static void
begin(struct engine *engine, bool is_trial)
{
	demand(engine->state != ENGINE_RUNNING);
	engine->state = ENGINE_RUNNING;
	engine->is_trial = is_trial;
	engine->looks = 0;
}

int
engine_start(struct engine *engine, const struct trial_request *request, struct error *error)
{
	unsigned int i;

	demand(engine->traffic.streams > 0);
	demand(request->burst >= 1 && request->burst <= 64);
	demand(request->steps <= TGEN_MAX_STEPS);
	for (i = 0; i < request->steps * engine->traffic.streams; i++)
		demand(request->step[i % request->steps].rate_mfps[i / request->steps] != 0 &&
			request->step[i % request->steps].frames[i / request->steps] < TGEN_48_BITS);
	for (i = 0; i < TGEN_MAX_STREAMS; i++)
		demand(request->frames[i] <= TGEN_48_BITS &&
			(i < engine->traffic.streams || request->frames[i] == 0));
	if (request->burst == FAKE_REFUSED_BURST)
		return error_set(error, EIO, "refused", "the engine does not like this burst");
	engine->request = *request;
	begin(engine, true);
	return 0;
}

/* Of the first stream a frame was lost in slot 2, and the worker was away in slot 6. */
static void
fill_slots(struct engine *engine)
{
	struct trial_result *result = &engine->result;
	struct slots *slots = &engine->slots;
	struct slot_grid grid;

	slots_destroy(slots);
	slot_grid_init(&grid, engine->request.slot_ns * 2, UINT64_C(3000000000), true);
	grid.origin = result->started_tsc;
	demand(slots_create(slots, &grid, result->streams, &(struct error){ 0 }) == 0);
	slots_end(slots, result->ended_tsc);
	slots->stream[0][SLOT_SENT][2 % grid.count] = 5;
	slots->stream[0][SLOT_RECEIVED][2 % grid.count] = 4;
	slots->away[6 % grid.count] = 400000;
	memset(&engine->events, 0, sizeof(engine->events));
	events_note(&engine->events.of[EVENT_GAP], &(struct event){
		.tsc = result->started_tsc + 100000000, .cycles = 400000,
	});
	events_note(&engine->events.of[EVENT_MISSING], &(struct event){
		.tsc = result->started_tsc + 40000000, .departure = result->started_tsc + 30000000,
		.first = 7, .span = 2, .frames = 1,
	});
	result->slots = slots;
	result->events = &engine->events;
}

/* Two frames of the first step were not sent, and that was the last loss of the first stream. */
static void
fill_steps(const struct engine *engine, struct stream_result *stream, unsigned int index)
{
	unsigned int i;

	stream->steps = engine->request.steps;
	for (i = 0; i < stream->steps; i++)
		stream->step[i] = (struct step_result){
			.intended = engine->request.step[i].frames[index],
			.sent = engine->request.step[i].frames[index] - (i == 0 ? 2 : 0),
			.refused = i == 0, .due_tsc = 1000 + 2000 * i, .began_tsc = 2000 + 2000 * i,
		};
	if (stream->steps != 0 && index == 0)
		stream->last_loss_tsc = 6000;
}

static void
fill_latency(struct engine *engine, struct latency_result *latency)
{
	const struct trial_request *request = &engine->request;
	unsigned int i;

	*latency = (struct latency_result){
		.all = request->latency || request->latency_after_ns != 0 ?
			&engine->histogram : NULL,
		.variation = request->variation ? &engine->histogram : NULL,
		.first_frame = request->latency_after_ns != 0 ? 7 : UINT64_MAX,
		.first_tsc = 1000 + 2 * request->latency_after_ns, .first_latency = 100,
	};
	for (i = 0; i < request->latency_ranges; i++)
		latency->range[i] = &engine->histogram;
}

static void
fill_result(struct engine *engine)
{
	struct trial_result *result = &engine->result;
	unsigned int i;

	*result = (struct trial_result){
		.settled = true, .stopped_early = engine->looks < LOOKS, .tsc_hz = 2000000000,
		.started_tsc = 1000, .ended_tsc = 2000001000, .started_unix_ns = 1700000000,
		.streams = engine->traffic.streams, .ports = 2, .workers = 1,
		.port = { { .device_told = true, .missed = 3, .device_errors = 1 } },
	};
	for (i = 0; i < result->streams; i++) {
		struct stream_result *stream = &result->stream[i];
		const struct stream *asked = &engine->traffic.stream[i];

		stream->intended = engine->request.frames[i];
		stream->sent = stream->intended == TGEN_48_BITS ? 1000 : stream->intended;
		stream->replays = asked->replay[0] != '\0';
		stream->unmarked = stream->replays ? stream->sent / 3 : 0;
		stream->unmarked_received = stream->unmarked;
		stream->received = stream->distinct = stream->sent - stream->unmarked;
		stream->arrived[asked->receive_port] = stream->sent;
		fill_steps(engine, stream, i);
		fill_latency(engine, &stream->latency);
	}
	result->worker[0] = (struct worker_result){
		.lcore = 1, .cpu = 1, .loops = 10, .busy_cycles = 1, .total_cycles = 4,
		.longest_gap_cycles = 2000, .longest_gap_tsc = 3000,
		.departure_error = &engine->histogram,
	};
	if (engine->request.slot_ns != 0)
		fill_slots(engine);
}

enum engine_state
engine_poll(struct engine *engine)
{
	if (engine->state == ENGINE_RUNNING && ++engine->looks >= LOOKS) {
		engine->state = ENGINE_DONE;
		if (engine->is_trial)
			fill_result(engine);
	}
	return engine->state;
}

void
engine_live(const struct engine *engine, struct live *live)
{
	*live = (struct live){ .elapsed_ns = engine->looks, .stream = {
		{ .sent = 2, .received = 1, .lost = 1 },
		{ .sent = 5, .received = 2, .refused = 3, .lost_unknown = true },
	} };
}

const struct histogram *
engine_live_latency(struct engine *engine, unsigned int stream)
{
	demand(stream < engine->traffic.streams);
	return engine->request.latency ? &engine->histogram : NULL;
}

void
engine_stop(struct engine *engine)
{
	if (engine->state != ENGINE_RUNNING)
		return;
	engine->state = ENGINE_DONE;
	if (engine->is_trial)
		fill_result(engine);
}

const struct trial_result *
engine_result(const struct engine *engine)
{
	demand(engine->state == ENGINE_DONE);
	return &engine->result;
}

int
engine_turns(struct engine *engine, const struct trial_request *trial,
	const struct turns_request *request, struct error *error)
{
	uint32_t streams = 0;
	unsigned int i, j;

	demand(request->sides >= 2 && request->sides <= TURNS_MAX_SIDES);
	demand(request->turns >= 1 && request->turns <= TURNS_MAX);
	demand(request->turn_ns > 0);
	for (i = 0; i < request->turns; i++)
		demand(request->order[i] < request->sides);
	for (i = 0; i < request->sides; i++) {
		demand(request->side[i].streams != 0 && (request->side[i].streams & streams) == 0);
		streams |= request->side[i].streams;
		demand(request->side[i].gap_ns >= 10000 && request->side[i].gap_ns <= 1000000000);
		demand(request->side[i].processes <= TURNS_MAX_PROCESSES);
		for (j = 0; j < request->side[i].processes; j++) {
			demand(request->side[i].process[j] > 0);
			if (request->side[i].process[j] == FAKE_REFUSED_PROCESS)
				return error_set(error, ESRCH, "no-process", "there is none");
		}
	}
	demand(streams >> engine->traffic.streams == 0);
	for (i = 0; i < engine->traffic.streams; i++)
		demand(trial->frames[i] == (streams >> i & 1 ? TGEN_48_BITS : 0));
	engine->turns = *request;
	return engine_start(engine, trial, error);
}

/*
 * All but the last of them were whole; the second process of the last side ended. Streams with an odd
 * place in a side lose frames. Where latencies are asked for, devices tell nothing.
 */
const struct turns_result *
engine_turns_result(const struct engine *engine)
{
	struct engine *whole = (struct engine *)(uintptr_t)engine;
	const struct turns_request *request = &engine->turns;
	struct turns_result *result = &whole->turns_result;
	unsigned int i, j;

	demand(engine->state == ENGINE_DONE);
	*result = (struct turns_result){
		.end = engine->looks < LOOKS ? TURNS_STOPPED : TURNS_PROCESS_ENDED,
		.ended_side = request->sides - 1, .ended_process = 77, .sides = request->sides,
		.with_latency = request->latency, .turns = request->turns - 1, .turn = engine->turn,
		.devices_told = !request->latency, .stream = turn_stream,
		.most_streams = TGEN_MAX_STREAMS,
	};
	for (i = 0; i < engine->traffic.streams; i++)
		result->flat_out |= engine->request.rate_mfps[i] == 0;
	for (i = 0; i < request->sides; i++) {
		result->side[i].streams = request->side[i].streams;
		result->side[i].ports = UINT32_C(1) << i;
		result->side[i].elsewhere = 10 + i;
		result->side[i].latency = request->latency ? &whole->histogram : NULL;
	}
	for (i = 0; i < result->turns; i++)
		whole->turn[i] = (struct turn){
			.side = request->order[i], .began_tsc = 1000 + 2000 * i,
			.ended_tsc = 3000 + 2000 * i, .measured = 1000, .intended = 5, .sent = 4,
			.refused = 1, .distinct = 3, .first_tsc = i == 0 ? 0 : 1500 + 2000 * i,
			.is_drained = true, .turn_sent = 8, .turn_distinct = 7, .behind = 400, .missed = 6,
			.slot = { { 100, 0 }, { 900, 3 } },
			.latencies = i == 0 ? 0 : 3, .latency = i == 0 ? 0 : 600,
			.median = i == 0 ? 0 : 190, .p99 = i == 0 ? 0 : 400,
		};
	for (i = 0; i < result->turns; i++)
		for (j = 0; j < TGEN_MAX_STREAMS; j++)
			turn_stream[i * TGEN_MAX_STREAMS + j] = (struct turn_stream){
				.sent = 5 - j % 2, .distinct = 5 - 2 * (j % 2),
			};
	return result;
}

int
engine_connections(struct engine *engine, const struct connections_request *request,
	struct error *error)
{
	const struct connections_end *client = &request->client, *server = &request->server;

	demand(client->is_here || server->is_here);
	demand(client->port < 2 && server->port < 2);
	demand(!client->is_here || (request->rate_mfps > 0 && request->intended > 0 &&
		(request->intended < TGEN_48_BITS || request->duration_ns > 0)));
	demand(client->is_here || (request->duration_ns > 0 && request->intended == 0));
	demand(!client->is_here || (client->addresses >= 1 && client->ports >= 1 &&
		client->addresses * client->ports <= CONNECTIONS_MOST && request->targets >= 1 &&
		client->first.port + client->ports <= 65536 &&
		client->first.port + request->turned < 65536));
	demand(!server->is_here || (server->addresses >= 1 && server->ports == 1 &&
		request->capacity >= 1 && request->capacity <= CONNECTIONS_MOST));
	demand(request->request_bytes >= 1 && request->request_bytes <= CONTENT_MOST);
	demand(request->response_bytes >= 1 && request->response_bytes <= CONTENT_MOST);
	demand(request->transport == TRANSPORT_TCP || (request->content == CONTENT_BYTES &&
		request->request_bytes >= DATAGRAM_NUMBER && request->request_bytes <= request->most &&
		request->response_bytes >= DATAGRAM_NUMBER &&
		request->response_bytes <= request->most && request->flood.rate_mfps == 0));
	demand(request->attempts >= 1 && request->requests >= 1 && request->most >= 1);
	demand(request->repeat_ns > 0 && request->patience_ns > 0 && request->burst >= 1);
	demand(request->asking.intended == 0 || (client->is_here && request->requests == 1 &&
		request->asking.rate_mfps > 0 && request->asking.duration_ns > 0 &&
		request->intended <= client->addresses * client->ports &&
		request->asking.intended < TGEN_48_BITS));
	demand(request->flood.rate_mfps == 0 || (client->is_here && request->flood.addresses >= 1 &&
		request->flood.addresses <= END_MOST_ADDRESSES));
	if (request->requests == FAKE_REFUSED_REQUESTS)
		return error_set(error, EINVAL, "refused", "the engine does not like so many");
	engine->connections = *request;
	memset(&engine->request, 0, sizeof(engine->request));
	begin(engine, true);
	return 0;
}

/* One of all connections was refused, and it is the second slot in which it was due. */
const struct connections_result *
engine_connections_result(const struct engine *engine)
{
	static const struct client_counts client = {
		.launched = 9, .answered = 8, .outcome = { [CLIENT_COMPLETED] = 8,
		[CLIENT_REFUSED] = 1 }, .requests = 8, .responses = 8, .most_established = 3,
	};
	static const struct server_counts server = {
		.accepted = 8, .outcome = { [SERVER_CLOSED] = 8 }, .most = 4, .flooded = 60,
	};
	static const struct end_counts end = { .sent = 33, .received = 25, .repeated = 1 };
	static const struct flood_counts flood = { .sent = 70, .answered = 3, .refused = 2 };
	static uint32_t lane[] = { 5, 4 };
	static const uint64_t away[] = { 0, 200000 };
	struct engine *whole = (struct engine *)(uintptr_t)engine;

	demand(engine->state == ENGINE_DONE);
	whole->client_slots = (struct client_slots){
		.grid = { .count = 2, .shift = 20 }, .launched = lane, .answered = lane,
		.completed = lane, .established = lane, .asked = lane, .replied = lane,
		.heard = lane,
	};
	whole->asking = (struct asking_counts){ .asked = 6, .waiting = 2, .gone = 1, .replied = 5 };
	whole->connections_result = (struct connections_result){
		.flood = engine->connections.flood.rate_mfps != 0 ? &flood : NULL,
		.has_asking = engine->connections.asking.intended != 0,
		.asking = {
			.intended = engine->connections.asking.intended, .unasked = 1,
			.asking = 1000, .replying = 2000, .elapsed = 4000, .paused_cycles = 7,
			.busy_cycles = 1000, .counts = &whole->asking,
			.client_end = { .sent = 12, .repeated = 2 }, .server_end = { .sent = 6 },
		},
		.has_client = engine->connections.client.is_here,
		.has_server = engine->connections.server.is_here, .settled = true,
		.begin_port = (uint16_t)(engine->connections.client.first.port +
			engine->connections.turned),
		.intended = engine->connections.intended, .unsent = 1, .launching = 2000, .client = &client,
		.server = &server, .client_end = &end, .server_end = &end,
		.handshake = &engine->histogram, .first = &engine->histogram,
		.response = &engine->histogram, .away = away, .slots_used = 2,
		.slots = engine->connections.slot_ns != 0 ? &whole->client_slots : NULL,
	};
	return &whole->connections_result;
}

int
engine_learn(struct engine *engine, unsigned int rounds, struct error *error)
{
	(void)error;
	demand(rounds > 0 && engine->traffic.streams > 0);
	engine->rounds = rounds;
	begin(engine, false);
	return 0;
}

int
engine_learned(const struct engine *engine, unsigned int *rounds, struct error *error)
{
	demand(engine->state == ENGINE_DONE);
	*rounds = engine->looks < LOOKS ? engine->looks : engine->rounds;
	if (engine->rounds == FAKE_REFUSED_ROUNDS)
		return error_set(error, EAGAIN, "not-sent", "the engine does not like so many");
	return 0;
}

int
engine_respond(struct engine *engine, const struct responder *responder, struct error *error)
{
	unsigned int i;

	demand(engine->state != ENGINE_RUNNING && responder->hosts <= NEIGHBOURS_MOST_HOSTS);
	for (i = 0; i < responder->hosts; i++)
		demand(responder->host[i].port < 2);
	if (responder->hosts == NEIGHBOURS_MOST_HOSTS)
		return error_set(error, ENOMEM, "refused", "the engine does not like so many hosts");
	return 0;
}

int
engine_capture(struct engine *engine, uint16_t port, const char *path, uint32_t frames,
	struct error *error)
{
	(void)error;
	demand(engine->state != ENGINE_RUNNING && port < 2 && path[0] == '/' && frames > 0);
	return 0;
}

int
engine_listen(struct engine *engine, uint16_t port, const char *path,
	const struct tape_room *room, struct error *error)
{
	demand(port < 2 && path[0] == '/' && room->frames > 0 && room->frames <= TAPE_MOST_FRAMES);
	demand(room->bytes > 0 && room->bytes <= TAPE_MOST_BYTES && room->longest > 0);
	if (engine->listens[port])
		return error_set(error, EBUSY, "busy", "it is listened to already");
	engine->listens[port] = true;
	return 0;
}

int
engine_listen_end(struct engine *engine, uint16_t port, struct listened *listened,
	struct error *error)
{
	demand(port < 2);
	if (!engine->listens[port])
		return error_set(error, EINVAL, "idle", "nobody listens");
	engine->listens[port] = false;
	*listened = (struct listened){ .frames = 3, .heard = 7 };
	return 0;
}

bool
engine_listens(const struct engine *engine)
{
	return engine->listens[0] || engine->listens[1];
}

int
engine_stalls(struct engine *engine, uint64_t duration_ns, uint64_t threshold_ns,
	struct error *error)
{
	(void)error;
	demand(duration_ns > 0 && threshold_ns > 0);
	begin(engine, false);
	return 0;
}

const struct histogram *
engine_stall_gaps(const struct engine *engine, unsigned int worker)
{
	return worker == 0 ? &engine->histogram : NULL;
}

int
roundtrip_measure(const struct roundtrip_request *request, struct roundtrip_result *result,
	struct error *error)
{
	demand(request->cpu[0] != request->cpu[1] && request->rounds > 0);
	demand(request->rounds <= ROUNDTRIP_MOST && request->deadline_ns <= ROUNDTRIP_MOST_NS);
	if (request->cpu[1] == FAKE_REFUSED_CPU)
		return error_set(error, EINVAL, "bad-value", "there is no such CPU");
	*result = (struct roundtrip_result){
		.real_time = true, .rounds = request->cpu[1] == FAKE_LOST_CPU ? 0 : request->rounds,
		.min_ns = 100, .p50_ns = 120, .p90_ns = 200, .max_ns = 9000,
	};
	return 0;
}

void
clock_read(struct clock_moment *moment)
{
	*moment = (struct clock_moment){ .tsc = 5000, .raw_ns = 2000 };
}

static const char *
offload(uint64_t bit)
{
	return bit == 1 ? "VLAN_STRIP" : "OTHER";
}

const struct process_facts fake_facts = {
	.version = "0", .build_type = "test", .march = "native", .compiler = "cc",
	.dpdk = "none", .tsc_hz = 2000000000, .pid = 1, .main = { .lcore = 0, .cpu = -1 },
	.workers = 1, .worker = { { .lcore = 1, .cpu = 1 } }, .first_trial = 254,
	.receive_offload = offload, .transmit_offload = offload,
};
