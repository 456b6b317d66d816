/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_POOL_H
#define TGEN_POOL_H

/* How many buffers a pool needs, so that whoever asks for a burst of them always gets it. */

#include <stdint.h>

/* Who may hold buffers of a pool at the same time. */
struct pool_holders {
	uint32_t descriptors; /* in the rings of all queues that the pool's buffers go through */
	uint32_t lcores; /* each with a cache of free ones that no other lcore can take */
	uint32_t cache; /* its size */
	uint32_t queues; /* whose last burst was received, and is not yet looked at */
	uint32_t senders; /* that have built a burst which their port does not take */
	uint32_t waiting; /* answers that nobody has sent yet */
};

uint32_t pool_size(const struct pool_holders *holders);

#endif /* TGEN_POOL_H */
