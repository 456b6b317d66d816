/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "client.h"

#define NO_END_TICKS (UINT32_C(1) << 30) /* a connection that is asked by a clock rests for so long */

int
client_create(struct client *client, const struct client_plan *plan, const struct content *out,
	const struct content *in, const struct output *output, uint64_t origin, struct error *error)
{
	uint32_t capacity = plan->end.addresses * plan->end.ports;
	int ret;

	*client = (struct client){ .plan = *plan, .asking.plan = plan->asking };
	ret = end_create(&client->end, &plan->end, output, capacity, origin, error);
	client->end.out = out;
	client->end.in = in;
	return ret;
}

void
client_destroy(struct client *client)
{
	end_destroy(&client->end);
}

void
client_begin(struct client *client, uint64_t now)
{
	pacer_init(&client->pacer, client->plan.end.tsc_hz, client->plan.rate_mfps, now);
	client->earliest = now;
}

void
client_pause(struct client *client, uint64_t cycles)
{
	struct pacer *pacer = client_is_asking(client) ? &client->asking.pacer : &client->pacer;

	pacer->start_tsc += cycles;
}

static uint32_t *
slot(const struct client *client, uint32_t *lane, const struct connection *connection)
{
	return &lane[slot_at(&client->slots->grid, connection->scheduled_tsc)];
}

static void
note_outcome(struct client *client, const struct connection *connection,
	enum client_outcome outcome)
{
	client->counts.outcome[outcome]++;
	if (connection->state == CONNECTION_OPEN || connection->state == CONNECTION_RESTING)
		client->counts.established--;
	client->resting -= connection->state == CONNECTION_RESTING;
	if (outcome != CLIENT_COMPLETED)
		return;
	client->counts.last_completed_tsc = client->end.now;
	if (client->slots != NULL)
		++*slot(client, client->slots->completed, connection);
}

void
client_conclude(struct client *client, struct connection *connection, enum client_outcome outcome)
{
	note_outcome(client, connection, outcome);
	connection->flags = outcome == CLIENT_COMPLETED ? CONNECTION_HAS_FIN : 0;
	end_give_back(&client->end, connection);
}

/* It is over, and the other side has to hear of it: devices on the way, too. */
static void
abort_as(struct client *client, struct connection *connection, enum client_outcome outcome)
{
	end_abort(&client->end, connection);
	client_conclude(client, connection, outcome);
}

static bool
is_udp(const struct client *client)
{
	return client->end.plan.transport == TRANSPORT_UDP;
}

/* Of all ports from the first one on. */
static uint32_t
port_range(const struct client *client)
{
	return UINT32_C(65536) - client->end.plan.first.port;
}

static uint16_t
port_of(const struct client *client, uint32_t number)
{
	uint32_t port = client->plan.turned + number / client->end.plan.addresses;

	if (port >= port_range(client))
		port -= port_range(client);
	return (uint16_t)(client->end.plan.first.port + port);
}

struct connection *
client_connection_at(const struct client *client, const struct packet_end *where)
{
	const struct end_plan *plan = &client->end.plan;
	uint32_t own = end_own(&client->end, where->ip);
	uint32_t port = (uint32_t)where->port - plan->first.port;

	if (own >= plan->addresses || port >= port_range(client))
		return NULL;
	port += port < client->plan.turned ? port_range(client) : 0;
	port -= client->plan.turned;
	return port < plan->ports ? &client->end.connection[port * plan->addresses + own] : NULL;
}

static bool
send_request(struct client *client, struct connection *connection, uint32_t number)
{
	bool holds = client->plan.hold_cycles != 0 && connection->turn + 1 == client->plan.requests;

	connection->flags = holds ? CONNECTION_HOLDS : 0;
	return end_send_request(&client->end, connection, number);
}

/* False where there is no room for the frame: the connection is as free as before. */
static bool
launch(struct client *client, uint32_t number, uint64_t scheduled_tsc)
{
	struct end *end = &client->end;
	struct connection *connection = &end->connection[number];
	uint32_t sequence = end_sequence(end, number);
	uint32_t target = (uint32_t)(client->counts.launched % client->plan.targets);

	connection->scheduled_tsc = scheduled_tsc;
	connection->own = (uint8_t)(number % end->plan.addresses);
	connection->own_port = port_of(client, number);
	connection->peer_ip = client->plan.target.ip + target;
	connection->peer_port = client->plan.target.port;
	connection->turn = 0;
	if (!(is_udp(client) ? send_request(client, connection, sequence) :
			end_send(end, connection, SEGMENT_SYN, sequence, NULL, 0)))
		return false;
	end_take(end);
	connection->unacknowledged = sequence;
	connection->next = connection->begin = sequence + 1;
	connection->attempts = 1;
	connection->flags &= CONNECTION_HOLDS;
	connection->state = CONNECTION_ASKING;
	end_wait(end, connection, 0);
	client->counts.launched++;
	client->counts.requests += is_udp(client);
	connection->asked_tsc = scheduled_tsc;
	client->counts.last_launched_tsc = end->now;
	if (client->slots != NULL)
		++*slot(client, client->slots->launched, connection);
	return true;
}

bool
client_launch(struct client *client, uint64_t now)
{
	uint64_t launched = client->counts.launched, due = pacer_due(&client->pacer, now);
	unsigned int i;

	client->end.now = now;
	if (launched == client->plan.intended)
		return false;
	if (due > client->plan.intended)
		due = client->plan.intended;
	if (due <= launched || (int64_t)(now - client->earliest) < 0)
		return true;
	for (i = 0; i < client->plan.burst && launched < due; i++, launched++) {
		uint32_t number = end_first_free(&client->end);
		uint64_t when = pacer_when(&client->pacer, launched);

		if (number == CONNECTION_NONE) {
			client->counts.no_port++;
			break;
		}
		if (!launch(client, number, when))
			break;
		histogram_add(client->lateness, now - when);
	}
	client->earliest = now + i * pacer_catch_up(&client->pacer);
	return launched != client->plan.intended;
}

/* For the response; or, where not all of the request could leave, until it may. */
static void
wait_for_response(struct client *client, struct connection *connection)
{
	end_wait(&client->end, connection, end_message_left(&client->end, connection) ?
		client->end.plan.patience_cycles : end_held_up(&client->end, connection));
}

/* Whether something can leave by now, though nothing was acknowledged: its peer takes it again. */
static bool
may_go_on(const struct client *client, const struct connection *connection)
{
	return connection->window != 0 && end_is_acknowledged(connection) &&
		!end_message_left(&client->end, connection);
}

void
client_ask(struct client *client, struct connection *connection, uint64_t due_tsc)
{
	client->resting -= connection->state == CONNECTION_RESTING;
	connection->state = CONNECTION_OPEN;
	connection->begin = connection->next;
	connection->left = content_begin(client->end.in);
	connection->asked_tsc = due_tsc;
	client->counts.requests++;
	if (is_udp(client)) {
		/* One for which there is no room is as good as lost. */
		send_request(client, connection, connection->next);
		connection->unacknowledged = connection->next++;
		connection->attempts = 1;
		end_wait(&client->end, connection, 0);
		return;
	}
	end_send_message(&client->end, connection);
	wait_for_response(client, connection);
}

static void
close_in_order(struct client *client, struct connection *connection)
{
	if (is_udp(client)) {
		client_conclude(client, connection, CLIENT_COMPLETED);
		return;
	}
	client->counts.established--;
	client->resting -= connection->state == CONNECTION_RESTING;
	end_close(&client->end, connection);
	end_wait(&client->end, connection, 0);
}

void
client_close(struct client *client, struct connection *connection)
{
	if (connection->state == CONNECTION_RESTING)
		close_in_order(client, connection);
}

static void
rest(struct client *client, struct connection *connection, uint64_t cycles)
{
	client->resting += connection->state != CONNECTION_RESTING;
	connection->state = CONNECTION_RESTING;
	end_wait(&client->end, connection, cycles);
}

static void
rest_until_asked(struct client *client, struct connection *connection)
{
	rest(client, connection, (uint64_t)NO_END_TICKS << client->end.tick_shift);
}

/* A response is whole that was asked for by a clock, or one that has to come before those. */
static void
go_on_by_clock(struct client *client, struct connection *connection)
{
	struct asking_counts *counts = &client->asking.counts;

	if (connection->turn > 1) {
		connection->turn = 2; /* there may be more of them than it can count */
		counts->replied++;
		counts->last_replied_tsc = client->end.now;
		histogram_add(client->response, client->end.now - connection->asked_tsc);
		if (client->slots != NULL)
			client->slots->replied[slot_at(&client->slots->grid, connection->asked_tsc)]++;
	}
	rest_until_asked(client, connection);
}

void
client_go_on(struct client *client, struct connection *connection)
{
	bool is_last = ++connection->turn == client->plan.requests;
	uint64_t cycles = is_last ? client->plan.hold_cycles : client->plan.pause_cycles;

	client->counts.responses++;
	if (connection->turn == 1)
		histogram_add(client->first, client->end.now - connection->scheduled_tsc);
	if (client->plan.asking.intended != 0) {
		go_on_by_clock(client, connection);
		return;
	}
	histogram_add(client->response, client->end.now - connection->asked_tsc);
	if (cycles != 0)
		rest(client, connection, cycles +
			(is_last && is_udp(client) ? client->end.plan.patience_cycles : 0));
	else if (is_last)
		close_in_order(client, connection);
	else
		client_ask(client, connection, client->end.now);
}

void
client_note_answered(struct client *client, const struct connection *connection)
{
	struct client_counts *counts = &client->counts;

	counts->answered++;
	if (++counts->established > counts->most_established)
		counts->most_established = counts->established;
	histogram_add(client->handshake, client->end.now - connection->scheduled_tsc);
	if (client->slots != NULL) {
		++*slot(client, client->slots->answered, connection);
		client->slots->heard[slot_at(&client->slots->grid, client->end.now)]++;
	}
}

/* The answer to a SYN, as section 3.10.7.3 wants it looked at. */
static void
hear_answer(struct client *client, struct connection *connection, const struct segment *segment)
{
	bool acknowledges = (segment->flags & SEGMENT_ACK) != 0;

	if (acknowledges && segment->acknowledgement != connection->next) {
		end_refuse(&client->end, segment);
		return;
	}
	if ((segment->flags & SEGMENT_RST) != 0) {
		if (acknowledges)
			client_conclude(client, connection, CLIENT_REFUSED);
		return;
	}
	if (!acknowledges || (segment->flags & SEGMENT_SYN) == 0)
		return;
	connection->expected = segment->sequence + 1;
	connection->unacknowledged = segment->acknowledgement;
	connection->attempts = 1;
	connection->flags = 0;
	end_note_peer(&client->end, connection, segment);
	client_note_answered(client, connection);
	client_ask(client, connection, client->end.now);
	/* Where the request was not taken yet, that the answer came has to be said without it. */
	end_acknowledge(&client->end, connection, true);
}

/* Data that is next; false when that was the end of the connection. */
static bool
hear_data(struct client *client, struct connection *connection, const struct segment *segment)
{
	enum content_found found = CONTENT_WRONG; /* nothing was asked for */

	client->counts.response_bytes += segment->bytes;
	if (connection->state == CONNECTION_OPEN)
		found = content_take(client->end.in, segment->data, segment->bytes,
			&connection->left);
	if (found == CONTENT_WRONG) {
		abort_as(client, connection, CLIENT_WRONG_PAYLOAD);
		return false;
	}
	if (found == CONTENT_WHOLE)
		client_go_on(client, connection);
	else
		wait_for_response(client, connection);
	return true;
}

static void
hear(struct client *client, struct connection *connection, struct segment *segment)
{
	struct end *end = &client->end;
	uint32_t acknowledged = connection->unacknowledged;
	enum heard heard = end_hear(end, connection, segment);
	bool is_owed;

	if (heard == HEARD_RESET)
		client_conclude(client, connection, CLIENT_RESET);
	if (heard != HEARD_SEGMENT)
		return;
	is_owed = segment_span(segment) != 0;
	end_take_segment(connection, segment);
	if (segment->bytes != 0 && !hear_data(client, connection, segment))
		return;
	if ((connection->flags & CONNECTION_HAS_FIN) != 0 &&
			connection->state != CONNECTION_CLOSING) {
		abort_as(client, connection, connection->state == CONNECTION_OPEN ?
			CLIENT_NO_RESPONSE : CLIENT_RESET);
		return;
	}
	end_acknowledge(end, connection, is_owed);
	if (connection->state == CONNECTION_CLOSING && end_is_acknowledged(connection) &&
			(connection->flags & CONNECTION_HAS_FIN) != 0) {
		client_conclude(client, connection, CLIENT_COMPLETED);
	} else if (connection->state == CONNECTION_OPEN) {
		if (acknowledged == connection->unacknowledged && !may_go_on(client, connection))
			return;
		end_send_message(end, connection);
		wait_for_response(client, connection);
	} else if (acknowledged == connection->unacknowledged) {
		return;
	} else if (connection->state == CONNECTION_CLOSING) {
		end_wait(end, connection, end->plan.patience_cycles);
	}
}

/* Of nobody that the connection is with: an answer that some device got wrong, perhaps. */
static void
hear_stranger(struct client *client, struct connection *connection, const struct segment *segment)
{
	const uint8_t answer = SEGMENT_SYN | SEGMENT_ACK;

	client->end.counts.stray++;
	if (connection->state == CONNECTION_ASKING && (segment->flags & answer) == answer &&
			segment->acknowledgement == connection->next) {
		connection->flags |= CONNECTION_MISANSWERED;
		client->counts.misanswers++;
	}
	end_refuse(&client->end, segment);
}

/* One that is over. */
static void
hear_late(struct client *client, struct connection *connection, const struct segment *segment)
{
	if ((connection->flags & CONNECTION_HAS_FIN) == 0) {
		client->end.counts.stray++;
		end_refuse(&client->end, segment);
		return;
	}
	connection->flags = CONNECTION_HAS_FIN;
	end_acknowledge(&client->end, connection, segment_span(segment) != 0 &&
		(segment->flags & SEGMENT_RST) == 0);
}

bool
client_receive(struct client *client, struct segment *segment, uint64_t now)
{
	struct end *end = &client->end;
	struct connection *connection = client_connection_at(client, &segment->destination);

	if (connection == NULL)
		return false;
	end->now = now;
	end->counts.received++;
	if (segment->source.ip != connection->peer_ip ||
			segment->source.port != connection->peer_port)
		hear_stranger(client, connection, segment);
	else if (connection->state == CONNECTION_FREE)
		hear_late(client, connection, segment);
	else if (connection->state == CONNECTION_ASKING)
		hear_answer(client, connection, segment);
	else
		hear(client, connection, segment);
	return true;
}

static void
give_up(struct client *client, struct connection *connection)
{
	switch (connection->state) {
	case CONNECTION_ASKING:
		client_conclude(client, connection, (connection->flags & CONNECTION_MISANSWERED) != 0 ?
			CLIENT_MISANSWERED : CLIENT_NO_ANSWER);
		return;
	case CONNECTION_CLOSING:
		abort_as(client, connection, CLIENT_NOT_CLOSED);
		return;
	default:
		abort_as(client, connection, CLIENT_NO_RESPONSE);
	}
}

static void
look_after(struct client *client, struct connection *connection)
{
	struct end *end = &client->end;

	if (!end_is_acknowledged(connection)) {
		client->counts.repeated_syns += connection->state == CONNECTION_ASKING &&
			connection->attempts < end->plan.attempts;
		if (!end_late(end, connection))
			give_up(client, connection);
	} else if (connection->state == CONNECTION_RESTING) {
		if (client->plan.asking.intended != 0)
			rest_until_asked(client, connection);
		else if (connection->turn != client->plan.requests)
			client_ask(client, connection, client->end.now);
		else if (is_udp(client)) /* its response has not come again */
			client_conclude(client, connection, CLIENT_NO_RESPONSE);
		else
			close_in_order(client, connection);
	} else if (connection->state == CONNECTION_OPEN && !end_message_left(end, connection)) {
		end_probe(end, connection);
		end_send_message(end, connection); /* there was no room, or nobody took it */
		wait_for_response(client, connection);
	} else {
		give_up(client, connection);
	}
}

void
client_timers(struct client *client, uint64_t now, unsigned int most)
{
	struct connection *connection;

	client->end.now = now;
	while (most-- != 0 && (connection = end_timer(&client->end)) != NULL)
		look_after(client, connection);
}

bool
client_end(struct client *client, uint64_t now, uint32_t first, uint32_t count)
{
	struct end *end = &client->end;

	end->now = now;
	for (; first < end->capacity && count != 0; first++, count--) {
		struct connection *connection = &end->connection[first];

		if (connection->state == CONNECTION_ASKING)
			client_conclude(client, connection, CLIENT_GIVEN_UP);
		else if (connection->state != CONNECTION_FREE)
			abort_as(client, connection, CLIENT_UNFINISHED);
	}
	return end->active != 0;
}
