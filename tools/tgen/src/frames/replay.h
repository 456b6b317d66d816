/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_REPLAY_H
#define TGEN_REPLAY_H

/*
 * A capture file, as it is sent: frame after frame, and from the first one again. A frame of UDP or
 * TCP whose payload has room for it carries the test payload as its last bytes (payload.h), and so
 * is numbered and checked as any other; its checksum is right or wrong as it was in the file. All
 * others leave as they are, and can only be counted.
 */

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "traffic.h"

#define REPLAY_MOST_BYTES (UINT64_C(256) << 20) /* of all files of a traffic */
#define REPLAY_MOST_FRAMES (UINT32_C(1) << 22) /* of one of them */
#define REPLAY_MOST_NS (UINT64_C(30) * 86400 * 1000000000) /* from its first frame to its last */
#define REPLAY_UNMARKED UINT16_MAX

struct replay_frame {
	uint64_t when_ns; /* since the first one; never below that of the one before */
	uint32_t offset; /* of its bytes, */
	uint16_t length; /* without FCS: as many as are sent */
	uint16_t mark; /* where the test payload is, or REPLAY_UNMARKED */
	uint16_t fill; /* where the bytes before the mark begin that no device may change */
};

struct replay {
	uint32_t frames;
	uint32_t unmarked;
	uint32_t padded; /* were shorter than Ethernet allows */
	uint16_t longest, shortest; /* without FCS */
	uint64_t sum; /* of all lengths, with FCS */
	uint64_t period_ns; /* from the first frame to the first one of the next round; 0: no times */
	struct replay_frame *frame;
	uint8_t *bytes;
};

/*
 * Of a regular file, whose frames may have up to `longest` bytes with FCS; `room` is how large it may
 * be. NULL, and an error that names the file, when it cannot be replayed. `size` becomes its size.
 */
struct replay *replay_read(const char *path, uint16_t longest, uint64_t room, uint64_t *size,
	struct error *error);
/* The same of a file that lies in memory; errors do not name it. */
struct replay *replay_parse(const void *bytes, size_t length, uint16_t longest,
	struct error *error);
void replay_free(struct replay *replay);

static inline bool
replay_has_unmarked(const struct replay *replay)
{
	return replay != NULL && replay->unmarked != 0;
}

/* How many of the first `frames` frames that are sent have no mark. */
uint64_t replay_count_unmarked(const struct replay *replay, uint64_t frames);

/* The frame that is sent as number n, from 0. */
static inline const struct replay_frame *
replay_frame_of(const struct replay *replay, uint64_t n)
{
	return &replay->frame[n % replay->frames];
}

/* Make room for the mark in a frame: where it is, or REPLAY_UNMARKED. */
uint16_t replay_mark(uint8_t *bytes, uint16_t length, uint16_t *fill);

#endif /* TGEN_REPLAY_H */
