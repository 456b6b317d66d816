/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_FLOOD_H
#define TGEN_FLOOD_H

/*
 * SYNs of nobody, beside the connections: each from another address or port, by a clock, and nobody goes
 * on from their answers. A server knows them by their window, which no device changes, and keeps nothing
 * of them: it is what stands before it that they are to fill.
 */

#include "end.h"
#include "pacer.h"

#define FLOOD_WINDOW 3869

struct flood_plan {
	struct packet_macs macs;
	struct packet_end first; /* its first address and port */
	uint16_t addresses; /* from that one on; */
	uint32_t ports; /* and ports of each */
	uint64_t before; /* SYNs of floods before: this one goes on behind them, as devices may know those */
	struct packet_end target;
	uint16_t targets;
	uint64_t rate_mfps; /* SYNs in a thousand seconds; 0: there is no flood */
	uint64_t tsc_hz;
	uint16_t most; /* bytes of data in a segment */
	uint16_t burst; /* at most so many at once */
};

struct flood_counts {
	uint64_t sent;
	uint64_t answered, refused; /* SYN-ACKs and RSTs that came back */
};

struct flood {
	struct flood_plan plan;
	struct output output;
	struct pacer pacer;
	struct flood_counts counts;
};

void flood_begin(struct flood *flood, const struct flood_plan *plan, const struct output *output,
	uint64_t now);
/* Send those that are due, as far as there is room: what is not sent is not made up for. */
void flood_send(struct flood *flood, uint64_t now);
/* Whether a segment is to one of its addresses; then it has been counted. */
bool flood_receive(struct flood *flood, const struct segment *segment);

/* Whether a SYN is one of a flood. */
static inline bool
flood_is(const struct segment *segment)
{
	return (segment->flags & (SEGMENT_SYN | SEGMENT_ACK)) == SEGMENT_SYN &&
		segment->window == FLOOD_WINDOW;
}

#endif /* TGEN_FLOOD_H */
