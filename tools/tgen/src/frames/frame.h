/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_FRAME_H
#define TGEN_FRAME_H

/*
 * The bytes of a frame: headers, fill bytes, room for the test payload. Lengths and checksums are
 * right with any test payload in its place (payload.h), and with none.
 */

#include <stdint.h>

#include "error.h"
#include "payload.h"
#include "traffic.h"

#define FRAME_ABSENT UINT16_MAX /* offset of a header that the frame does not have */

/* Offsets count from the first byte of the frame. */
struct frame {
	uint16_t length; /* without FCS: the bytes in memory */
	uint16_t smallest; /* with FCS: the least size for these headers and the payload */
	uint16_t header; /* bytes of all headers: the fill bytes begin there */
	uint16_t payload; /* the last 18 bytes */
	uint16_t outer_ethernet, outer_ip, outer_udp;
	uint16_t tunnel; /* the header of VXLAN, Geneve, GRE or GTP-U */
	uint16_t ethernet; /* of the frame inside of a tunnel, as everything below */
	uint16_t vlan[2];
	uint16_t mpls;
	uint16_t ip;
	uint16_t layer4;
	uint8_t bytes[TGEN_MAX_FRAME];
};

/* Whether there is Ethernet below IP: some tunnels carry IP alone. */
static inline bool
frame_has_ethernet(const struct headers *headers)
{
	return headers->outer.kind == ENCAPSULATION_NONE || !headers->outer.carries_ip;
}

/* Of a size that counts the FCS. Fills `frame` completely. */
int frame_build(const struct headers *headers, uint16_t size, struct frame *frame,
	struct error *error);

/* Least size, with FCS, that carries these headers and the test payload. */
uint16_t frame_smallest(const struct headers *headers);

/*
 * The sizes of an IMIX genome (RFC 6985), with FCS: letters a to i. Returns how many there are,
 * at most `room`, or a negative errno.
 */
int frame_genome(const char *genome, uint16_t *sizes, uint16_t room, struct error *error);

#endif /* TGEN_FRAME_H */
