/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "connections_worker.h"
#include "loop.h"
#include "receive.h"
#include "slots_worker.h"

#define TIMERS_MOST 64 /* of each end in one round */
/* A frame that comes in may be answered with so many. */
#define ROOM_TO_RECEIVE (PORT_BURST * (END_FLIGHT + 1))
/* No more begins where nothing is received: who begins more than a port takes would hear no answer. */
#define ROOM_TO_LAUNCH ROOM_TO_RECEIVE
#define END_AT_ONCE 256 /* connections, before what tells of that is sent */
#define MOST_PAUSES 2 /* of the time that a schedule is for */
#define LAST_TRIES 1000 /* to send what tells devices and peers that all is over */

_Static_assert(ROOM_TO_RECEIVE <= CONNECTIONS_HELD, "or nothing would ever be received");

uint8_t *
connections_room(void *context, uint16_t bytes)
{
	struct connections_port *port = context;
	struct rte_mbuf *buffer;

	if (port->held == CONNECTIONS_HELD)
		return NULL;
	buffer = rte_pktmbuf_alloc(bytes <= PORT_SHORT ? port->short_pool : port->long_pool);
	if (unlikely(buffer == NULL)) {
		port->no_buffers++;
		return NULL;
	}
	buffer->hash.usr = 0; /* holds no stream's fill bytes any more */
	buffer->data_len = bytes;
	buffer->pkt_len = bytes;
	port->buffer[port->held++] = buffer;
	return rte_pktmbuf_mtod(buffer, uint8_t *);
}

static void
answer_neighbour(struct connections_port *port, struct receiver *receiver, const uint8_t *bytes,
	uint16_t length)
{
	uint8_t answer[NEIGHBOURS_ANSWER], *frame;

	length = neighbours_answer(&port->neighbours, bytes, length, answer);
	if (length == 0) {
		receiver->foreign++;
		return;
	}
	frame = connections_room(port, length);
	if (frame != NULL)
		memcpy(frame, answer, length);
	receiver->answered++;
}

/* False: it is none of theirs. */
static bool
take_segment(struct connections_port *port, struct segment *segment, uint64_t now)
{
	return (port->client != NULL && client_receive(port->client, segment, now)) ||
		(port->server != NULL && server_receive(port->server, segment, now)) ||
		(port->flood != NULL && flood_receive(port->flood, segment));
}

static bool
take_datagram(struct connections_port *port, const struct datagram *datagram, uint64_t now)
{
	return (port->client != NULL && client_receive_datagram(port->client, datagram, now)) ||
		(port->server != NULL && server_receive_datagram(port->server, datagram, now));
}

static void
take_frame(struct connections_port *port, struct receiver *receiver, enum transport transport,
	const uint8_t *bytes, uint16_t length)
{
	enum packet_seen seen;
	struct datagram datagram;
	struct segment segment;
	bool is_ours = true;

	if (transport == TRANSPORT_UDP) {
		seen = datagram_read(bytes, length, &datagram);
		if (seen == PACKET_READ)
			is_ours = take_datagram(port, &datagram, receiver->tsc);
	} else {
		seen = segment_read(bytes, length, &segment);
		if (seen == PACKET_READ)
			is_ours = take_segment(port, &segment, receiver->tsc);
	}
	receiver->foreign += !is_ours;
	if (seen == PACKET_FOREIGN) {
		answer_neighbour(port, receiver, bytes, length);
	} else if (seen == PACKET_DAMAGED) {
		receiver->corrupted++;
		if (port->client != NULL)
			port->client->end.counts.damaged++;
		else
			port->server->end.counts.damaged++;
	}
}

static bool
take_frames(struct worker *worker, struct connections_port *port, struct receiver *receiver)
{
	enum transport transport = worker->connections->request.transport;
	uint8_t copy[TGEN_MAX_FRAME];
	uint16_t i;

	if (!receive_poll(worker, receiver))
		return false;
	for (i = 0; i < receiver->count; i++) {
		const struct rte_mbuf *buffer = receiver->buffer[i];
		uint16_t length = (uint16_t)RTE_MIN(buffer->pkt_len, (uint32_t)sizeof(copy));

		take_frame(port, receiver, transport, rte_pktmbuf_read(buffer, 0, length, copy),
			length);
	}
	if (unlikely(rte_atomic_load_explicit(&receiver->copies, rte_memory_order_relaxed)))
		listening_copy(receiver);
	rte_pktmbuf_free_bulk(receiver->buffer, receiver->count);
	receiver->count = 0;
	worker_tick(worker);
	return true;
}

static bool
receive_all(struct worker *worker, struct connections *connections)
{
	bool any = false;
	unsigned int i, j;

	for (i = 0; i < connections->ports; i++) {
		struct connections_port *port = &connections->port[i];

		for (j = 0; j < port->receivers; j++)
			if (CONNECTIONS_HELD - port->held >= ROOM_TO_RECEIVE)
				any |= take_frames(worker, port, port->receiver[j]);
	}
	return any;
}

/* What the port does not take stays first. */
static bool
send_held(struct worker *worker, struct connections_port *port)
{
	uint16_t sent = 0, taken = PORT_BURST;

	if (port->held == 0)
		return false;
	while (sent < port->held && taken == PORT_BURST) {
		uint16_t count = RTE_MIN((uint16_t)(port->held - sent), (uint16_t)PORT_BURST);

		if (unlikely(port->capture != NULL))
			capture_offer(port->capture, port->buffer + sent, count, rte_rdtsc());
		taken = rte_eth_tx_burst(port->device, 0, port->buffer + sent, count);
		if (unlikely(port->capture != NULL))
			capture_commit(port->capture, taken);
		port->retries += taken != count;
		sent += taken;
	}
	port->held -= sent;
	memmove(port->buffer, port->buffer + sent, port->held * sizeof(port->buffer[0]));
	worker_tick(worker);
	return true;
}

static bool
send_all(struct worker *worker, struct connections *connections)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < connections->ports; i++)
		any |= send_held(worker, &connections->port[i]);
	return any;
}

/*
 * So much of the time for which this CPU was away a schedule stands still: for twice its own at most. What
 * has two thirds of its time taken away can open no connection as it should.
 */
static uint64_t
pause_of(struct worker *worker, uint64_t begun_tsc, uint64_t duration, uint64_t paused)
{
	uint64_t most = duration == 0 ? UINT64_MAX : MOST_PAUSES * duration;
	uint64_t away = RTE_MIN(worker->away_cycles, most - paused);
	int64_t running = (int64_t)(worker->last_tick - begun_tsc);

	worker->away_cycles = 0;
	return running < 0 ? 0 : RTE_MIN(away, (uint64_t)running);
}

/* While this CPU was away no connection was due, and no request by a clock, as with frames. */
static void
pause_schedule(struct worker *worker, struct connections *connections)
{
	struct client *client = &connections->client;
	uint64_t away;

	if (client_is_asking(client)) {
		away = pause_of(worker, client->asking.begun_tsc, connections->asking_cycles,
			connections->asking_paused_cycles);
		if (asking_issued(&client->asking) == client->asking.plan.intended)
			return; /* the last one has left, and no other is due later for this */
		connections->asking_paused_cycles += away;
		client_pause(client, away);
		return;
	}
	away = pause_of(worker, worker->started_tsc, connections->duration_cycles,
		worker->paused_cycles);
	/* What has all begun waits for nothing, so it was not begun later for this pause either. */
	if (connections->over_tsc != 0 ||
			(connections->request.client.is_here && client_unsent(client) == 0))
		return;
	client_pause(client, away);
	worker->paused_cycles += away;
}

/* Where the client is, for what it begins by itself. */
static bool
has_room(const struct connections *connections)
{
	return CONNECTIONS_HELD - connections->port[0].held >= ROOM_TO_LAUNCH;
}

static void
note(const struct worker *worker, const struct connections *connections,
	struct connections_moment *moment)
{
	*moment = (struct connections_moment){
		.tsc = worker->last_tick, .busy_cycles = worker->busy_cycles,
		.client = connections->client.end.counts, .server = connections->server.end.counts,
	};
}

/* When connections have begun: ask by a clock, and close. False when that is over, or was not to be. */
static bool
go_on_by_clock(struct worker *worker, struct connections *connections)
{
	enum asking_phase before = connections->client.asking.phase, after;
	bool more;

	if (!connections->request.client.is_here)
		return false;
	more = client_clock(&connections->client, worker->last_tick,
		has_room(connections));
	after = connections->client.asking.phase;
	if (before != after && after == ASKING_GOES_ON)
		note(worker, connections, &connections->asking_begun);
	if (before == ASKING_HEARS && after == ASKING_CLOSES)
		note(worker, connections, &connections->asking_heard);
	return more;
}

/* Begin connections that are due, up to the end of the time for that; then what goes on by a clock. */
static void
begin_due(struct worker *worker, struct connections *connections, uint64_t now)
{
	uint64_t end = worker->started_tsc + connections->duration_cycles + worker->paused_cycles;
	uint64_t grace = connections->duration_cycles / GRACE_SHARE + worker->ten_us;
	bool timed = connections->duration_cycles != 0;
	bool is_client = connections->request.client.is_here;
	bool more = is_client ? client_unsent(&connections->client) != 0 : timed;

	if (more && timed && (int64_t)(now - end) >= 0) {
		more = is_client && (int64_t)(now - end - grace) < 0;
		now = end - 1;
	}
	if (more && is_client && has_room(connections))
		client_launch(&connections->client, now);
	else if (!more && !go_on_by_clock(worker, connections))
		connections->over_tsc = worker->last_tick;
}

/* Frames that have been sent, but for those that answer a flood or an ARP request. */
static uint64_t
sent_by(const struct connections *connections)
{
	return connections->client.end.counts.sent + connections->server.end.counts.sent +
		connections->flood.counts.sent;
}

/* As long as any connection is under way. */
static void
flood_on(struct connections *connections, uint64_t now)
{
	if (connections->request.flood.rate_mfps != 0 && has_room(connections))
		flood_send(&connections->flood, now);
}

/* Nobody has anything left to do, or there is no more time for it. */
static bool
is_over(struct connections *connections, uint64_t now)
{
	bool client_done = client_is_done(&connections->client);
	bool server_done = server_is_done(&connections->server);

	if (connections->over_tsc == 0)
		return false;
	if (client_done && connections->done_tsc == 0)
		connections->done_tsc = now;
	connections->settled = client_done;
	return (client_done && (server_done ||
		now - connections->done_tsc >= connections->quiet_cycles)) ||
		(int64_t)(now - connections->over_tsc) >= (int64_t)connections->drain_cycles;
}

static void
look_after(struct connections *connections, uint64_t now)
{
	struct client_slots *slots = connections->client.slots;

	if (connections->request.client.is_here)
		client_timers(&connections->client, now, TIMERS_MOST);
	if (connections->request.server.is_here)
		server_timers(&connections->server, now, TIMERS_MOST);
	if (slots != NULL)
		slots->established[slot_at(&slots->grid, now)] =
			(uint32_t)connections->client.counts.established;
}

/* Devices and peers are told of what is not over: what a port does not take in time is not said. */
static void
finish(struct worker *worker, struct connections *connections)
{
	unsigned int i, tries;
	uint32_t first;

	for (first = 0; client_end(&connections->client, worker->last_tick, first, END_AT_ONCE);
			first += END_AT_ONCE)
		send_all(worker, connections);
	for (first = 0; server_end(&connections->server, worker->last_tick, first, END_AT_ONCE);
			first += END_AT_ONCE)
		send_all(worker, connections);
	for (tries = 0; tries < LAST_TRIES && send_all(worker, connections); tries++)
		continue;
	for (i = 0; i < connections->ports; i++) {
		struct connections_port *port = &connections->port[i];

		rte_pktmbuf_free_bulk(port->buffer, port->held);
		port->held = 0;
	}
}

void
connections_run(struct worker *worker)
{
	struct connections *connections = worker->connections;
	unsigned int i;
	bool goes_on;

	loop_start_clock(worker);
	if (worker->slots != NULL)
		connections->slots.grid = worker->slots->grid;
	if (connections->request.client.is_here)
		client_begin(&connections->client, worker->started_tsc);
	if (connections->request.flood.rate_mfps != 0)
		flood_begin(&connections->flood, &connections->flood.plan,
			&connections->flood.output, worker->started_tsc);
	worker_set_state(worker, STATE_BUSY);
	do {
		uint64_t begin = worker_tick(worker), frames;
		bool busy;

		if (unlikely(worker->away_cycles != 0))
			pause_schedule(worker, connections);
		frames = sent_by(connections);
		busy = receive_all(worker, connections);
		if (connections->over_tsc == 0)
			begin_due(worker, connections, worker->last_tick);
		if (connections->done_tsc == 0)
			flood_on(connections, worker->last_tick);
		look_after(connections, worker->last_tick);
		send_all(worker, connections);
		busy |= frames != sent_by(connections);
		if (busy)
			worker->busy_cycles += worker->last_tick - begin;
		worker->loops++;
		goes_on = worker_load_command(worker) == COMMAND_CONNECTIONS &&
			!is_over(connections, worker->last_tick);
	} while (goes_on);
	worker->ended_tsc = RTE_MAX(worker->last_tick, worker->started_tsc);
	worker->total_cycles = worker->ended_tsc - worker->started_tsc;
	finish(worker, connections);
	for (i = 0; i < worker->receivers; i++)
		receive_end(worker->receiver[i]);
	worker_set_state(worker, STATE_SENT);
}
