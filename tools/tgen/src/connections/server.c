/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flood.h"
#include "server.h"

#define MOST_ATTEMPTS 16

uint8_t
server_attempts(const struct end_plan *client)
{
	uint64_t waits = (client->repeat_cycles << client->attempts) + client->patience_cycles;
	uint8_t attempts = client->attempts;

	while (attempts < MOST_ATTEMPTS && client->repeat_cycles << attempts <= waits)
		attempts++;
	return attempts;
}

int
server_create(struct server *server, const struct server_plan *plan, const struct content *out,
	const struct content *in, const struct output *output, uint64_t origin, struct error *error)
{
	bool is_udp = plan->end.transport == TRANSPORT_UDP;
	uint32_t capacity = is_udp ? 1 : plan->capacity, kept = is_udp ? plan->capacity : 1;
	uint32_t buckets = 1;
	int ret;

	while (buckets < capacity)
		buckets *= 2;
	*server = (struct server){ .plan = *plan, .mask = buckets - 1 };
	ret = end_create(&server->end, &plan->end, output, capacity, origin, error);
	server->end.out = out;
	server->end.in = in;
	server->bucket = malloc(buckets * sizeof(*server->bucket));
	server->after = malloc(capacity * sizeof(*server->after));
	server->kept = malloc(kept * sizeof(*server->kept));
	if (ret == 0 && (server->bucket == NULL || server->after == NULL || server->kept == NULL))
		ret = error_set(error, -ENOMEM, "no-memory", "no memory for %u connections",
			plan->capacity);
	if (ret == 0)
		memset(server->bucket, 0xff, buckets * sizeof(*server->bucket));
	else
		server_destroy(server);
	return ret;
}

void
server_destroy(struct server *server)
{
	end_destroy(&server->end);
	free(server->bucket);
	free(server->after);
	free(server->kept);
	server->bucket = server->after = NULL;
	server->kept = NULL;
}

static uint32_t *
bucket_of(const struct server *server, uint32_t own, uint32_t peer_ip, uint16_t peer_port)
{
	uint64_t hash = ((uint64_t)peer_ip << 16 | peer_port) ^ (uint64_t)own << 48;

	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return &server->bucket[hash >> 32 & server->mask];
}

static struct connection *
find(const struct server *server, uint32_t own, const struct segment *segment)
{
	uint32_t number = *bucket_of(server, own, segment->source.ip, segment->source.port);

	for (; number != CONNECTION_NONE; number = server->after[number]) {
		struct connection *connection = &server->end.connection[number];

		if (connection->peer_ip == segment->source.ip &&
				connection->peer_port == segment->source.port &&
				connection->own == own)
			return connection;
	}
	return NULL;
}

static void
forget(struct server *server, struct connection *connection)
{
	uint32_t number = end_number(&server->end, connection);
	uint32_t *link = bucket_of(server, connection->own, connection->peer_ip,
		connection->peer_port);

	while (*link != number)
		link = &server->after[*link];
	*link = server->after[number];
}

static void
conclude(struct server *server, struct connection *connection, enum server_outcome outcome)
{
	server->counts.outcome[outcome]++;
	forget(server, connection);
	end_give_back(&server->end, connection);
}

static void
abort_as(struct server *server, struct connection *connection, enum server_outcome outcome)
{
	end_abort(&server->end, connection);
	conclude(server, connection, outcome);
}

static void
accept_one(struct server *server, uint32_t own, const struct segment *segment)
{
	struct end *end = &server->end;
	uint32_t number = end_first_free(end), sequence, *bucket;
	struct connection *connection;

	if (number == CONNECTION_NONE) {
		server->counts.full++;
		return;
	}
	end_take(end);
	connection = &end->connection[number];
	sequence = end_sequence(end, ~number);
	bucket = bucket_of(server, own, segment->source.ip, segment->source.port);
	server->after[number] = *bucket;
	*bucket = number;
	connection->own = (uint8_t)own;
	connection->own_port = segment->destination.port;
	connection->peer_ip = segment->source.ip;
	connection->peer_port = segment->source.port;
	connection->expected = segment->sequence + 1;
	connection->unacknowledged = sequence;
	connection->next = connection->begin = sequence + 1;
	connection->turn = 0;
	connection->attempts = 1;
	connection->flags = 0;
	connection->left = content_begin(end->in);
	connection->state = CONNECTION_ASKED;
	end_note_peer(end, connection, segment);
	end_send(end, connection, SEGMENT_SYN | SEGMENT_ACK, sequence, NULL, 0);
	end_wait(end, connection, 0);
	server->counts.accepted++;
	if (end->active > server->counts.most)
		server->counts.most = end->active;
}

/* Its response to the request before has left as a whole, or there was none. */
static bool
has_answered(const struct server *server, const struct connection *connection)
{
	return connection->turn == 0 || end_message_left(&server->end, connection);
}

/* A request is whole. */
static void
answer(struct server *server, struct connection *connection)
{
	server->counts.requests++;
	server->counts.responses++;
	/* It only says whether there was one, and how many are of no matter here. */
	connection->turn = 1;
	connection->begin = connection->next;
	connection->left = content_begin(server->end.in);
	end_send_message(&server->end, connection);
}

/* Data that is next; false when that was the end of the connection. */
static bool
hear_data(struct server *server, struct connection *connection, const struct segment *segment)
{
	enum content_found found = CONTENT_WRONG; /* nobody asks before it is answered */

	server->counts.request_bytes += segment->bytes;
	if (connection->state == CONNECTION_OPEN && has_answered(server, connection))
		found = content_take(server->end.in, segment->data, segment->bytes,
			&connection->left);
	if (found == CONTENT_WRONG) {
		abort_as(server, connection, SERVER_WRONG_PAYLOAD);
		return false;
	}
	if (found == CONTENT_WHOLE)
		answer(server, connection);
	return true;
}

/* For what its client says next; or, where not all of a response could leave, until it may. */
static void
wait_for_more(struct server *server, struct connection *connection)
{
	end_wait(&server->end, connection, has_answered(server, connection) ?
		server->end.plan.patience_cycles : end_held_up(&server->end, connection));
}

/* Send what there is to send. */
static void
go_on(struct server *server, struct connection *connection)
{
	struct end *end = &server->end;

	if (connection->state == CONNECTION_OPEN && !has_answered(server, connection))
		end_send_message(end, connection);
	if (connection->state == CONNECTION_OPEN && has_answered(server, connection) &&
			(connection->flags & CONNECTION_HAS_FIN) != 0)
		end_close(end, connection);
}

static void
hear(struct server *server, struct connection *connection, struct segment *segment)
{
	struct end *end = &server->end;
	enum heard heard;

	/* Somebody who knows nothing of this one: it is told so (section 3.10.7.4). */
	if (connection->state == CONNECTION_ASKED && (segment->flags & SEGMENT_ACK) != 0 &&
			segment->acknowledgement != connection->next) {
		end_refuse(end, segment);
		return;
	}
	heard = end_hear(end, connection, segment);
	if (heard == HEARD_RESET)
		conclude(server, connection, SERVER_RESET);
	if (heard != HEARD_SEGMENT)
		return;
	if (connection->state == CONNECTION_ASKED) {
		if (!end_is_acknowledged(connection))
			return;
		connection->state = CONNECTION_OPEN;
		server->counts.established++;
	}
	end_take_segment(connection, segment);
	if (segment->bytes != 0 && !hear_data(server, connection, segment))
		return;
	go_on(server, connection);
	end_acknowledge(end, connection, segment_span(segment) != 0);
	if (connection->state == CONNECTION_CLOSING && end_is_acknowledged(connection))
		conclude(server, connection, SERVER_CLOSED);
	else
		wait_for_more(server, connection);
}

/* A SYN for a connection that there is. */
static void
hear_again(struct server *server, struct connection *connection, struct segment *segment)
{
	uint32_t own = connection->own;

	if (connection->state == CONNECTION_ASKED &&
			segment->sequence + 1 == connection->expected) {
		end_send(&server->end, connection, SEGMENT_SYN | SEGMENT_ACK,
			connection->unacknowledged, NULL, 0);
		return;
	}
	/* Its peer has closed it, and begins anew: what is left is that it says so. */
	if (connection->state == CONNECTION_CLOSING &&
			segment_before(connection->expected, segment->sequence)) {
		conclude(server, connection, SERVER_NOT_CLOSED);
		accept_one(server, own, segment);
		return;
	}
	hear(server, connection, segment);
}

/* Nobody has a connection like this. */
static void
hear_stranger(struct server *server, uint32_t own, const struct segment *segment)
{
	const uint8_t flags = SEGMENT_SYN | SEGMENT_ACK | SEGMENT_RST | SEGMENT_FIN;

	if ((segment->flags & flags) == SEGMENT_SYN &&
			segment->destination.port == server->end.plan.first.port) {
		accept_one(server, own, segment);
		return;
	}
	server->end.counts.stray++;
	end_refuse(&server->end, segment);
}

bool
server_receive(struct server *server, struct segment *segment, uint64_t now)
{
	struct end *end = &server->end;
	uint32_t own = end_own(end, segment->destination.ip);
	struct connection *connection = NULL;

	if (own >= end->plan.addresses)
		return false;
	end->now = now;
	/* Counted apart, and so are the answers: what goes over connections is told by segments. */
	if (flood_is(segment)) {
		server->counts.flooded++;
		if (server->plan.answers_flood)
			end_pretend(end, segment);
		return true;
	}
	end->counts.received++;
	if (segment->destination.port == end->plan.first.port)
		connection = find(server, own, segment);
	if (connection == NULL)
		hear_stranger(server, own, segment);
	else if ((segment->flags & (SEGMENT_SYN | SEGMENT_RST)) == SEGMENT_SYN)
		hear_again(server, connection, segment);
	else
		hear(server, connection, segment);
	return true;
}

static void
keep(struct server *server, const struct datagram *request)
{
	uint32_t capacity = server->plan.capacity;

	if (server->kept_count == capacity) {
		server->counts.full++;
		return;
	}
	server->kept[(server->first_kept + server->kept_count) % capacity] = (struct server_kept){
		.from = request->destination, .to = request->source,
		.number = (request->number & END_NUMBER) | END_HELD,
		.due_tsc = server->end.now + server->plan.hold_cycles,
	};
	if (++server->kept_count > server->counts.most)
		server->counts.most = server->kept_count;
}

/* Answer those once more whose flows have been held, as far as there is room. */
static void
answer_kept(struct server *server, unsigned int most)
{
	for (; server->kept_count != 0 && most != 0; most--) {
		const struct server_kept *kept = &server->kept[server->first_kept];

		if ((int64_t)(server->end.now - kept->due_tsc) < 0 ||
				!end_respond(&server->end, &kept->from, &kept->to, kept->number))
			return;
		server->first_kept = (server->first_kept + 1) % server->plan.capacity;
		server->kept_count--;
	}
}

/* A request is answered for itself. */
static enum server_outcome
respond(struct server *server, const struct datagram *request)
{
	struct server_counts *counts = &server->counts;

	counts->request_bytes += request->bytes;
	if (!content_is(server->end.in, request->data, request->bytes, DATAGRAM_NUMBER))
		return SERVER_WRONG_PAYLOAD;
	counts->requests++;
	if (!end_respond(&server->end, &request->destination, &request->source,
			request->number & END_NUMBER))
		return SERVER_NOT_HEARD;
	counts->responses++;
	if ((request->number & END_HOLD) != 0)
		keep(server, request);
	return SERVER_CLOSED;
}

bool
server_receive_datagram(struct server *server, const struct datagram *datagram, uint64_t now)
{
	struct end *end = &server->end;

	if (datagram->is_unreachable || end_own(end, datagram->destination.ip) >= end->plan.addresses)
		return false;
	end->now = now;
	end->counts.received++;
	if (datagram->destination.port != end->plan.first.port) {
		end->counts.stray++;
		end_refuse_datagram(end, datagram);
		return true;
	}
	server->counts.accepted++;
	server->counts.outcome[respond(server, datagram)]++;
	return true;
}

static void
give_up(struct server *server, struct connection *connection)
{
	switch (connection->state) {
	case CONNECTION_ASKED:
		conclude(server, connection, SERVER_HALF_OPEN);
		return;
	case CONNECTION_CLOSING:
		abort_as(server, connection, SERVER_NOT_CLOSED);
		return;
	default:
		abort_as(server, connection, SERVER_NOT_HEARD);
	}
}

static void
look_after(struct server *server, struct connection *connection)
{
	struct end *end = &server->end;

	if (!end_is_acknowledged(connection)) {
		if (!end_late(end, connection))
			give_up(server, connection);
	} else if (!has_answered(server, connection)) {
		end_probe(end, connection);
		go_on(server, connection); /* there was no room, or nobody took it */
		wait_for_more(server, connection);
	} else {
		abort_as(server, connection, SERVER_IDLE);
	}
}

void
server_timers(struct server *server, uint64_t now, unsigned int most)
{
	struct connection *connection;

	server->end.now = now;
	answer_kept(server, most);
	while (most-- != 0 && (connection = end_timer(&server->end)) != NULL)
		look_after(server, connection);
}

bool
server_end(struct server *server, uint64_t now, uint32_t first, uint32_t count)
{
	struct end *end = &server->end;

	end->now = now;
	for (; first < end->capacity && count != 0; first++, count--) {
		struct connection *connection = &end->connection[first];

		if (connection->state == CONNECTION_ASKED)
			conclude(server, connection, SERVER_LEFT);
		else if (connection->state != CONNECTION_FREE)
			abort_as(server, connection, SERVER_LEFT);
	}
	return end->active != 0;
}
