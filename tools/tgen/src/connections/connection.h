/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONNECTION_H
#define TGEN_CONNECTION_H

/* One connection as one of its ends knows it: a cache line, since there may be millions. */

#include <stdint.h>

#define CONNECTION_NONE UINT32_MAX

enum connection_state {
	CONNECTION_FREE, /* or, at a client, over: what its peer repeats is still answered */
	CONNECTION_ASKING, /* a client's SYN is on its way */
	CONNECTION_ASKED, /* a server has answered one, and nobody knows yet whether that arrived */
	CONNECTION_OPEN, /* a message is on its way, or waited for */
	CONNECTION_RESTING, /* a client keeps it open */
	CONNECTION_CLOSING, /* its own FIN has left */
};

#define CONNECTION_HAS_FIN 0x1 /* of its peer */
#define CONNECTION_RECOVERS 0x2 /* what was sent up to `next` may have to be sent again */
#define CONNECTION_MISANSWERED 0x4 /* by somebody who was not asked */
#define CONNECTION_REPLIED 0x8 /* to what is being heard: an answer of its own has left */
#define CONNECTION_HOLDS 0x10 /* of UDP: its request is the last one, and is answered twice */

struct connection {
	struct {
		uint32_t next, previous; /* in a list of the wheel; of a free one: the next of these */
		uint32_t due; /* tick */
	} timer;
	uint32_t left; /* bytes of the message that comes in, which are still to come */
	uint64_t scheduled_tsc; /* when its SYN was due */
	uint64_t asked_tsc; /* when the request left */
	uint32_t peer_ip;
	uint16_t peer_port, own_port;
	uint32_t unacknowledged, next, expected; /* SND.UNA, SND.NXT and RCV.NXT of RFC 9293 */
	uint32_t begin; /* where in the sequence the message that goes out begins */
	uint16_t window; /* of its peer */
	uint16_t turn; /* requests that are answered */
	uint8_t state;
	uint8_t attempts; /* to send what is not acknowledged */
	uint8_t flags;
	uint8_t own; /* which of its end's addresses it has */
};

_Static_assert(sizeof(struct connection) == 64, "a connection is a cache line");

#endif /* TGEN_CONNECTION_H */
