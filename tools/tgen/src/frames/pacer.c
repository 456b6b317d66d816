/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "pacer.h"

void
pace_init(struct pace *pace, uint64_t tsc_hz, uint64_t rate_mfps)
{
	ratio_init(&pace->frames, rate_mfps, 1000 * tsc_hz);
	ratio_init(&pace->cycles, 1000 * tsc_hz, rate_mfps);
	pace->distance = (uint64_t)(((uint128_t)tsc_hz * 1000 << 16) / rate_mfps);
}

void
pacer_init(struct pacer *pacer, uint64_t tsc_hz, uint64_t rate_mfps, uint64_t start_tsc)
{
	memset(pacer, 0, sizeof(*pacer));
	pacer->start_tsc = start_tsc;
	pacer->burst = UINT64_MAX;
	pacer->flat_out = rate_mfps == 0;
	if (!pacer->flat_out)
		pace_init(&pacer->pace, tsc_hz, rate_mfps);
}

void
pacer_set_bursts(struct pacer *pacer, uint64_t burst, uint64_t gap)
{
	pacer->burst = burst;
	pacer->gap = gap;
}

static void
begin_step(struct pacer *pacer, const struct pacer_step *step)
{
	pacer->step = step;
	pacer->pace = step->pace;
	pacer->burst = step->frames;
}

void
pacer_set_steps(struct pacer *pacer, const struct pacer_step *steps, unsigned int count)
{
	pacer->flat_out = false;
	pacer->more_steps = count - 1;
	begin_step(pacer, steps);
}

void
pacer_next_step(struct pacer *pacer, uint64_t sent)
{
	const struct pacer_step *before = pacer->step;

	pacer->first = sent;
	pacer->burst = 0;
	if (pacer->more_steps == 0)
		return;
	pacer->more_steps--;
	pacer->start_tsc += before[1].begin - before->begin;
	begin_step(pacer, before + 1);
}
