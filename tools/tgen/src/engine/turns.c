/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Turns, as the main lcore drives them: a trial whose worker sends to one side after the other. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "collect_latency.h"
#include "engine_private.h"
#include "trial.h"
#include "turns_end.h"
#include "turns_worker.h"
#include "workers.h"

#define DRAIN_NS UINT64_C(5000000) /* at most, before a side is held */

static int
check(const struct engine *engine, const struct turns_request *request, struct error *error)
{
	int ret = engine_check_idle(engine, error);
	unsigned int side, i;

	if (ret != 0)
		return ret;
	if (engine->traffic.streams == 0)
		return error_set(error, -EINVAL, "not-configured", "no traffic is configured");
	if (engine->workers != 1)
		return error_set(error, -EINVAL, "bad-value",
			"turns are for one worker, which sends, receives and holds processes; there are %u",
			engine->workers);
	for (side = 0; side < request->sides; side++)
		for (i = 0; i < engine->senders; i++)
			if (request->side[side].streams >> i & 1 && engine->sender[i].replay != NULL)
				return error_set(error, -EINVAL, "bad-value",
					"stream %u sends a file, whose times and frames without a mark "
					"know no turns", i);
	return 0;
}

static uint32_t
ports_of(const struct engine *engine, uint32_t streams)
{
	uint32_t ports = 0;
	unsigned int i;

	for (i = 0; i < engine->traffic.streams; i++)
		if (streams >> i & 1)
			ports |= UINT32_C(1) << engine->traffic.stream[i].transmit_port |
				UINT32_C(1) << engine->traffic.stream[i].receive_port;
	return ports;
}

/* One worker serves all, so a stream has one part, and its watch the same number. */
static void
fill_side(struct engine *engine, struct turns *turns, unsigned int number)
{
	struct worker *worker = engine->worker[0];
	struct turns_side *side = &turns->side[number];
	uint32_t streams = turns->request.side[number].streams;
	uint32_t ports = ports_of(engine, streams);
	unsigned int i;

	for (i = 0; i < engine->senders; i++) {
		if ((streams >> engine->sender[i].part.stream & 1) == 0)
			continue;
		side->watch[side->senders] = &worker->watch[i];
		side->sender[side->senders++] = &engine->sender[i];
	}
	for (i = 0; i < worker->receivers; i++)
		if (ports >> worker->receiver[i]->port & 1)
			side->receiver[side->receivers++] = worker->receiver[i];
	side->gap_cycles = engine_cycles(engine, turns->request.side[number].gap_ns);
	turns->result.side[number].streams = streams;
	turns->result.side[number].ports = ports;
}

static int
fill_sides(struct engine *engine, struct turns *turns, struct error *error)
{
	const struct turns_request *request = &turns->request;
	uint32_t taken = 0;
	unsigned int side;

	turns->result.sides = request->sides;
	for (side = 0; side < request->sides; side++) {
		uint32_t ports = ports_of(engine, request->side[side].streams);

		if ((ports & taken) != 0)
			return error_set(error, -EINVAL, "bad-value",
				"port %u is side %u's, and that of a side before it",
				(unsigned int)__builtin_ctz(ports & taken), side);
		taken |= ports;
		fill_side(engine, turns, side);
		if (!request->latency)
			continue;
		turns->result.side[side].latency = collect_histogram(NULL);
		if (turns->result.side[side].latency == NULL)
			return error_set(error, -ENOMEM, "no-memory", "no memory for histograms");
	}
	if (!request->latency)
		return 0;
	turns->latency = collect_histogram(NULL);
	return turns->latency != NULL ? 0 :
		error_set(error, -ENOMEM, "no-memory", "no memory for histograms");
}

static unsigned int
most_streams(const struct turns_request *request)
{
	unsigned int most = 0, side;

	for (side = 0; side < request->sides; side++)
		most = RTE_MAX(most,
			(unsigned int)__builtin_popcount(request->side[side].streams));
	return most;
}

static struct turns *
create(const struct engine *engine, const struct trial_request *trial,
	const struct turns_request *request)
{
	unsigned int streams = most_streams(request), i;
	struct turns *turns = calloc(1, sizeof(*turns) +
		request->turns * sizeof(turns->turn[0]));

	if (turns == NULL)
		return NULL;
	turns->stream = calloc((size_t)request->turns * streams, sizeof(turns->stream[0]));
	if (turns->stream == NULL) {
		free(turns);
		return NULL;
	}
	turns->request = *request;
	turns->turn_cycles = engine_cycles(engine, request->turn_ns);
	turns->guard_cycles = engine_cycles(engine, request->guard_ns);
	turns->silent_cycles = engine_cycles(engine, request->silent_ns);
	turns->drain_cycles = engine_cycles(engine, DRAIN_NS);
	turns->result.end = TURNS_STOPPED; /* unless the worker has more to say */
	turns->result.turn = turns->turn;
	turns->result.stream = turns->stream;
	turns->result.most_streams = streams;
	turns->result.devices_told = true;
	turns->result.with_latency = request->latency;
	for (i = 0; i < request->sides; i++)
		turns->result.with_rings |= request->side[i].rings;
	for (i = 0; i < engine->traffic.streams; i++)
		turns->result.flat_out |= trial->frames[i] != 0 && trial->rate_mfps[i] == 0;
	return turns;
}

int
engine_turns(struct engine *engine, const struct trial_request *trial,
	const struct turns_request *request, struct error *error)
{
	int ret = check(engine, request, error);

	if (ret != 0)
		return ret;
	turns_free(engine);
	engine->turns = create(engine, trial, request);
	if (engine->turns == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u turns",
			request->turns);
	ret = fill_sides(engine, engine->turns, error);
	if (ret == 0)
		ret = holds_open(&engine->turns->holds, request, error);
	if (ret != 0)
		return ret;
	engine->worker[0]->turns = engine->turns;
	ret = trial_start(engine, trial, COMMAND_TURNS, error);
	if (ret != 0) {
		holds_close(&engine->turns->holds);
		return ret;
	}
	engine->takes_turns = true;
	engine->turn_seen = 0;
	engine->turn_seen_tsc = engine->turn_looked_tsc = rte_rdtsc();
	return 0;
}

const struct turns_result *
engine_turns_result(const struct engine *engine)
{
	return &engine->turns->result;
}
