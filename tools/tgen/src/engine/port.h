/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PORT_H
#define TGEN_PORT_H

/* One DPDK port: configured once, started once; what it was given is in its facts. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "engine.h"
#include "error.h"

#define PORT_BURST TGEN_BURST
#define PORT_TAGS 64 /* room in a buffer for what a switch adds to a frame */
#define PORT_POOLS 2
#define PORT_SHORT 128 /* bytes of a frame that is sent from the receive pool */
#define PORT_ANSWERS 256 /* most that wait to be sent; a power of two */

struct port {
	uint16_t id;
	uint16_t receive_queues, transmit_queues;
	uint16_t receive_ring, transmit_ring; /* asked for, within the limits of the device */
	uint16_t max_frame; /* longest frame, with FCS, that is sent or expected */
	uint64_t receive_offloads, transmit_offloads;
	struct rte_eth_stats before; /* what the device had counted when the trial began, */
	bool has_before; /* if it told */
	/*
	 * Whoever receives from this port gets the very buffer that was sent, and may have written
	 * to it before it comes back: nothing in a buffer can be relied on.
	 */
	bool shares_buffers;
	/*
	 * The device gives buffers back without looking at each: all that it sends comes from one
	 * pool, and nobody else holds it.
	 */
	bool fast_free;
	uint16_t workers; /* that send */
	struct rte_mempool *receive_pool; /* and of short frames to send */
	/* Of longer frames, by room for the longest, or of all where there has to be one; created
	 * when first needed.
	 */
	struct rte_mempool *transmit_pool[PORT_POOLS];
};

/* The most queues each way that a device offers, up to `queues`. */
int port_limit_queues(uint16_t id, uint16_t *receive, uint16_t *transmit, struct error *error);

/* Configure and start; on failure nothing is left behind. */
int port_start(struct port *port, uint16_t id, uint16_t receive_queues, uint16_t transmit_queues,
	uint16_t workers, const struct engine_options *options, struct error *error);
void port_stop(struct port *port);

/*
 * Buffers to send frames of up to `length` bytes. Short ones come from the pool that received
 * frames go back to: both directions then go round in the same few buffers, which whoever is at
 * the other end has in its cache. It takes OVS 4 % less time for each frame than with two pools.
 * Where the device frees fast, all of them come from one pool that is for sending only.
 */
struct rte_mempool *port_transmit_pool(struct port *port, uint16_t length, struct error *error);

void port_read_facts(const struct port *port, struct port_facts *facts);

#endif /* TGEN_PORT_H */
