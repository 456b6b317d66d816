/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONNECTIONS_H
#define TGEN_CONNECTIONS_H

/* Connections between a client and a server of this engine, or with somebody else: plain data. */

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "flood.h"
#include "server.h"

#define CONNECTIONS_MOST (UINT32_C(1) << 22) /* at a time, at each end */

struct connections_end {
	bool is_here;
	uint16_t port; /* of the engine */
	struct packet_macs macs;
	struct packet_end first;
	uint16_t addresses;
	uint32_t ports; /* a server has one */
};

struct connections_request {
	enum transport transport;
	struct connections_end client, server;
	uint16_t turned; /* so many ports behind its first one the client begins */
	struct packet_end target; /* whom the client asks, from that address on in turn */
	uint16_t targets;
	enum content_kind content;
	uint32_t request_bytes, response_bytes;
	uint16_t requests; /* of a connection */
	uint64_t pause_ns, hold_ns;
	uint64_t rate_mfps, intended; /* connections; both 0 without a client */
	struct {
		uint64_t rate_mfps, intended; /* requests by a clock on all of them; 0: none */
		uint64_t duration_ns;
	} asking;
	struct {
		uint64_t rate_mfps; /* SYNs of nobody, where the client is; 0: none */
		struct packet_end first;
		uint16_t addresses;
		bool is_answered;
	} flood;
	uint64_t duration_ns; /* for which they are begun, or a server serves; 0: until all have begun */
	uint16_t burst;
	uint16_t most; /* bytes of data in a segment or datagram */
	uint8_t attempts;
	uint64_t repeat_ns, patience_ns, idle_ns;
	uint32_t capacity; /* connections of the server at a time */
	uint64_t drain_ns; /* for those that are under way in the end */
	uint64_t quiet_ns; /* for what the server still has to hear, when the client is done */
	uint64_t slot_ns; /* 0: no slots */
};

/* Requests by a clock, and what went over the wire for them. */
struct asking_result {
	uint64_t intended, unasked;
	uint64_t asking, replying, elapsed; /* cycles to the last request, the last response, and the end */
	uint64_t paused_cycles, busy_cycles;
	const struct asking_counts *counts;
	struct end_counts client_end, server_end;
};

struct connections_result {
	bool has_client, has_server;
	bool settled; /* nothing was under way at the client in the end */
	uint16_t begin_port; /* of the client */
	uint64_t intended, unsent;
	uint64_t launching, completing; /* cycles to the last SYN, and to the end of the last one; 0: none */
	const struct client_counts *client;
	const struct server_counts *server;
	const struct end_counts *client_end, *server_end;
	const struct histogram *handshake, *first, *response;
	const struct client_slots *slots; /* NULL: not asked for */
	const uint64_t *away; /* cycles of each slot for which the worker did not run */
	uint32_t slots_used;
	bool has_asking;
	struct asking_result asking;
	const struct flood_counts *flood; /* NULL: there was none */
};

#endif /* TGEN_CONNECTIONS_H */
