/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Where the clock of a worker begins, whatever it does next. */

#include <rte_cycles.h>

#include "loop.h"
#include "slots_worker.h"
#include "transmit_steps.h"

void
loop_start_clock(struct worker *worker)
{
	unsigned int i;

	worker->loops = 0;
	worker->first_sender = 0;
	worker->busy_cycles = 0;
	worker->longest_gap_cycles = 0;
	worker->longest_gap_tsc = 0;
	worker->gaps_over_10us = 0;
	worker->away_cycles = 0;
	worker->paused_cycles = 0;
	worker->gap_limit = 0;
	worker->own_work = 0;
	worker->last_tick = rte_rdtsc();
	worker->last_arrival = worker->last_tick;
	worker->started_tsc = worker->begin_tsc != 0 ? worker->begin_tsc : worker->last_tick;
	/* Of several workers, who begin together, one that comes late was away until now. */
	if ((int64_t)(worker->last_tick - worker->started_tsc) >
			(int64_t)(WORKER_AWAY_TIMES * worker->ten_us))
		worker->away_cycles = worker->last_tick - worker->started_tsc;
	for (i = 0; i < worker->senders; i++)
		worker->sender[i]->pacer.start_tsc = worker->started_tsc + worker->sender[i]->phase;
	for (i = 0; i < worker->receivers; i++)
		worker->receiver[i]->calm_tsc = worker->last_tick;
	steps_begin(worker);
	slots_begin(worker);
}
