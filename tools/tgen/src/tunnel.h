/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TGEN_TUNNEL_H
#define TGEN_TUNNEL_H

/*
 * The outer UDP source port of a tunnel is a hash of the inner frame's addresses, outer VLAN tag
 * and ports, among the dynamic ports (RFC 7348, section 5). So switches, NICs and CPUs that only
 * see outer headers spread tunnelled flows like all others. The outer UDP checksum is 0, so
 * nothing else changes along with the port.
 */

#include <stdint.h>

#include "bytes.h"
#include "frame.h"

#define TUNNEL_PORTS_FROM 0xc000
#define TUNNEL_PORT_BITS 14

/* Where the port lies, and what it is a hash of. */
struct tunnel {
	uint16_t outer_udp; /* FRAME_ABSENT: there is no tunnel */
	uint16_t ethernet;
	uint16_t vlan; /* or FRAME_ABSENT */
	uint16_t addresses; /* of layer 3, with the ports right behind them */
	uint16_t addresses_end;
};

static inline void
tunnel_find(struct tunnel *tunnel, const struct frame *frame, enum layer3 layer3)
{
	tunnel->outer_udp = frame->outer_udp;
	tunnel->ethernet = frame->ethernet;
	tunnel->vlan = frame->vlan[0];
	tunnel->addresses = (uint16_t)(frame->layer4 - (layer3 == LAYER3_IPV4 ? 8 : 32));
	tunnel->addresses_end = (uint16_t)(frame->layer4 + 4);
}

static inline uint64_t
tunnel_hash(uint64_t hash, uint32_t word)
{
	return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Of a frame in a tunnel, whose inner headers are complete. */
static inline void
tunnel_write_port(const struct tunnel *tunnel, uint8_t *bytes)
{
	uint64_t hash = 0;
	uint16_t at;

	for (at = tunnel->ethernet; at < tunnel->ethernet + 12; at += 4)
		hash = tunnel_hash(hash, bytes_get_32(bytes + at));
	if (tunnel->vlan != FRAME_ABSENT)
		hash = tunnel_hash(hash, bytes_get_16(bytes + tunnel->vlan));
	for (at = tunnel->addresses; at < tunnel->addresses_end; at += 4)
		hash = tunnel_hash(hash, bytes_get_32(bytes + at));
	bytes_put_16(bytes + tunnel->outer_udp,
		(uint16_t)(TUNNEL_PORTS_FROM | hash >> (64 - TUNNEL_PORT_BITS)));
}

#endif /* TGEN_TUNNEL_H */
