/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TUNNEL_H
#define TGEN_TUNNEL_H

/*
 * The outer UDP source port of a tunnel is a hash of the inner frame's addresses, outer VLAN tag
 * and ports, among the dynamic ports (RFC 7348, section 5). So switches, NICs and CPUs that only
 * see outer headers spread tunnelled flows like all others. GRE has no such port.
 *
 * On IPv4 the outer UDP checksum is 0. On IPv6 it has to be right, and it covers the frame inside.
 * Of that, checksums which are right themselves take back what varies: an IPv4 header adds up to
 * nothing, and UDP or TCP to the complement of its pseudo header. So ports inside, and IPv6
 * addresses, leave the outer sum as it is, IPv4 addresses are subtracted, and everything else that
 * varies is added.
 */

#include <stdint.h>

#include "bytes.h"
#include "checksum.h"
#include "frame.h"

#define TUNNEL_PORTS_FROM 0xc000
#define TUNNEL_PORT_BITS 14

/* Where the port lies, and what it is a hash of; offsets are FRAME_ABSENT where there is nothing. */
struct tunnel {
	uint16_t outer_udp; /* FRAME_ABSENT: nothing to write */
	uint16_t checksum;
	uint16_t id;
	uint16_t ethernet;
	uint16_t vlan;
	uint16_t addresses; /* of layer 3, with the ports right behind them */
	uint16_t addresses_end;
	uint16_t addresses_subtracted; /* from the first of them up to here */
	uint64_t sum; /* of all that the outer checksum covers and that never varies */
};

/* Of a frame that is complete but for the outer port and checksum. */
void tunnel_init(struct tunnel *tunnel, const struct headers *headers, const struct frame *frame);

static inline uint64_t
tunnel_hash(uint64_t hash, uint32_t word)
{
	return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint16_t
tunnel_port(const struct tunnel *tunnel, const uint8_t *bytes)
{
	uint64_t hash = 0;
	uint16_t at;

	if (tunnel->ethernet != FRAME_ABSENT)
		for (at = tunnel->ethernet; at < tunnel->ethernet + 12; at += 4)
			hash = tunnel_hash(hash, bytes_get_32(bytes + at));
	if (tunnel->vlan != FRAME_ABSENT)
		hash = tunnel_hash(hash, bytes_get_16(bytes + tunnel->vlan));
	for (at = tunnel->addresses; at < tunnel->addresses_end; at += 4)
		hash = tunnel_hash(hash, bytes_get_32(bytes + at));
	return (uint16_t)(TUNNEL_PORTS_FROM | hash >> (64 - TUNNEL_PORT_BITS));
}

/* The sum of what varies below the outer checksum, but for the port. */
static inline uint64_t
tunnel_varying(const struct tunnel *tunnel, const uint8_t *bytes)
{
	uint64_t sum = bytes_get_32(bytes + tunnel->id);
	uint16_t at;

	if (tunnel->ethernet != FRAME_ABSENT)
		for (at = tunnel->ethernet; at < tunnel->ethernet + 12; at += 4)
			sum += bytes_get_32(bytes + at);
	if (tunnel->vlan != FRAME_ABSENT)
		sum += bytes_get_16(bytes + tunnel->vlan);
	for (at = tunnel->addresses; at < tunnel->addresses_subtracted; at += 4)
		sum += (uint32_t)~bytes_get_32(bytes + at);
	return sum;
}

/* Port and checksum of a frame in a tunnel, whose inner headers are complete. */
static inline void
tunnel_write(const struct tunnel *tunnel, uint8_t *bytes)
{
	uint16_t port = tunnel_port(tunnel, bytes);

	bytes_put_16(bytes + tunnel->outer_udp, port);
	if (tunnel->checksum != FRAME_ABSENT)
		bytes_put_16(bytes + tunnel->checksum, checksum_finish_udp(tunnel->sum +
			tunnel_varying(tunnel, bytes) + port));
}

#endif /* TGEN_TUNNEL_H */
