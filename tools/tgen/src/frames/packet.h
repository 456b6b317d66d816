/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PACKET_H
#define TGEN_PACKET_H

/* IPv4 packets (RFC 791) in Ethernet, up to what they carry; segments and datagrams are read from these. */

#include <stdint.h>
#include <string.h>

#include "layers.h"

#define PACKET_SHORTEST 60 /* a frame without FCS; what is shorter gets padding */

/* One end of what a packet carries. */
struct packet_end {
	uint32_t ip;
	uint16_t port;
};

struct packet_macs {
	uint8_t source[6], destination[6];
};

struct packet {
	const uint8_t *ip; /* its header; */
	uint16_t header; /* so long */
	uint8_t protocol;
	uint16_t bytes; /* of what it carries, from here on */
	const uint8_t *data;
};

enum packet_seen {
	PACKET_READ,
	PACKET_FOREIGN, /* another kind of packet, or a piece of one */
	PACKET_DAMAGED, /* a length or a checksum is wrong */
};

/* Nothing behind `length` bytes is looked at. */
enum packet_seen packet_read(const uint8_t *frame, uint16_t length, struct packet *packet);

/* The sum of the pseudo header of so many bytes that a packet with this header carries. */
static inline uint64_t
packet_sum(const uint8_t *ip, uint16_t bytes)
{
	const struct layer_ip pseudo = {
		.layer3 = LAYER3_IPV4, .protocol = ip[9], .source = ip + 12, .destination = ip + 16,
	};

	return layer_pseudo_sum(&pseudo, bytes);
}

/* Begin a frame that carries so many bytes of a protocol; returns where these begin. */
uint16_t packet_begin(uint8_t *frame, const struct packet_macs *macs, uint8_t protocol,
	uint32_t source, uint32_t destination, uint16_t bytes);
/* Fill it up from `end` on to what is the shortest of a frame; returns its length. */
static inline uint16_t
packet_end_frame(uint8_t *frame, uint16_t end)
{
	if (end >= PACKET_SHORTEST)
		return end;
	memset(frame + end, 0, PACKET_SHORTEST - end);
	return PACKET_SHORTEST;
}

/* How long a frame is that carries so many bytes, without FCS. */
static inline uint16_t
packet_frame_bytes(uint16_t bytes)
{
	uint16_t length = (uint16_t)(ETHERNET_BYTES + IPV4_BYTES + bytes);

	return length < PACKET_SHORTEST ? PACKET_SHORTEST : length;
}

#endif /* TGEN_PACKET_H */
