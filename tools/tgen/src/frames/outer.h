/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_OUTER_H
#define TGEN_OUTER_H

/* What carries a frame: VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2890) or GTP-U (TS 29.281). */

#include <stdint.h>

#include "error.h"
#include "frame.h"
#include "traffic.h"

/* How an encapsulation is called, and so what tells its tunnels apart. */
struct outer_kind {
	const char *name, *id;
	uint8_t id_bits;
	uint16_t udp_port; /* 0: right behind IP */
};
extern const struct outer_kind outer_kinds[];
#define OUTER_KINDS (ENCAPSULATION_GTPU + 1)

/* All headers before those of the frame inside; 0 without an encapsulation. */
uint16_t outer_bytes(const struct outer *outer);

/* See that the encapsulation can carry the headers. */
int outer_check(const struct headers *headers, struct error *error);

/* Write all of it, and return where the frame inside begins. */
uint16_t outer_put(const struct headers *headers, struct frame *frame);

#endif /* TGEN_OUTER_H */
