/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* How turns end, whoever ends them: all processes go on. */

#include <stdlib.h>

#include <rte_cycles.h>

#include "collect_latency.h"
#include "engine_private.h"
#include "turns_end.h"
#include "turns_worker.h"

#define SECOND_NS UINT64_C(1000000000)
/* A worker whose CPU is shared may be away for long; but nobody shall be held still for ever. */
#define LOST_NS (5 * SECOND_NS)

void
turns_free(struct engine *engine)
{
	unsigned int i;

	if (engine->turns == NULL)
		return;
	for (i = 0; i < TURNS_MAX_SIDES; i++)
		collect_drop_histogram(&engine->turns->result.side[i].latency);
	collect_drop_histogram(&engine->turns->latency);
	free(engine->turns->stream);
	free(engine->turns);
	engine->turns = NULL;
}

void
turns_release(struct engine *engine)
{
	if (engine->takes_turns)
		holds_release(&engine->turns->holds);
}

bool
turns_are_lost(struct engine *engine)
{
	const struct turns *turns = engine->turns;
	uint64_t now = rte_rdtsc(), begun;

	if (!engine->takes_turns)
		return false;
	begun = counter_read(&turns->begun);
	/* While nobody looked the whole machine may have stood, and the worker with it. */
	if (begun != engine->turn_seen || now - engine->turn_looked_tsc >
			engine_cycles(engine, SECOND_NS)) {
		engine->turn_seen = begun;
		engine->turn_seen_tsc = now;
	}
	engine->turn_looked_tsc = now;
	return (int64_t)(now - engine->turn_seen_tsc) > (int64_t)(2 * (turns->guard_cycles +
		turns->turn_cycles) + engine_cycles(engine, LOST_NS));
}

void
turns_finish(struct engine *engine)
{
	if (!engine->takes_turns)
		return;
	holds_close(&engine->turns->holds);
	engine->takes_turns = false;
	if (engine->turns_lost)
		engine->turns->result.end = TURNS_WORKER_LOST;
	engine->turns_lost = false;
}
