/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RESPOND_H
#define TGEN_RESPOND_H

/*
 * Answers to devices that ask where an address is. While workers run, whoever receives writes the
 * answer and hands it to the worker that may send on the port's first queue; while they are parked
 * the main lcore looks after the ports, and answers by itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "neighbours.h"

/* Answers on their way to one port. */
struct answers {
	uint16_t port;
	struct rte_mempool *pool; /* of what is sent there */
	struct rte_ring *ring;
	struct neighbours neighbours;
};

struct engine;
struct receiver;
struct worker;

/* Let the ports answer, or not, for the hosts of the traffic; the workers are parked. */
int respond_prepare(struct engine *engine, struct error *error);
void respond_free(struct engine *engine);

/* Whether the frame asked for one of us; the answer is on its way then. From a receiving worker. */
bool respond_to(const struct receiver *receiver, const struct rte_mbuf *request);

/* Send the answers of the ports that are this worker's to send on. */
void respond_send(struct worker *worker);

/* Look after the ports while no worker does, for those who listen, too. From the main lcore. */
void respond_idle(struct engine *engine);

#endif /* TGEN_RESPOND_H */
