/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_END_H
#define TGEN_END_H

/*
 * What both ends of connections have in common: TCP itself (RFC 9293), as far as it does not matter who
 * began. Frames come in as segments, and go out through `output`; there is no clock but `now`, and no
 * device.
 *
 * Of UDP there is less: a message is a datagram, which begins with the number of its request, and a
 * request that has no response yet is what is not acknowledged. One that says so in its number is answered
 * twice: at once, and when its flow has been held. Nobody asks for that a second time, so it arrives only
 * if a device on the way still knows the flow.
 *
 * What is not in order is dropped, and comes again (a SHOULD of section 3.10.7.4 that costs memory). As
 * much as ten segments is on its way at a time (RFC 6928), and no more. A challenge is answered as
 * RFC 5961 wants it. There are no options but the one that says how long segments may be, and all of a
 * window of 64 KiB is always free, since nothing waits in it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "content.h"
#include "datagram.h"
#include "segment.h"
#include "wheel.h"

#define END_MOST_ADDRESSES 256
#define END_FLIGHT 10 /* segments */
/* What is in the number of a datagram: of a request, that it is answered twice; and that this is why. */
#define END_HOLD UINT32_C(0x80000000)
#define END_HELD UINT32_C(0x40000000)
#define END_NUMBER UINT32_C(0x3fffffff)

/* Where frames leave by: room for one of so many bytes, which then leaves. NULL: there is none now. */
struct output {
	void *context;
	uint8_t *(*room)(void *context, uint16_t bytes);
};

enum transport { TRANSPORT_TCP, TRANSPORT_UDP };

struct end_plan {
	enum transport transport;
	struct packet_macs macs;
	struct packet_end first; /* its first address and port */
	uint16_t addresses; /* from that one on, up to END_MOST_ADDRESSES; */
	uint32_t ports; /* and ports of each */
	uint16_t most; /* bytes of data in a segment or datagram, either way */
	uint8_t attempts; /* to send something, before it is given up */
	uint64_t repeat_cycles; /* between the first two; each time it is twice as long */
	uint64_t patience_cycles; /* for what its peer has to say, when it has heard everything */
	uint64_t tsc_hz;
};

/* All that an end counts as such. */
struct end_counts {
	uint64_t sent, received; /* segments or datagrams; those that are damaged or stray included */
	uint64_t damaged; /* by a checksum or a length */
	uint64_t stray; /* of no connection, or from somebody who has no part in it */
	uint64_t repeated; /* sent again, for nobody had acknowledged them; SYNs included */
	/* Received before another one, and dropped; of UDP, behind: responses to requests that have one. */
	uint64_t disordered;
	uint64_t no_room; /* to send one: it is sent later */
};

struct end {
	struct end_plan plan;
	struct output output;
	const struct content *out, *in;
	struct connection *connection;
	uint32_t capacity;
	uint32_t first_free, last_free; /* the one that has been free for longest comes first */
	uint32_t active;
	struct wheel wheel;
	uint64_t origin, now; /* TSC of the begin, and of what is being worked on */
	uint16_t size; /* of segments: the least that anybody has named */
	uint8_t tick_shift, sequence_shift; /* from cycles to about a millisecond, and four microseconds */
	struct end_counts counts;
};

/* `origin` is the TSC of now. 0, or -ENOMEM. */
int end_create(struct end *end, const struct end_plan *plan, const struct output *output,
	uint32_t capacity, uint64_t origin, struct error *error);
void end_destroy(struct end *end);

/* Which of its addresses that is; not less than all of them: none. */
static inline uint32_t
end_own(const struct end *end, uint32_t ip)
{
	return ip - end->plan.first.ip;
}

static inline uint32_t
end_number(const struct end *end, const struct connection *connection)
{
	return (uint32_t)(connection - end->connection);
}

/* A free connection, or CONNECTION_NONE; it is free until it is taken. */
static inline uint32_t
end_first_free(const struct end *end)
{
	return end->first_free;
}

/* Take the first free one; give one back, whose timer is then unset. */
void end_take(struct end *end);
void end_give_back(struct end *end, struct connection *connection);

/* The first number of a sequence, which goes with time (section 3.4.1). */
uint32_t end_sequence(const struct end *end, uint32_t number);

/* Send a segment of a connection: false when there was no room. */
bool end_send(struct end *end, struct connection *connection, uint8_t flags, uint32_t sequence,
	const uint8_t *data, uint16_t bytes);
/* Send what of the message that begins at `begin` may be sent. */
void end_send_message(struct end *end, struct connection *connection);
/* All of it has left. */
bool end_message_left(const struct end *end, const struct connection *connection);
/*
 * Where nothing is on its way, though not all has left: ask by a byte whether a peer that took nothing does
 * now (section 3.8.6.1). And how long what has not left waits: for room, or for that.
 */
void end_probe(struct end *end, struct connection *connection);
static inline uint64_t
end_held_up(const struct end *end, const struct connection *connection)
{
	return connection->window != 0 ? 0 : end->plan.repeat_cycles;
}
/* Send the FIN, and be closing. */
void end_close(struct end *end, struct connection *connection);
/* Tell the peer that there is no such connection any more. */
void end_abort(struct end *end, struct connection *connection);
/* Tell somebody that there is none (section 3.10.7.1). */
void end_refuse(struct end *end, const struct segment *segment);

/* Answer a SYN as if there were a connection, of which nobody knows then: nor is it counted as sent. */
void end_pretend(struct end *end, const struct segment *syn);

/* Of UDP: send the request of a number, and a response; false when there was no room. */
bool end_send_request(struct end *end, const struct connection *connection, uint32_t number);
bool end_respond(struct end *end, const struct packet_end *from, const struct packet_end *to,
	uint32_t number);
/* Tell somebody that nobody is at the port of his datagram (RFC 1122, section 4.1.3.1). */
void end_refuse_datagram(struct end *end, const struct datagram *datagram);

enum heard { HEARD_NOTHING, HEARD_RESET, HEARD_SEGMENT };

/*
 * A segment of a connection that is open, or closing. Of HEARD_SEGMENT the acknowledgement is taken, and
 * what is left in it comes next in the sequence: data, FIN, both or neither.
 */
enum heard end_hear(struct end *end, struct connection *connection, struct segment *segment);
/* Its data and FIN are taken; data has to be looked at. */
void end_take_segment(struct connection *connection, const struct segment *segment);
/* Acknowledge what has been taken, unless that has been done along the way. */
void end_acknowledge(struct end *end, struct connection *connection, bool is_owed);

/* What a segment says of its sender: how much it takes. */
void end_note_peer(struct end *end, struct connection *connection, const struct segment *segment);

/* Wait for an acknowledgement, where something is on its way; otherwise for so long. */
void end_wait(struct end *end, struct connection *connection, uint64_t cycles);
/* It has not come: send again, or, false, give up. */
bool end_late(struct end *end, struct connection *connection);
static inline bool
end_is_acknowledged(const struct connection *connection)
{
	return connection->unacknowledged == connection->next;
}

/* Which connection's time has come, by `now`; NULL: none. */
struct connection *end_timer(struct end *end);

#endif /* TGEN_END_H */
