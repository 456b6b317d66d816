/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CLIENT_H
#define TGEN_CLIENT_H

/*
 * Who begins connections: on schedule, whatever became of those before; asks, hears the response, keeps
 * the connection open for a while, and closes it with a FIN. Each that was due has one outcome.
 *
 * Over UDP a connection is a flow from a port of its own. It begins with its first request, which is what
 * a SYN is otherwise, and ends with its last response. One that is held ends when that has come again.
 */

#include "asking.h"
#include "end.h"
#include "histogram.h"
#include "pacer.h"
#include "slots.h"

struct client_plan {
	struct end_plan end;
	uint16_t turned; /* so many ports behind the first one they begin, and go round to that one */
	struct packet_end target; /* the first one, and how many addresses from there on take turns */
	uint16_t targets;
	uint16_t requests; /* of each connection, one after the other */
	uint64_t pause_cycles; /* from a response to the next request */
	uint64_t hold_cycles; /* from the last response to the FIN, or until that has come again */
	uint64_t rate_mfps; /* connections in a thousand seconds, above 0 */
	uint64_t intended; /* connections */
	uint16_t burst; /* at most so many at once */
	struct asking_plan asking;
};

/* What became of a connection. */
enum client_outcome {
	CLIENT_COMPLETED, /* all responses were right, and both ends closed it */
	/* Its SYN was not answered: */
	CLIENT_REFUSED, /* with a RST, or by ICMP */
	CLIENT_NO_ANSWER, /* by anybody, as often as it was sent */
	CLIENT_MISANSWERED, /* by who was asked, though by another address or port */
	CLIENT_GIVEN_UP, /* before the end */
	/* Its SYN was, but then: */
	CLIENT_RESET, /* it was ended from the other side, by a RST or a FIN before its time, or by ICMP */
	CLIENT_NO_RESPONSE,
	CLIENT_WRONG_PAYLOAD,
	CLIENT_NOT_CLOSED, /* nobody acknowledged its FIN, or none came back */
	CLIENT_UNFINISHED, /* at the end */
	CLIENT_OUTCOMES,
};

/* By slots of time, each in that in which its SYN, or its request by a clock, was due. */
struct client_slots {
	struct slot_grid grid;
	uint32_t *launched, *answered, *completed;
	uint32_t *heard; /* SYN-ACKs of who was asked, each in that in which it came */
	uint32_t *asked, *replied; /* requests by a clock: those that could not be asked are among the first */
	uint32_t *established; /* as many were at the end of it, or when it was last looked */
};

struct client_counts {
	uint64_t launched; /* SYNs sent for the first time */
	uint64_t answered; /* connections established: by a SYN-ACK of who was asked */
	uint64_t outcome[CLIENT_OUTCOMES];
	uint64_t repeated_syns;
	uint64_t misanswers; /* SYN-ACKs of others */
	uint64_t requests, responses; /* whole ones; a request counts when its first byte leaves */
	uint64_t response_bytes;
	uint64_t established, most_established; /* now, and ever: from the SYN-ACK to its own FIN */
	uint64_t no_port; /* looks at which all addresses and ports were taken */
	uint64_t last_launched_tsc, last_completed_tsc; /* 0: none was */
};

struct client {
	struct end end;
	struct client_plan plan;
	struct pacer pacer;
	uint64_t earliest; /* TSC of the next SYN, when they are behind their schedule */
	struct client_counts counts;
	uint32_t resting; /* connections that wait for nothing */
	struct asking asking;
	/* Cycles; all three are given by who owns the client. */
	struct histogram *handshake; /* from when the SYN was due to the SYN-ACK */
	struct histogram *first; /* from when the SYN was due to the end of the first response */
	/* From the request, or when it was due by a clock, to the end of the response; of a client that asks
	 * by a clock these alone. */
	struct histogram *response;
	struct histogram *lateness; /* of SYNs, and of requests by a clock */
	struct client_slots *slots; /* NULL: not asked for */
};

/* Histograms and slots are left to be set. `out` and `in` stay the caller's. */
int client_create(struct client *client, const struct client_plan *plan,
	const struct content *out, const struct content *in, const struct output *output,
	uint64_t origin, struct error *error);
void client_destroy(struct client *client);

/* Its schedule begins now, and is moved by a pause of so many cycles: that of requests, once they began. */
void client_begin(struct client *client, uint64_t now);
void client_pause(struct client *client, uint64_t cycles);

/* Send the SYNs that are due; false when all that were intended have left. */
bool client_launch(struct client *client, uint64_t now);
/*
 * When all have left: ask by the clock, if there is room for what leaves then, and close in the end. False
 * when nothing of that is left to do.
 */
bool client_clock(struct client *client, uint64_t now, bool has_room);
/* Whether it is of one of our addresses and ports; then it has been dealt with. */
bool client_receive(struct client *client, struct segment *segment, uint64_t now);
bool client_receive_datagram(struct client *client, const struct datagram *datagram, uint64_t now);
/* Look after those whose time has come; at most so many. */
void client_timers(struct client *client, uint64_t now, unsigned int most);
/*
 * So many connections from one number on end here, and what was established is reset. Returns whether any
 * others are under way.
 */
bool client_end(struct client *client, uint64_t now, uint32_t first, uint32_t count);

/* For what it hears: of an address and a port; NULL: they are not ours. */
struct connection *client_connection_at(const struct client *client, const struct packet_end *where);
/* Who was asked has answered what began it. */
void client_note_answered(struct client *client, const struct connection *connection);
/* A response is whole: ask again, keep it open, or close it. */
void client_go_on(struct client *client, struct connection *connection);
/* It is over. One that was closed in order still answers what its peer repeats (TIME-WAIT). */
void client_conclude(struct client *client, struct connection *connection,
	enum client_outcome outcome);

/* For client_clock(): one that rests asks now, what was due then; or, if it does rest, it is closed. */
void client_ask(struct client *client, struct connection *connection, uint64_t due_tsc);
void client_close(struct client *client, struct connection *connection);

static inline bool
client_is_asking(const struct client *client)
{
	return client->asking.phase == ASKING_GOES_ON;
}

static inline bool
client_is_done(const struct client *client)
{
	return client->end.active == 0;
}

/* Due in the trial, and never sent. */
static inline uint64_t
client_unsent(const struct client *client)
{
	return client->plan.intended - client->counts.launched;
}

#endif /* TGEN_CLIENT_H */
