/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TAPE_H
#define TGEN_TAPE_H

/*
 * Frames one after the other, in memory that is set aside before: the first ones that there is room
 * for, or the last. A frame takes as many bytes as it has, up to the longest that is kept of one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

#define TAPE_MOST_FRAMES (1u << 16)
#define TAPE_MOST_BYTES (1u << 24)

/* What a tape has room for. */
struct tape_room {
	uint32_t frames, bytes;
	uint16_t longest; /* bytes kept of a frame */
	bool last; /* the last frames are kept, and not the first */
};

struct taped {
	uint64_t tsc;
	uint32_t length; /* of the frame */
	uint32_t kept, at; /* bytes of it, and where they begin */
};

struct tape {
	struct tape_room room;
	uint64_t heard; /* frames, kept or not */
	uint32_t first, count; /* frames on it, in a circle */
	uint32_t begin, used; /* and their bytes, in another one */
	struct taped *frame;
	uint8_t *byte;
};

/* There is room for a frame of the longest in any case. */
struct tape *tape_create(const struct tape_room *room, struct error *error);
void tape_destroy(struct tape *tape);

/* `bytes` are as many as the frame is long, or as are kept of one at most. */
void tape_add(struct tape *tape, uint64_t tsc, const uint8_t *bytes, uint32_t length);

/* The frame with this number of those on it; its bytes go to `bytes`, which has room for them. */
const struct taped *tape_frame(const struct tape *tape, uint32_t number, uint8_t *bytes);

#endif /* TGEN_TAPE_H */
