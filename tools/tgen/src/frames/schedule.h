/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SCHEDULE_H
#define TGEN_SCHEDULE_H

/*
 * The schedule of a file's own times: frame n of a round is due as long after the round's start as it
 * was captured after the first one, all of it faster or slower by one factor. Each time follows from
 * the start of the trial, so that nothing drifts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "ratio.h"
#include "replay.h"

#define SCHEDULE_AHEAD 64 /* frames that are looked at beyond those sent: what one burst can have */

struct schedule {
	const struct replay *replay;
	struct ratio cycles; /* per ns of the file */
	uint64_t sent; /* the cursor: so many frames, */
	uint64_t round_ns; /* whose last round began then in the file's time, */
	uint32_t position; /* and this is the next one of it */
	uint64_t next; /* when that is due: cycles after the start */
};

/*
 * Whether a file can have the mean rate of `rate_mfps` (0: its own) until so many frames are sent
 * (TGEN_48_BITS: any number), or for so long (0: for ever).
 */
int schedule_check(const struct replay *replay, uint64_t rate_mfps, uint64_t frames,
	uint64_t duration_ns, struct error *error);

/* All of these are of what has been checked. */
void schedule_init(struct schedule *schedule, const struct replay *replay, uint64_t rate_mfps,
	uint64_t tsc_hz);

/* So many frames are sent. */
void schedule_sent(struct schedule *schedule, uint64_t sent);

/* How many frames are due so many cycles after the start, up to SCHEDULE_AHEAD more than sent. */
uint64_t schedule_due(const struct schedule *schedule, uint64_t cycles);

/* When frame n is due, one of the next SCHEDULE_AHEAD: cycles after the start. */
uint64_t schedule_when(const struct schedule *schedule, uint64_t n);

/* How many frames are due before so much time has passed. */
uint64_t schedule_frames(const struct replay *replay, uint64_t rate_mfps, uint64_t duration_ns);

#endif /* TGEN_SCHEDULE_H */
