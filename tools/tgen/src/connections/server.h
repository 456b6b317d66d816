/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SERVER_H
#define TGEN_SERVER_H

/*
 * Who is asked: accepts connections at one port of each of its addresses, answers every request, and
 * closes when its peer has. Whoever comes through a device has an address that only the device knows, so
 * connections are found by a hash of it.
 *
 * Of UDP it answers each request by itself: what it accepts are requests. It keeps those alone that it is
 * to answer once more, when their flows have been held; all for the same time, so they come one by one.
 */

#include "end.h"

struct server_plan {
	struct end_plan end; /* with one port */
	uint32_t capacity; /* connections at a time, or requests that are kept */
	uint64_t hold_cycles; /* of UDP: until a request that is kept is answered once more */
	bool answers_flood; /* with SYN-ACKs that nobody goes on from: half-open connections */
};

/* What became of a connection that was accepted. */
enum server_outcome {
	SERVER_CLOSED, /* in order, by both ends; of UDP: answered */
	SERVER_HALF_OPEN, /* nobody acknowledged that it was accepted, as often as it was said */
	SERVER_RESET,
	SERVER_WRONG_PAYLOAD, /* a request was not what a client sends; a connection was reset for that */
	SERVER_NOT_HEARD, /* nobody acknowledged a response; of UDP: there was no room for it */
	SERVER_IDLE, /* nobody said anything for as long as its patience lasts */
	SERVER_NOT_CLOSED, /* nobody acknowledged its FIN */
	SERVER_LEFT, /* at the end */
	SERVER_OUTCOMES,
};

struct server_counts {
	uint64_t flooded; /* SYNs of a flood (flood.h), of which nothing is kept */
	uint64_t accepted; /* SYNs answered, repeated ones left out */
	uint64_t full; /* SYNs that were not, or requests not kept, as there were too many */
	uint64_t established; /* so the client has heard it */
	uint64_t requests, responses; /* whole ones; a response counts when its first byte leaves */
	uint64_t request_bytes;
	uint64_t most; /* connections at a time, those that are half open and closing included; or kept */
	uint64_t outcome[SERVER_OUTCOMES];
};

/* A request that is answered once more. */
struct server_kept {
	struct packet_end from, to; /* the server's own end, and who asked */
	uint32_t number;
	uint64_t due_tsc;
};

struct server {
	struct end end;
	struct server_plan plan;
	struct server_counts counts;
	uint32_t *bucket, *after; /* first connection of a hash; which one comes after each */
	uint32_t mask;
	struct server_kept *kept; /* a ring */
	uint32_t first_kept, kept_count;
};

/*
 * So often a server sends something that its client is the first to give up: then it tells why, and it is
 * not the server's RST that ends a connection which some device has broken.
 */
uint8_t server_attempts(const struct end_plan *client);

/* `out` and `in` stay the caller's. */
int server_create(struct server *server, const struct server_plan *plan,
	const struct content *out, const struct content *in, const struct output *output,
	uint64_t origin, struct error *error);
void server_destroy(struct server *server);

/* Whether it is for one of our addresses; then it has been dealt with. */
bool server_receive(struct server *server, struct segment *segment, uint64_t now);
bool server_receive_datagram(struct server *server, const struct datagram *datagram, uint64_t now);
/* Look after those whose time has come; at most so many. */
void server_timers(struct server *server, uint64_t now, unsigned int most);
/*
 * So many connections from one number on end here, and what was established is reset. Returns whether any
 * others are left.
 */
bool server_end(struct server *server, uint64_t now, uint32_t first, uint32_t count);

static inline bool
server_is_done(const struct server *server)
{
	return server->end.active == 0;
}

#endif /* TGEN_SERVER_H */
