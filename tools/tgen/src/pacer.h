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
 * With bursts it begins anew with each of them, a gap after the last frame of the one before. A file
 * that is replayed may have a schedule of its own (schedule.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "ratio.h"
#include "schedule.h"

struct pacer {
	uint64_t start_tsc;
	bool flat_out; /* no schedule: everything is due from the start */
	struct ratio frames; /* per cycle */
	struct ratio cycles; /* per frame */
	uint64_t first; /* frame of the burst that is under way */
	uint64_t burst; /* frames in each; UINT64_MAX: there is one that never ends */
	uint64_t gap; /* cycles between two of them */
	struct schedule *schedule; /* in place of all above but the start, unless NULL */
};

/* `rate_mfps` in thousandths of a frame per second; 0: flat out. `tsc_hz` below 2^53, not 0. */
void pacer_init(struct pacer *pacer, uint64_t tsc_hz, uint64_t rate_mfps, uint64_t start_tsc);

/* Send in bursts of so many frames, above 0, with a gap of so many cycles after each. */
void pacer_set_bursts(struct pacer *pacer, uint64_t burst, uint64_t gap);

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
		due = ratio_multiply(&pacer->frames, now - pacer->start_tsc, &has_remainder) + 1;
	return pacer->first + (due < pacer->burst ? due : pacer->burst);
}

/* So many frames have left by `now`: a burst that is complete is followed by the gap. */
static inline void
pacer_note_sent(struct pacer *pacer, uint64_t sent, uint64_t now)
{
	if (unlikely(pacer->schedule != NULL))
		schedule_sent(pacer->schedule, sent);
	if (likely(sent - pacer->first < pacer->burst))
		return;
	pacer->first = sent;
	pacer->start_tsc = now + pacer->gap;
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
	whole = ratio_multiply(&pacer->cycles, n - pacer->first, &has_remainder);
	return pacer->start_tsc + whole + has_remainder;
}

#endif /* TGEN_PACER_H */
