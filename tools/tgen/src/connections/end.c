/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

#define WINDOW UINT16_MAX
#define MOST_UNNAMED 536 /* bytes of data, where nobody says how many (section 3.7.1) */
#define TICKS 1000 /* a second, at least */
#define SEQUENCES 250000 /* a second: one in four microseconds */
#define ALIGNED 64

static uint32_t
least(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

/* The greatest power of two of cycles, so that there are at least so many a second. */
static uint8_t
shift_of(uint64_t tsc_hz, uint64_t times)
{
	uint8_t shift = 0;

	while (tsc_hz >> (shift + 1) >= times)
		shift++;
	return shift;
}

static void
append_free(struct end *end, uint32_t number)
{
	end->connection[number].timer.next = CONNECTION_NONE;
	if (end->first_free == CONNECTION_NONE)
		end->first_free = number;
	else
		end->connection[end->last_free].timer.next = number;
	end->last_free = number;
}

int
end_create(struct end *end, const struct end_plan *plan, const struct output *output,
	uint32_t capacity, uint64_t origin, struct error *error)
{
	uint32_t i;

	memset(end, 0, sizeof(*end));
	end->connection = aligned_alloc(ALIGNED, capacity * sizeof(struct connection));
	if (end->connection == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u connections",
			capacity);
	memset(end->connection, 0, capacity * sizeof(struct connection));
	end->plan = *plan;
	end->output = *output;
	end->capacity = capacity;
	end->origin = end->now = origin;
	end->size = plan->most;
	end->tick_shift = shift_of(plan->tsc_hz, TICKS);
	end->sequence_shift = shift_of(plan->tsc_hz, SEQUENCES);
	wheel_init(&end->wheel, end->connection, capacity);
	end->first_free = CONNECTION_NONE;
	for (i = 0; i < capacity; i++)
		append_free(end, i);
	return 0;
}

void
end_destroy(struct end *end)
{
	free(end->connection);
	end->connection = NULL;
}

void
end_take(struct end *end)
{
	end->first_free = end->connection[end->first_free].timer.next;
	end->active++;
}

void
end_give_back(struct end *end, struct connection *connection)
{
	uint32_t number = end_number(end, connection);

	wheel_clear(&end->wheel, number);
	connection->state = CONNECTION_FREE;
	append_free(end, number);
	end->active--;
}

uint32_t
end_sequence(const struct end *end, uint32_t number)
{
	return (uint32_t)(end->now >> end->sequence_shift) + number * UINT32_C(0x9e3779b9);
}

static bool
put(struct end *end, const struct segment *segment)
{
	uint8_t *frame = end->output.room(end->output.context, segment_frame_bytes(segment));

	if (frame == NULL) {
		end->counts.no_room++;
		return false;
	}
	segment_write(frame, &end->plan.macs, segment);
	return true;
}

bool
end_send(struct end *end, struct connection *connection, uint8_t flags, uint32_t sequence,
	const uint8_t *data, uint16_t bytes)
{
	const struct segment segment = {
		.source = { end->plan.first.ip + connection->own, connection->own_port },
		.destination = { connection->peer_ip, connection->peer_port },
		.sequence = sequence,
		.acknowledgement = (flags & SEGMENT_ACK) != 0 ? connection->expected : 0,
		.window = WINDOW, .flags = flags, .bytes = bytes, .data = data,
		.most = (flags & SEGMENT_SYN) != 0 ? end->plan.most : 0,
	};

	if (!put(end, &segment))
		return false;
	end->counts.sent++;
	connection->flags |= CONNECTION_REPLIED;
	return true;
}

static uint32_t
message_stop(const struct end *end, const struct connection *connection)
{
	return connection->begin + end->out->bytes;
}

/* A piece of the message, from a place in the sequence on. */
static bool
send_piece(struct end *end, struct connection *connection, uint32_t from, uint32_t bytes)
{
	uint8_t flags = from + bytes == message_stop(end, connection) ? SEGMENT_ACK | SEGMENT_PSH :
		SEGMENT_ACK;

	return end_send(end, connection, flags, from,
		end->out->message + (from - connection->begin), (uint16_t)bytes);
}

bool
end_message_left(const struct end *end, const struct connection *connection)
{
	return !segment_before(connection->next, message_stop(end, connection));
}

void
end_send_message(struct end *end, struct connection *connection)
{
	uint32_t stop = message_stop(end, connection);
	uint32_t most = least(connection->window, (uint32_t)END_FLIGHT * end->size);

	while (segment_before(connection->next, stop)) {
		uint32_t flying = connection->next - connection->unacknowledged;
		uint32_t bytes = least(stop - connection->next, end->size);

		if (flying + bytes > most) {
			/* A window may be smaller than a segment: something has to move. */
			if (flying != 0 || most == 0)
				return;
			bytes = most;
		}
		if (!send_piece(end, connection, connection->next, bytes))
			return;
		connection->next += bytes;
	}
}

void
end_probe(struct end *end, struct connection *connection)
{
	if (connection->window == 0 && send_piece(end, connection, connection->next, 1))
		connection->next++;
}

void
end_close(struct end *end, struct connection *connection)
{
	/* One for which there is no room is as good as lost. */
	end_send(end, connection, SEGMENT_FIN | SEGMENT_ACK, connection->next, NULL, 0);
	connection->next++;
	connection->state = CONNECTION_CLOSING;
}

void
end_abort(struct end *end, struct connection *connection)
{
	if (end->plan.transport == TRANSPORT_UDP)
		return; /* there is nothing that would say so */
	end_send(end, connection, SEGMENT_RST | SEGMENT_ACK, connection->next, NULL, 0);
}

void
end_refuse(struct end *end, const struct segment *segment)
{
	bool acknowledges = (segment->flags & SEGMENT_ACK) != 0;
	const struct segment answer = {
		.source = segment->destination, .destination = segment->source,
		.sequence = acknowledges ? segment->acknowledgement : 0,
		.acknowledgement = acknowledges ? 0 : segment->sequence + segment_span(segment),
		.flags = acknowledges ? SEGMENT_RST : SEGMENT_RST | SEGMENT_ACK,
	};

	if ((segment->flags & SEGMENT_RST) == 0)
		end->counts.sent += put(end, &answer);
}

void
end_pretend(struct end *end, const struct segment *syn)
{
	const struct segment answer = {
		.source = syn->destination, .destination = syn->source,
		.sequence = end_sequence(end, syn->sequence), .acknowledgement = syn->sequence + 1,
		.window = WINDOW, .flags = SEGMENT_SYN | SEGMENT_ACK, .most = end->plan.most,
	};

	put(end, &answer);
}

static bool
put_datagram(struct end *end, const struct datagram *datagram)
{
	uint8_t *frame = end->output.room(end->output.context, datagram_frame_bytes(datagram));

	if (frame == NULL) {
		end->counts.no_room++;
		return false;
	}
	datagram_write(frame, &end->plan.macs, datagram);
	end->counts.sent++;
	return true;
}

bool
end_send_request(struct end *end, const struct connection *connection, uint32_t number)
{
	const struct datagram request = {
		.source = { end->plan.first.ip + connection->own, connection->own_port },
		.destination = { connection->peer_ip, connection->peer_port },
		.number = (number & END_NUMBER) |
			((connection->flags & CONNECTION_HOLDS) != 0 ? END_HOLD : 0),
		.bytes = (uint16_t)end->out->bytes, .data = end->out->message,
	};

	return put_datagram(end, &request);
}

bool
end_respond(struct end *end, const struct packet_end *from, const struct packet_end *to,
	uint32_t number)
{
	const struct datagram response = {
		.source = *from, .destination = *to, .number = number,
		.bytes = (uint16_t)end->out->bytes, .data = end->out->message,
	};

	return put_datagram(end, &response);
}

void
end_refuse_datagram(struct end *end, const struct datagram *datagram)
{
	uint8_t *frame = end->output.room(end->output.context, datagram_refusal_bytes(datagram));

	if (frame == NULL) {
		end->counts.no_room++;
		return;
	}
	datagram_refuse(frame, &end->plan.macs, datagram);
	end->counts.sent++;
}

/* Send what nobody has acknowledged for longest once more. */
static void
repeat(struct end *end, struct connection *connection)
{
	uint32_t from = connection->unacknowledged, bytes;

	end->counts.repeated++;
	if (end->plan.transport == TRANSPORT_UDP) {
		end_send_request(end, connection, from);
		return;
	}
	switch (connection->state) {
	case CONNECTION_ASKING:
		end_send(end, connection, SEGMENT_SYN, from, NULL, 0);
		return;
	case CONNECTION_ASKED:
		end_send(end, connection, SEGMENT_SYN | SEGMENT_ACK, from, NULL, 0);
		return;
	default:
		break;
	}
	bytes = message_stop(end, connection) - from;
	if (bytes != 0 && bytes <= end->out->bytes)
		send_piece(end, connection, from,
			least(least(bytes, end->size), connection->next - from));
	else if (connection->state == CONNECTION_CLOSING)
		end_send(end, connection, SEGMENT_FIN | SEGMENT_ACK, from, NULL, 0);
}

/* Whether any of it is what is expected, or at least within the window (section 3.4). */
static bool
is_acceptable(const struct connection *connection, const struct segment *segment)
{
	uint32_t span = segment_span(segment);
	uint32_t first = segment->sequence - connection->expected;

	return first < WINDOW || (span != 0 && first + span - 1 < WINDOW);
}

/* False: it acknowledges what was never sent. */
static bool
take_acknowledgement(struct end *end, struct connection *connection, const struct segment *segment)
{
	uint32_t acknowledged = segment->acknowledgement - connection->unacknowledged;
	uint32_t flying = connection->next - connection->unacknowledged;

	if (segment_before(segment->acknowledgement, connection->unacknowledged))
		return true;
	if (acknowledged > flying)
		return false;
	connection->window = segment->window;
	if (acknowledged == 0)
		return true;
	connection->unacknowledged = segment->acknowledgement;
	connection->attempts = 1;
	if (acknowledged == flying)
		connection->flags &= (uint8_t)~CONNECTION_RECOVERS;
	else if ((connection->flags & CONNECTION_RECOVERS) != 0)
		repeat(end, connection);
	return true;
}

/* Leave what comes next in the sequence. */
static void
trim(struct end *end, const struct connection *connection, struct segment *segment)
{
	uint32_t before = connection->expected - segment->sequence;

	if (segment_before(connection->expected, segment->sequence)) {
		end->counts.disordered += segment_span(segment) != 0;
		segment->bytes = 0;
		segment->flags &= (uint8_t)~SEGMENT_FIN;
		return;
	}
	before = least(before, segment->bytes);
	segment->data += before;
	segment->bytes -= (uint16_t)before;
	segment->sequence += before;
}

enum heard
end_hear(struct end *end, struct connection *connection, struct segment *segment)
{
	bool challenges = (segment->flags & SEGMENT_SYN) != 0;

	connection->flags &= (uint8_t)~CONNECTION_REPLIED;
	if (!is_acceptable(connection, segment)) {
		end_acknowledge(end, connection, (segment->flags & SEGMENT_RST) == 0);
		return HEARD_NOTHING;
	}
	if ((segment->flags & SEGMENT_RST) != 0) {
		if (segment->sequence == connection->expected)
			return HEARD_RESET;
		challenges = true;
	}
	if (!challenges && (segment->flags & SEGMENT_ACK) == 0)
		return HEARD_NOTHING;
	if (challenges || !take_acknowledgement(end, connection, segment)) {
		end_acknowledge(end, connection, true);
		return HEARD_NOTHING;
	}
	trim(end, connection, segment);
	connection->flags &= (uint8_t)~CONNECTION_REPLIED;
	return HEARD_SEGMENT;
}

void
end_take_segment(struct connection *connection, const struct segment *segment)
{
	connection->expected += segment->bytes;
	if ((segment->flags & SEGMENT_FIN) == 0 || (connection->flags & CONNECTION_HAS_FIN) != 0)
		return;
	connection->expected++;
	connection->flags |= CONNECTION_HAS_FIN;
}

void
end_acknowledge(struct end *end, struct connection *connection, bool is_owed)
{
	if (is_owed && (connection->flags & CONNECTION_REPLIED) == 0)
		end_send(end, connection, SEGMENT_ACK, connection->next, NULL, 0);
	connection->flags &= (uint8_t)~CONNECTION_REPLIED;
}

void
end_note_peer(struct end *end, struct connection *connection, const struct segment *segment)
{
	uint16_t most = segment->most != 0 ? segment->most : MOST_UNNAMED;

	connection->window = segment->window;
	if (most < end->size)
		end->size = most;
}

void
end_wait(struct end *end, struct connection *connection, uint64_t cycles)
{
	if (!end_is_acknowledged(connection))
		cycles = end->plan.repeat_cycles << (connection->attempts - 1);
	wheel_set(&end->wheel, end_number(end, connection),
		(uint32_t)((end->now + cycles - end->origin) >> end->tick_shift) + 1);
}

bool
end_late(struct end *end, struct connection *connection)
{
	if (connection->attempts >= end->plan.attempts)
		return false;
	connection->attempts++;
	connection->flags |= CONNECTION_RECOVERS;
	repeat(end, connection);
	end_wait(end, connection, 0);
	return true;
}

struct connection *
end_timer(struct end *end)
{
	uint32_t number = wheel_next(&end->wheel,
		(uint32_t)((end->now - end->origin) >> end->tick_shift));

	return number != CONNECTION_NONE ? &end->connection[number] : NULL;
}
