/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The stalls of the host: what a worker cannot see of time when it does nothing but look. */

#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "engine_private.h"
#include "stalls.h"
#include "workers.h"

#define SECOND_NS UINT64_C(1000000000)

static int
prepare(struct engine *engine, struct error *error)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		if (worker->gaps == NULL)
			worker->gaps = malloc(sizeof(*worker->gaps));
		if (worker->gaps == NULL)
			return error_set(error, -ENOMEM, "no-memory", "no memory for histograms");
		histogram_clear(worker->gaps);
	}
	return 0;
}

int
engine_stalls(struct engine *engine, uint64_t duration_ns, uint64_t threshold_ns,
	struct error *error)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t hz = engine->tsc_hz;
	unsigned int i;
	int ret;

	ret = engine_check_idle(engine, error);
	if (ret != 0)
		return ret;
	if (duration_ns == 0 || threshold_ns == 0)
		return error_set(error, -EINVAL, "bad-value",
			"the duration and the threshold of stalls are above 0");
	ret = prepare(engine, error);
	if (ret != 0)
		return ret;
	engine->result.stopped_early = false;
	engine->result.started_tsc = rte_rdtsc();
	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		worker->stall_cycles = (uint64_t)((wide)duration_ns * hz / SECOND_NS);
		worker->stall_threshold = (uint64_t)((wide)threshold_ns * hz / SECOND_NS);
		worker_command(worker, COMMAND_STALLS);
	}
	engine->state = ENGINE_RUNNING;
	engine->phase = PHASE_STALLS;
	return 0;
}

void
stalls_poll(struct engine *engine)
{
	unsigned int i;

	if (engine->phase == PHASE_STALLS) {
		for (i = 0; i < engine->workers; i++)
			if (worker_state(engine->worker[i]) != STATE_SENT)
				return;
		engine_dismiss(engine);
		engine->phase = PHASE_STALLS_PARKING;
	}
	if (!engine_parked(engine))
		return;
	engine->phase = PHASE_NONE;
	engine->state = ENGINE_DONE;
}

const struct histogram *
engine_stall_gaps(const struct engine *engine, unsigned int worker)
{
	return worker < engine->workers ? engine->worker[worker]->gaps : NULL;
}
