/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SEGMENT_H
#define TGEN_SEGMENT_H

/*
 * TCP segments (RFC 9293) in IPv4 and Ethernet: written, and read again. Bytes in, bytes out: nothing
 * here knows a connection. Checksums are computed, both ways.
 */

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define SEGMENT_MOST_DATA 9000

#define SEGMENT_FIN 0x01
#define SEGMENT_SYN 0x02
#define SEGMENT_RST 0x04
#define SEGMENT_PSH 0x08
#define SEGMENT_ACK 0x10

struct segment {
	struct packet_end source, destination;
	uint32_t sequence, acknowledgement;
	uint16_t window;
	uint16_t most; /* the option that says how long a segment may be (MSS); 0: it has none */
	uint8_t flags;
	uint16_t bytes; /* of data */
	const uint8_t *data;
};

/* How long the frame of a segment is, without FCS. */
uint16_t segment_frame_bytes(const struct segment *segment);

/* Write the frame, which has to have room for it; returns its length. */
uint16_t segment_write(uint8_t *frame, const struct packet_macs *macs,
	const struct segment *segment);

/* Data of a segment that was read is in the frame. Nothing behind `length` bytes is looked at. */
enum packet_seen segment_read(const uint8_t *frame, uint16_t length, struct segment *segment);

/* How many numbers of the sequence a segment takes. */
static inline uint32_t
segment_span(const struct segment *segment)
{
	return segment->bytes + ((segment->flags & SEGMENT_SYN) != 0) +
		((segment->flags & SEGMENT_FIN) != 0);
}

/* One number comes before another, of those that go round (RFC 9293, section 3.4). */
static inline bool
segment_before(uint32_t one, uint32_t other)
{
	return (int32_t)(one - other) < 0;
}

#endif /* TGEN_SEGMENT_H */
