/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_WIRE_H
#define TGEN_TESTS_WIRE_H

/*
 * A client and a server, of TCP or UDP, and a wire between them on which time passes in steps: a cycle is a nanosecond.
 * Frames may get lost, come twice, in another order or damaged, by numbers that look random; a device on
 * the way may do whatever a test wants of it.
 */

#include <stdbool.h>
#include <stdlib.h>

#include "unit.h"

#include "client.h"
#include "server.h"

#define WIRE_HZ UINT64_C(1000000000)
#define WIRE_STEP UINT64_C(100000)
#define WIRE_FRAME 1600
#define WIRE_ROOM 8192 /* frames on their way */
#define WIRE_TIMERS 64

#define WIRE_CLIENT_IP UINT32_C(0xc6120001)
#define WIRE_SERVER_IP UINT32_C(0xc6130001)

enum wire_way { TO_SERVER, TO_CLIENT, WIRE_WAYS };

struct wire_frame {
	enum wire_way way;
	uint64_t due;
	uint16_t bytes;
	uint8_t data[WIRE_FRAME];
};

struct wire;

/* What a device does with a frame; false: it does not come out of it. */
typedef bool (*wire_device)(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes);

struct wire {
	struct client client;
	struct server server;
	struct content request, response;
	struct histogram histogram[4];
	uint64_t now, seed;
	uint64_t delay; /* each way */
	uint32_t lost, twice, late, damaged; /* of a million frames */
	uint32_t full; /* of a million times there is no room for a frame */
	wire_device device;
	uint64_t count; /* the device's own */
	struct wire_frame *frame[WIRE_ROOM]; /* in the order in which they were sent */
	uint32_t frames;
	struct port {
		struct wire *wire;
		enum wire_way way;
	} port[WIRE_WAYS];
};

static inline bool
wire_happens(struct wire *wire, uint32_t ppm)
{
	return ppm != 0 && unit_random(&wire->seed) % 1000000 < ppm;
}

static inline uint8_t *
wire_room(void *context, uint16_t bytes)
{
	struct port *port = context;
	struct wire *wire = port->wire;
	struct wire_frame *frame;

	assert_true(bytes <= WIRE_FRAME && wire->frames < WIRE_ROOM);
	if (wire_happens(wire, wire->full))
		return NULL;
	frame = malloc(sizeof(*frame));
	wire->frame[wire->frames++] = frame;
	frame->way = port->way;
	frame->bytes = bytes;
	frame->due = wire->now + wire->delay;
	if (wire_happens(wire, wire->late))
		frame->due += unit_random(&wire->seed) % (50 * WIRE_STEP);
	return frame->data;
}

static inline enum packet_seen
wire_segment(struct wire *wire, const struct wire_frame *frame)
{
	struct segment segment;
	enum packet_seen seen = segment_read(frame->data, frame->bytes, &segment);

	if (seen == PACKET_READ && frame->way == TO_SERVER)
		server_receive(&wire->server, &segment, wire->now);
	else if (seen == PACKET_READ)
		client_receive(&wire->client, &segment, wire->now);
	return seen;
}

static inline enum packet_seen
wire_datagram(struct wire *wire, const struct wire_frame *frame)
{
	struct datagram datagram;
	enum packet_seen seen = datagram_read(frame->data, frame->bytes, &datagram);

	if (seen == PACKET_READ && frame->way == TO_SERVER)
		server_receive_datagram(&wire->server, &datagram, wire->now);
	else if (seen == PACKET_READ)
		client_receive_datagram(&wire->client, &datagram, wire->now);
	return seen;
}

static inline void
wire_hand_over(struct wire *wire, struct wire_frame *frame)
{
	struct end *end = frame->way == TO_SERVER ? &wire->server.end : &wire->client.end;

	if (wire_happens(wire, wire->damaged))
		frame->data[14 + unit_random(&wire->seed) % (frame->bytes - 14u)] ^=
			1 << unit_random(&wire->seed) % 8;
	if ((wire->client.end.plan.transport == TRANSPORT_UDP ? wire_datagram(wire, frame) :
			wire_segment(wire, frame)) == PACKET_DAMAGED)
		end->counts.damaged++;
}

/* A frame arrives; what is sent for it is on its way then. */
static inline void
wire_arrive(struct wire *wire, const struct wire_frame *frame)
{
	struct wire_frame copy = *frame;

	if (wire_happens(wire, wire->lost))
		return;
	if (wire->device == NULL || wire->device(wire, copy.way, copy.data, copy.bytes))
		wire_hand_over(wire, &copy);
}

static inline void
wire_deliver(struct wire *wire)
{
	uint32_t sent = wire->frames, kept = 0, i;

	for (i = 0; i < sent; i++) {
		struct wire_frame *frame = wire->frame[i];
		bool stays = frame->due > wire->now;

		if (!stays) {
			wire_arrive(wire, frame);
			stays = wire_happens(wire, wire->twice);
			frame->due += unit_random(&wire->seed) % (20 * WIRE_STEP);
		}
		if (stays)
			wire->frame[kept++] = frame;
		else
			free(frame);
	}
	for (; i < wire->frames; i++)
		wire->frame[kept++] = wire->frame[i];
	wire->frames = kept;
}

static inline uint64_t
wire_sum(const uint64_t *of, unsigned int count)
{
	uint64_t sum = 0;

	while (count-- > 0)
		sum += of[count];
	return sum;
}

/* Each connection that was due has one outcome, or is still under way. */
static inline void
wire_check(const struct wire *wire, bool is_over)
{
	const struct client_counts *client = &wire->client.counts;
	const struct server_counts *server = &wire->server.counts;
	const uint64_t *outcome = client->outcome;
	uint64_t unanswered = wire_sum(&outcome[CLIENT_REFUSED], 4);
	uint64_t ended = wire_sum(outcome, CLIENT_OUTCOMES);
	uint64_t active = wire->client.end.active;

	assert_int_equal(client->launched, ended + active);
	assert_int_equal(server->accepted,
		wire_sum(server->outcome, SERVER_OUTCOMES) + wire->server.end.active);
	assert_true(client->answered <= client->launched - unanswered);
	assert_true(client->established <= active);
	assert_true(wire->client.resting <= client->established);
	assert_true(asking_issued(&wire->client.asking) <= wire->client.plan.asking.intended);
	assert_true(wire->client.asking.counts.replied <= wire->client.asking.counts.asked);
	if (!is_over)
		return;
	assert_int_equal(active, 0);
	assert_int_equal(wire->server.end.active, 0);
	assert_int_equal(client->established, 0);
	assert_int_equal(wire->client.resting, 0);
	assert_int_equal(wire->client.plan.intended, client->answered + outcome[CLIENT_REFUSED] +
		outcome[CLIENT_NO_ANSWER] + outcome[CLIENT_MISANSWERED] +
		outcome[CLIENT_GIVEN_UP] + client_unsent(&wire->client));
	assert_int_equal(client->answered, outcome[CLIENT_COMPLETED] +
		wire_sum(&outcome[CLIENT_RESET], CLIENT_OUTCOMES - CLIENT_RESET));
	assert_int_equal(wire->histogram[0].count, client->answered);
	assert_int_equal(wire->histogram[2].count, wire->client.plan.asking.intended == 0 ?
		client->responses : wire->client.asking.counts.replied);
}

/* Connections for a second, as a test may change them. */
static inline struct client_plan
wire_client_plan(uint64_t rate)
{
	return (struct client_plan){
		.end = {
			.first = { WIRE_CLIENT_IP, 1024 }, .addresses = 2, .ports = 4000,
			.most = 1460, .attempts = 3, .repeat_cycles = WIRE_HZ / 10,
			.patience_cycles = WIRE_HZ, .tsc_hz = WIRE_HZ,
		},
		.target = { WIRE_SERVER_IP, 80 }, .targets = 2, .requests = 1,
		.rate_mfps = rate * 1000, .intended = rate, .burst = 32,
	};
}

static inline struct wire *
wire_create(const struct client_plan *plan, enum content_kind kind, uint32_t request,
	uint32_t response)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	struct server_plan server = { .end = plan->end, .capacity = 10000,
		.hold_cycles = plan->hold_cycles };
	struct error error;
	unsigned int i;

	server.end.first = plan->target;
	server.end.addresses = plan->targets;
	server.end.ports = 1;
	server.end.attempts = server_attempts(&plan->end);
	server.end.patience_cycles = 60 * WIRE_HZ;
	wire->now = 12345678901;
	wire->delay = WIRE_STEP;
	wire->seed = 1;
	for (i = 0; i < WIRE_WAYS; i++)
		wire->port[i] = (struct port){ wire, (enum wire_way)i };
	assert_int_equal(content_create(&wire->request, kind, true, request, &error), 0);
	assert_int_equal(content_create(&wire->response, kind, false, response, &error), 0);
	assert_int_equal(client_create(&wire->client, plan, &wire->request, &wire->response,
		&(struct output){ &wire->port[TO_SERVER], wire_room }, wire->now, &error), 0);
	assert_int_equal(server_create(&wire->server, &server, &wire->response, &wire->request,
		&(struct output){ &wire->port[TO_CLIENT], wire_room }, wire->now, &error), 0);
	for (i = 0; i < 4; i++)
		histogram_clear(&wire->histogram[i]);
	wire->client.handshake = &wire->histogram[0];
	wire->client.first = &wire->histogram[1];
	wire->client.response = &wire->histogram[2];
	wire->client.lateness = &wire->histogram[3];
	return wire;
}

static inline void
wire_destroy(struct wire *wire)
{
	client_destroy(&wire->client);
	server_destroy(&wire->server);
	content_destroy(&wire->request);
	content_destroy(&wire->response);
	while (wire->frames > 0)
		free(wire->frame[--wire->frames]);
	free(wire);
}

static inline void
wire_step(struct wire *wire)
{
	wire->now += WIRE_STEP;
	wire_deliver(wire);
	if (!client_launch(&wire->client, wire->now))
		client_clock(&wire->client, wire->now, true);
	client_timers(&wire->client, wire->now, WIRE_TIMERS);
	server_timers(&wire->server, wire->now, WIRE_TIMERS);
}

/* Let all connections come to their end, for so many seconds at most; what is left then is ended. */
static inline void
wire_run(struct wire *wire, unsigned int seconds)
{
	uint64_t end = wire->now + seconds * WIRE_HZ;

	client_begin(&wire->client, wire->now);
	while (wire->now < end && (client_unsent(&wire->client) != 0 ||
			wire->client.asking.phase != ASKING_IS_OVER ||
			!client_is_done(&wire->client) || !server_is_done(&wire->server))) {
		wire_step(wire);
		if (wire->now / WIRE_STEP % 100 == 0)
			wire_check(wire, false);
	}
	client_end(&wire->client, wire->now, 0, UINT32_MAX);
	server_end(&wire->server, wire->now, 0, UINT32_MAX);
	wire_check(wire, true);
}

#endif /* TGEN_TESTS_WIRE_H */
