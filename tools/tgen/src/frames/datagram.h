/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_DATAGRAM_H
#define TGEN_DATAGRAM_H

/*
 * UDP datagrams (RFC 768) in IPv4 and Ethernet, each with a number of ours in front of its data, and what
 * ICMP (RFC 792) says of those that did not arrive: written, and read again. Bytes in, bytes out: nothing
 * here knows a flow. Checksums are computed, both ways.
 */

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define DATAGRAM_NUMBER 4 /* bytes of data that say which request it is, or is the response to */

struct datagram {
	struct packet_end source, destination;
	bool is_unreachable; /* it is one of which ICMP says that it did not arrive: it has no data then */
	uint32_t number; /* in place of the first bytes of data */
	uint16_t bytes; /* of data, the number included; 0 or DATAGRAM_NUMBER at least where it is written */
	const uint8_t *data;
	const uint8_t *ip; /* of one that was read: its packet; */
	uint16_t quoted; /* and so many bytes of it that say whose it is */
};

/* How long the frame of a datagram is, without FCS. */
uint16_t datagram_frame_bytes(const struct datagram *datagram);
/* Write the frame, which has to have room for it; returns its length. */
uint16_t datagram_write(uint8_t *frame, const struct packet_macs *macs,
	const struct datagram *datagram);

/* The same of what ICMP says of one that was read and is for a port at which nobody is. */
uint16_t datagram_refusal_bytes(const struct datagram *datagram);
uint16_t datagram_refuse(uint8_t *frame, const struct packet_macs *macs,
	const struct datagram *datagram);

/* Data of a datagram that was read is in the frame. Nothing behind `length` bytes is looked at. */
enum packet_seen datagram_read(const uint8_t *frame, uint16_t length, struct datagram *datagram);

#endif /* TGEN_DATAGRAM_H */
