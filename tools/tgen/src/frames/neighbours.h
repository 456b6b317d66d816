/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_NEIGHBOURS_H
#define TGEN_NEIGHBOURS_H

/*
 * Who answers when a device asks which MAC address has an IP address: by ARP, or by a neighbour
 * solicitation of IPv6 (RFC 826, RFC 4861). Bytes in, bytes out; nothing here sends.
 */

#include <stdbool.h>
#include <stdint.h>

#include "traffic.h"

#define NEIGHBOURS_MOST_HOSTS 64 /* beside those of the streams */
#define NEIGHBOURS_MOST (NEIGHBOURS_MOST_HOSTS + 4 * TGEN_MAX_STREAMS)
#define NEIGHBOURS_REQUEST 128 /* bytes of a frame that have to be looked at */
#define NEIGHBOURS_ANSWER 128 /* room for an answer */

/* A host that was named in a request. */
struct host {
	uint16_t port;
	enum layer3 layer3;
	uint8_t ip[16]; /* IPv4 in the first 4 */
	uint8_t mac[6];
};

/* What the controller wants answered. */
struct responder {
	bool on;
	uint16_t hosts;
	struct host host[NEIGHBOURS_MOST_HOSTS];
};

/* `count` addresses, `step` apart, that one MAC has. */
struct neighbour {
	enum layer3 layer3;
	uint32_t count, step;
	uint8_t ip[16];
	uint8_t mac[6];
};

/* The hosts behind one port. */
struct neighbours {
	uint16_t count;
	struct neighbour neighbour[NEIGHBOURS_MOST];
};

/*
 * The hosts that the controller named, then those that frames come from, then those that they go
 * to; of a tunnel its ends as well as what is inside. Frames to a device that routes have its MAC
 * address, so hosts where frames go to have the one that the port is known by.
 */
void neighbours_fill(struct neighbours *neighbours, uint16_t port,
	const struct responder *responder, const struct traffic *traffic);

/*
 * Write the answer to a frame, and return how long it is, or 0: nobody asked, or not for one of
 * us. `length` may be less than the frame has, but not less than NEIGHBOURS_REQUEST of it.
 */
uint16_t neighbours_answer(const struct neighbours *neighbours, const uint8_t *frame,
	uint16_t length, uint8_t answer[NEIGHBOURS_ANSWER]);

#endif /* TGEN_NEIGHBOURS_H */
