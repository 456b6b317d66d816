/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONNECTIONS_WORKER_H
#define TGEN_CONNECTIONS_WORKER_H

/* A worker's part in connections: one thread is both ends, so that the device has the other CPUs. */

#include "connections.h"
#include "neighbours.h"
#include "worker.h"

#define CONNECTIONS_HELD 1024 /* frames that a port has not taken yet */

/* A port at which one of the ends is, or both. */
struct connections_port {
	uint16_t number, device;
	struct rte_mempool *short_pool, *long_pool;
	struct capture *capture;
	struct client *client; /* NULL: it is not here */
	struct server *server;
	struct flood *flood;
	struct neighbours neighbours; /* who asks for an address of an end is answered */
	uint64_t retries, no_buffers;
	uint16_t receivers, held;
	struct receiver *receiver[WORKER_MAX_QUEUES];
	struct rte_mbuf *buffer[CONNECTIONS_HELD];
};

/* How far all had come at a moment. */
struct connections_moment {
	uint64_t tsc, busy_cycles;
	struct end_counts client, server;
};

struct connections {
	struct connections_request request;
	uint16_t ports; /* 2, or 1 that both ends are at */
	struct connections_port port[2];
	struct content question, response;
	struct client client;
	struct server server;
	struct flood flood;
	struct histogram *histogram[3];
	struct client_slots slots;
	uint64_t duration_cycles, drain_cycles, quiet_cycles, asking_cycles;
	/* Written by the worker from here on. */
	uint64_t over_tsc; /* no connection begins any more; 0: they do */
	uint64_t done_tsc; /* none is under way at the client; 0: some are */
	bool settled;
	struct connections_moment asking_begun, asking_heard; /* all 0: not yet */
	uint64_t asking_paused_cycles;
};

/* Room for a frame of a port, which leaves in the worker's next round; as struct output wants it. */
uint8_t *connections_room(void *context, uint16_t bytes);

/* Until all is over, or the command changes. */
void connections_run(struct worker *worker);

#endif /* TGEN_CONNECTIONS_WORKER_H */
