/* SPDX-License-Identifier: Apache-2.0 */

#include <rte_cycles.h>
#include <rte_pause.h>

#include "worker.h"

#define WAIT_STEP_US 50
#define WAIT_STEPS 20000

void
worker_set_state(struct worker *worker, enum worker_state state)
{
	__atomic_store_n(&worker->state, state, __ATOMIC_RELEASE); /* S1 */
}

void
worker_command(struct worker *worker, enum worker_command command)
{
	__atomic_store_n(&worker->command, command, __ATOMIC_RELEASE); /* C1 */
}

enum worker_state
worker_state(const struct worker *worker)
{
	return __atomic_load_n(&worker->state, __ATOMIC_ACQUIRE); /* S2 */
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
	if ((int64_t)gap < 0)
		return; /* the clock of this CPU is behind that of another: no time passed */
	if (gap > worker->ten_us)
		worker->gaps_over_10us++;
	if (gap > worker->longest_gap_cycles) {
		worker->longest_gap_cycles = gap;
		worker->longest_gap_tsc = worker->last_tick;
	}
	worker->gap_limit = RTE_MIN(worker->longest_gap_cycles, worker->ten_us);
}
