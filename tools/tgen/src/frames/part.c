/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "part.h"
#include "payload.h"

uint64_t
part_share(const struct part *part, uint64_t frames)
{
	if (frames == TGEN_48_BITS)
		return frames;
	return frames / part->of + (part->index < frames % part->of);
}

uint32_t
part_flows(const struct part *part, uint32_t flows)
{
	uint32_t divisor = flows, rest = part->of;

	while (rest != 0) {
		uint32_t next = divisor % rest;

		divisor = rest;
		rest = next;
	}
	return flows / divisor;
}

uint16_t
part_first_queue(unsigned int parts, unsigned int before, uint16_t queues)
{
	unsigned int first = before % queues;

	return (uint16_t)(first + parts <= queues ? first : 0);
}
