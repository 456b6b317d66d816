/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <rte_cycles.h>

#include "stalls_worker.h"

#define LOOKS 64 /* at the clock, for one at the command */

void
stalls_run(struct worker *worker)
{
	uint64_t begin = rte_rdtsc(), before = begin, end = begin + worker->stall_cycles;
	uint64_t threshold = worker->stall_threshold;
	unsigned int i;

	worker->started_tsc = begin;
	while (before < end && worker_load_command(worker) == COMMAND_STALLS) {
		for (i = 0; i < LOOKS; i++) {
			uint64_t now = rte_rdtsc();

			/* A CPU's clock that is behind another's is no gap. */
			if (unlikely((int64_t)(now - before) >= (int64_t)threshold))
				histogram_add(worker->gaps, now - before);
			before = now;
		}
	}
	worker->ended_tsc = before;
}
