/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a client of UDP hears: responses, each with the number of its request, and ICMP. */

#include "client.h"

/* A request of a flow is on its way. */
static bool
is_waiting(const struct connection *connection)
{
	return connection->state != CONNECTION_FREE && !end_is_acknowledged(connection);
}

/* The response to it. */
static void
hear_response(struct client *client, struct connection *connection, const struct datagram *datagram)
{
	client->counts.response_bytes += datagram->bytes;
	connection->unacknowledged = connection->next;
	connection->attempts = 1;
	if (connection->state == CONNECTION_ASKING) {
		client_note_answered(client, connection);
		connection->state = CONNECTION_OPEN;
	}
	if (content_is(client->end.in, datagram->data, datagram->bytes, DATAGRAM_NUMBER))
		client_go_on(client, connection);
	else
		client_conclude(client, connection, CLIENT_WRONG_PAYLOAD);
}

/* And once more, when the flow has been held. */
static void
hear_again(struct client *client, struct connection *connection, const struct datagram *datagram)
{
	client->counts.response_bytes += datagram->bytes;
	client_conclude(client, connection, content_is(client->end.in, datagram->data,
		datagram->bytes, DATAGRAM_NUMBER) ? CLIENT_COMPLETED : CLIENT_WRONG_PAYLOAD);
}

/* ICMP says that what a flow sent did not arrive. */
static void
hear_unreachable(struct client *client, struct connection *connection,
	const struct datagram *datagram)
{
	if (!is_waiting(connection) || datagram->destination.ip != connection->peer_ip ||
			datagram->destination.port != connection->peer_port)
		client->end.counts.stray++;
	else
		client_conclude(client, connection, connection->state == CONNECTION_ASKING ?
			CLIENT_REFUSED : CLIENT_RESET);
}

bool
client_receive_datagram(struct client *client, const struct datagram *datagram, uint64_t now)
{
	struct end *end = &client->end;
	struct connection *connection = client_connection_at(client, datagram->is_unreachable ?
		&datagram->source : &datagram->destination);
	bool is_last, is_asked;

	if (connection == NULL)
		return false;
	end->now = now;
	end->counts.received++;
	/* To what it asked last, in the one way or the other. */
	is_last = connection->state != CONNECTION_FREE && datagram->bytes >= DATAGRAM_NUMBER &&
		(datagram->number & END_NUMBER) == ((connection->next - 1) & END_NUMBER);
	is_asked = is_last && is_waiting(connection) && (datagram->number & END_HELD) == 0;
	if (datagram->is_unreachable) {
		hear_unreachable(client, connection, datagram);
	} else if (datagram->source.ip != connection->peer_ip ||
			datagram->source.port != connection->peer_port) {
		end->counts.stray++;
		if (is_asked && connection->state == CONNECTION_ASKING) {
			connection->flags |= CONNECTION_MISANSWERED;
			client->counts.misanswers++;
		}
	} else if (is_asked) {
		hear_response(client, connection, datagram);
	} else if (is_last && connection->state == CONNECTION_RESTING &&
			(datagram->number & END_HELD) != 0) {
		hear_again(client, connection, datagram);
	} else {
		end->counts.disordered++;
	}
	return true;
}
