/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Which worker serves which queue. */

#include "engine_private.h"

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
