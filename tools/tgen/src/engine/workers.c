/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* All workers of an engine. */

#include <errno.h>

#include "workers.h"

/* One worker does both; of several, the first half sends and the others receive. */
unsigned int
engine_transmitters(const struct engine *engine)
{
	return engine->workers == 1 ? 1 : engine->workers / 2;
}

struct worker *
engine_transmitter(const struct engine *engine, unsigned int queue)
{
	return engine->worker[queue % engine_transmitters(engine)];
}

struct worker *
engine_receiver(const struct engine *engine, unsigned int queue)
{
	unsigned int first = engine->workers == 1 ? 0 : engine_transmitters(engine);

	return engine->worker[first + queue % (engine->workers - first)];
}

void
engine_dismiss(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++)
		worker_command(engine->worker[i], COMMAND_PARK);
}

bool
engine_parked(const struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++)
		if (worker_state(engine->worker[i]) != STATE_PARKED)
			return false;
	return true;
}

int
engine_check_idle(const struct engine *engine, struct error *error)
{
	if (engine->state == ENGINE_RUNNING)
		return error_set(error, -EBUSY, "busy", "a trial is running");
	if (!engine_parked(engine))
		return error_set(error, -EIO, "worker-lost", "a worker does not answer");
	return 0;
}

bool
engine_park(struct engine *engine)
{
	bool parked = true;
	unsigned int i;

	engine_dismiss(engine);
	for (i = 0; i < engine->workers; i++)
		parked &= worker_wait(engine->worker[i], STATE_PARKED);
	return parked;
}
