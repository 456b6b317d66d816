/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_BROADCAST_H
#define TGEN_BROADCAST_H

/*
 * Frames for everybody among those of a stream (RFC 2544, section 11.1): every n-th one, from the
 * n-th on. A part knows which of its own frames these are, whoever sends the others.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "part.h"

#define BROADCAST_BYTES 6 /* of the address, which a frame begins with */
#define BROADCAST_NEVER UINT64_MAX /* no frame has this number */

/* Numbers of frames in their part. */
struct broadcast {
	uint64_t first;
	uint64_t distance; /* from one to the next */
	uint64_t due; /* the next one that is built */
};

/* Every so many frames of the stream; 0: none. */
void broadcast_init(struct broadcast *broadcast, const struct part *part, uint32_t every);

/* The next frame that is built has this number. */
void broadcast_seek(struct broadcast *broadcast, uint64_t number);

/* Whether a frame, of those that are built one after the other, is for everybody. */
static inline bool
broadcast_is(struct broadcast *broadcast, uint64_t number)
{
	if (likely(number != broadcast->due))
		return false;
	broadcast->due += broadcast->distance;
	return true;
}

/* Send a frame to everybody, in place of one station. It must not be in a tunnel. */
static inline void
broadcast_address(uint8_t *frame)
{
	memset(frame, UINT8_MAX, BROADCAST_BYTES);
}

#endif /* TGEN_BROADCAST_H */
