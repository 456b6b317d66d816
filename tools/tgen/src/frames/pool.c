/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "pool.h"
#include "traffic.h"

uint32_t
pool_size(const struct pool_holders *holders)
{
	/* A cache holds half as much again as its size before it gives any back. */
	uint32_t caches = holders->lcores * (holders->cache + holders->cache / 2);
	uint32_t bursts = holders->queues + holders->senders;

	/* And a burst for whoever asks last. */
	return holders->descriptors + caches + (bursts + 1) * TGEN_BURST + holders->waiting;
}
