/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "broadcast.h"

void
broadcast_init(struct broadcast *broadcast, const struct part *part, uint32_t every)
{
	uint64_t frame;
	unsigned int i;

	broadcast->first = broadcast->due = BROADCAST_NEVER;
	broadcast->distance = 0;
	if (every == 0)
		return;
	/* Broadcast frames come round in the parts, as flows do in the frames of one. */
	for (i = 0; i < part->of; i++) {
		frame = (uint64_t)i * every + every - 1;
		if (frame % part->of != part->index)
			continue;
		broadcast->first = broadcast->due = frame / part->of;
		broadcast->distance = part_flows(part, every);
		return;
	}
}

void
broadcast_seek(struct broadcast *broadcast, uint64_t number)
{
	uint64_t before;

	broadcast->due = broadcast->first;
	if (broadcast->first == BROADCAST_NEVER || number <= broadcast->first)
		return;
	before = (number - broadcast->first + broadcast->distance - 1) / broadcast->distance;
	broadcast->due += before * broadcast->distance;
}
