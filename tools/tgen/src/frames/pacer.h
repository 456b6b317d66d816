/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PACER_H
#define TGEN_PACER_H

/*
 * The schedule of a stream: frame n, counted from 0, is due n / rate after the start, rounded up to
 * a whole TSC cycle. Both directions of the sum are exact integers at any time, so a schedule
 * never drifts, and the n-th frame never depends on when the ones before it left.
 *
 * With bursts it begins anew with each of them, a gap after the last frame of the one before. With
 * steps it does with each of these, at a rate of its own and as long after the one before as that one
 * lasts, however late its last frame left. A file that is replayed may have a schedule of its own
 * (schedule.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "ratio.h"
#include "schedule.h"

#define PACER_DISTANCE_BITS 16

/* So fast: frames evenly apart. */
struct pace {
	struct ratio frames; /* per cycle */
	struct ratio cycles; /* per frame */
	uint64_t distance; /* cycles between frames, with PACER_DISTANCE_BITS of fraction */
};

/* A stretch of the schedule that has a rate of its own. */
struct pacer_step {
	struct pace pace;
	uint64_t frames; /* so many; those that did not leave in its time are given up */
	uint64_t begin; /* cycles by which its first frame is due after that of the first step */
};

struct pacer {
	uint64_t start_tsc;
	bool flat_out; /* no schedule: everything is due from the start */
	struct pace pace;
	uint64_t first; /* frame of the burst, or of the step, that is under way */
	uint64_t burst; /* frames in it; UINT64_MAX: there is one that never ends */
	uint64_t gap; /* cycles between two bursts */
	const struct pacer_step *step; /* the one that is under way; NULL: there are none */
	unsigned int more_steps; /* behind it */
	struct schedule *schedule; /* in place of all above but the start, unless NULL */
};

/* `rate_mfps` in thousandths of a frame per second, above 0. `tsc_hz` below 2^53, not 0. */
void pace_init(struct pace *pace, uint64_t tsc_hz, uint64_t rate_mfps);
/* The same; a rate of 0 is flat out. */
void pacer_init(struct pacer *pacer, uint64_t tsc_hz, uint64_t rate_mfps, uint64_t start_tsc);

/* Send in bursts of so many frames, above 0, with a gap of so many cycles after each. */
void pacer_set_bursts(struct pacer *pacer, uint64_t burst, uint64_t gap);

/* Send in so many steps, at least one; the pacer goes on pointing at them. Its own rate is none then. */
void pacer_set_steps(struct pacer *pacer, const struct pacer_step *steps, unsigned int count);
/* The step is over, after so many frames of all steps; after the last one nothing more is due. */
void pacer_next_step(struct pacer *pacer, uint64_t sent);

/* How many frames should have left by `now`: all n with pacer_when(n) <= now, to the burst's end. */
static inline uint64_t
pacer_due(const struct pacer *pacer, uint64_t now)
{
	uint64_t due = UINT64_MAX;
	bool has_remainder;

	if (unlikely((int64_t)(now - pacer->start_tsc) < 0))
		return pacer->first;
	if (unlikely(pacer->schedule != NULL))
		return schedule_due(pacer->schedule, now - pacer->start_tsc);
	if (!pacer->flat_out)
		due = ratio_multiply(&pacer->pace.frames, now - pacer->start_tsc, &has_remainder) + 1;
	return pacer->first + (due < pacer->burst ? due : pacer->burst);
}

/*
 * So many frames have left by `now`: a burst that is complete is followed by the gap. True when a step
 * is complete, which is left to the caller.
 */
static inline bool
pacer_note_sent(struct pacer *pacer, uint64_t sent, uint64_t now)
{
	if (unlikely(pacer->schedule != NULL))
		schedule_sent(pacer->schedule, sent);
	if (likely(sent - pacer->first < pacer->burst))
		return false;
	if (pacer->step != NULL)
		return true;
	pacer->first = sent;
	pacer->start_tsc = now + pacer->gap;
	return false;
}

/* The TSC at which frame n is due, n from 0, in the burst that is under way. */
static inline uint64_t
pacer_when(const struct pacer *pacer, uint64_t n)
{
	bool has_remainder;
	uint64_t whole;

	if (unlikely(pacer->schedule != NULL))
		return pacer->start_tsc + schedule_when(pacer->schedule, n);
	if (pacer->flat_out)
		return pacer->start_tsc;
	whole = ratio_multiply(&pacer->pace.cycles, n - pacer->first, &has_remainder);
	return pacer->start_tsc + whole + has_remainder;
}

/* Cycles that are left after each frame where what was held up is caught up with: at twice the rate. */
static inline uint64_t
pacer_catch_up(const struct pacer *pacer)
{
	return pacer->pace.distance >> (PACER_DISTANCE_BITS + 1);
}

#endif /* TGEN_PACER_H */
