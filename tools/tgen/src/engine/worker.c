/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <rte_cycles.h>
#include <rte_pause.h>

#include "slots_worker.h"

#define WAIT_STEP_US 50
#define WAIT_STEPS 20000

void
worker_set_state(struct worker *worker, enum worker_state state)
{
	rte_atomic_store_explicit(&worker->state, state, rte_memory_order_release); /* S1 */
}

void
worker_command(struct worker *worker, enum worker_command command)
{
	rte_atomic_store_explicit(&worker->command, command, rte_memory_order_release); /* C1 */
}

enum worker_state
worker_state(const struct worker *worker)
{
	return rte_atomic_load_explicit(&worker->state, rte_memory_order_acquire); /* S2 */
}

bool
worker_wait(const struct worker *worker, enum worker_state state)
{
	unsigned int i;

	/* Sleep in between: the worker may have to run on this very CPU. */
	for (i = 0; i < WAIT_STEPS; i++) {
		if (worker_state(worker) == state)
			return true;
		rte_delay_us_sleep(WAIT_STEP_US);
	}
	return false;
}

void
worker_note_gap(struct worker *worker, uint64_t gap)
{
	uint64_t least = worker_least_gap(worker);

	if ((int64_t)gap < 0)
		return; /* the clock of this CPU is behind that of another: no time passed */
	if (gap > least) {
		worker->gaps_over_10us++;
		worker->gap_cycles += gap;
	}
	if (gap > RTE_MAX(WORKER_AWAY_TIMES * worker->ten_us, worker->own_work)) {
		worker->away_cycles += gap;
		if (worker->slots != NULL)
			slots_note_gap(worker, worker->last_tick - gap, worker->last_tick);
	}
	if (gap > worker->longest_gap_cycles) {
		worker->longest_gap_cycles = gap;
		worker->longest_gap_tsc = worker->last_tick;
	}
	worker->gap_limit = RTE_MIN(worker->longest_gap_cycles, least);
}
