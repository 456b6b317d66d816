/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "pacer.h"

void
pacer_init(struct pacer *pacer, uint64_t tsc_hz, uint64_t rate_mfps, uint64_t start_tsc)
{
	memset(pacer, 0, sizeof(*pacer));
	pacer->start_tsc = start_tsc;
	pacer->burst = UINT64_MAX;
	pacer->flat_out = rate_mfps == 0;
	if (pacer->flat_out)
		return;
	ratio_init(&pacer->frames, rate_mfps, 1000 * tsc_hz);
	ratio_init(&pacer->cycles, 1000 * tsc_hz, rate_mfps);
}

void
pacer_set_bursts(struct pacer *pacer, uint64_t burst, uint64_t gap)
{
	pacer->burst = burst;
	pacer->gap = gap;
}
