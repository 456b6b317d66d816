/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PART_H
#define TGEN_PART_H

/*
 * What one worker sends of a stream: part p of k has the frames p, p + k, p + 2k, ... of it, and
 * numbers them from 0. So the parts interleave, add up to the stream exactly, and each is a
 * stream of its own to whoever receives it. Most streams have one part.
 */

#include <stdint.h>

struct part {
	uint8_t stream; /* in the traffic */
	uint16_t index; /* from 0 */
	uint16_t of; /* so many */
};

/* Which frame of the stream is frame n of the part. */
static inline uint64_t
part_frame(const struct part *part, uint64_t n)
{
	return n * part->of + part->index;
}

/* How many of the first `frames` of the stream are the part's; of TGEN_48_BITS, without bound, all. */
uint64_t part_share(const struct part *part, uint64_t frames);

/* Of `flows` of the stream, which come in turn: how many the part's frames come from in turn. */
uint32_t part_flows(const struct part *part, uint32_t flows);

/*
 * Which queue of `queues` the first part takes, when `before` are taken by others; the others
 * follow. They never go round, so that neighbouring queues mean different workers.
 */
uint16_t part_first_queue(unsigned int parts, unsigned int before, uint16_t queues);

#endif /* TGEN_PART_H */
