/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Looks at a trial while its workers run. They are not disturbed: what they write is only read. */

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "engine_private.h"
#include "live.h"
#include "wide.h"

struct live_latency {
	uint64_t before[HISTOGRAM_BUCKETS]; /* as of the last look */
	struct histogram since;
};

bool
live_ready(struct engine *engine, const struct trial_request *request)
{
	unsigned int i;

	for (i = 0; i < engine->traffic.streams && request->latency; i++) {
		if (engine->live[i] == NULL)
			engine->live[i] = malloc(sizeof(*engine->live[i]));
		if (engine->live[i] == NULL)
			return false;
		memset(engine->live[i], 0, sizeof(*engine->live[i]));
	}
	for (; i < TGEN_MAX_STREAMS; i++) {
		free(engine->live[i]);
		engine->live[i] = NULL;
	}
	return true;
}

void
live_free(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < TGEN_MAX_STREAMS; i++) {
		free(engine->live[i]);
		engine->live[i] = NULL;
	}
}

/* Of what is due now and is not sent, as much as was due while the port was full. */
static uint64_t
refused_by(const struct sender *sender, uint64_t now)
{
	const struct steps *steps = &sender->steps;
	const struct pacer pacer = sender->pacer;
	uint64_t sent = counter_read(&sender->sent), due, full, refused = 0;
	unsigned int i;

	for (i = 0; i < steps->now && i < TGEN_MAX_STEPS; i++)
		refused += steps->of[i].refused;
	if (!sender->paced || pacer.pace.distance == 0)
		return refused;
	due = RTE_MIN(pacer_due(&pacer, now), sender->intended);
	full = (uint64_t)(((uint128_t)sender->full_cycles << 16) / pacer.pace.distance);
	/* A burst may be due that nobody had time to offer yet. */
	return due > sent + sender->burst ? refused + RTE_MIN(due - sent, full) : refused;
}

static void
look_at_part(const struct engine *engine, unsigned int index, uint64_t now,
	struct live_stream *live)
{
	const struct sender *sender = &engine->sender[index];
	unsigned int listeners = 0, i;

	live->sent += counter_read(&sender->sent);
	live->refused += refused_by(sender, now);
	live->sends |= counter_read(&sender->over) == 0 &&
		counter_read(&sender->sent) < sender->intended;
	for (i = 0; i < engine->workers; i++) {
		const struct watch *watch = &engine->worker[i]->watch[index];
		uint64_t received;

		if (engine->worker[i]->receivers == 0)
			continue;
		received = counter_read(&watch->received);
		listeners += received != 0;
		live->received += received + counter_read(&watch->unmarked);
		live->received_bytes += counter_read(&watch->received_bytes);
		live->distinct += counter_read(&watch->distinct);
		live->corrupted += counter_read(&watch->corrupted);
		live->corrupted_bytes += counter_read(&watch->corrupted_bytes);
		live->misrouted += counter_read(&watch->misrouted);
		live->misrouted_bytes += counter_read(&watch->misrouted_bytes);
		live->lost += counter_read(&watch->gaps->missing);
	}
	live->lost_unknown |= listeners > 1 || replay_has_unmarked(sender->replay);
}

static bool
is_back(const struct engine *engine, unsigned int index)
{
	uint64_t back = 0;
	unsigned int i;

	for (i = 0; i < engine->workers; i++) {
		const struct watch *watch = &engine->worker[i]->watch[index];

		if (engine->worker[i]->receivers != 0)
			back += counter_read(&watch->distinct) + counter_read(&watch->unmarked);
	}
	return back == counter_read(&engine->sender[index].sent);
}

bool
live_all_back(const struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->senders != 0 &&
				worker_state(engine->worker[i]) != STATE_SENT)
			return false;
	for (i = 0; i < engine->senders; i++)
		if (!is_back(engine, i))
			return false;
	return true;
}

void
engine_live(const struct engine *engine, struct live *live)
{
	uint64_t now = rte_rdtsc(), elapsed = now - engine->result.started_tsc;
	unsigned int i;

	memset(live, 0, sizeof(*live));
	live->elapsed_ns = (uint64_t)((double)elapsed * 1e9 / (double)engine->tsc_hz);
	for (i = 0; i < engine->senders; i++)
		look_at_part(engine, i, now, &live->stream[engine->sender[i].part.stream]);
}

/* Its worker adds to it without any: an atomic type would make each addition a locked one. */
static uint64_t
read_bucket(const struct histogram *histogram, uint32_t bucket)
{
	return counter_read((const RTE_ATOMIC(uint64_t) *)&histogram->bucket[bucket]);
}

static uint64_t
counted(const struct engine *engine, unsigned int stream, uint32_t bucket)
{
	uint64_t sum = 0;
	unsigned int i, j;

	for (i = 0; i < engine->senders; i++) {
		if (engine->sender[i].part.stream != stream)
			continue;
		for (j = 0; j < engine->workers; j++) {
			const struct watch *watch = &engine->worker[j]->watch[i];

			if (engine->worker[j]->receivers != 0 && watch->latency != NULL)
				sum += read_bucket(watch->latency, bucket);
		}
	}
	return sum;
}

const struct histogram *
engine_live_latency(struct engine *engine, unsigned int stream)
{
	struct live_latency *live = engine->live[stream];
	struct histogram *since;
	uint32_t i;

	if (live == NULL)
		return NULL;
	since = &live->since;
	histogram_clear(since);
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t now = counted(engine, stream, i), more = now - live->before[i];

		live->before[i] = now;
		if (more == 0)
			continue;
		since->bucket[i] = more;
		since->count += more;
		since->minimum = RTE_MIN(since->minimum, histogram_lowest(i));
		/* The last bucket has no end. */
		since->maximum = i + 1 < HISTOGRAM_BUCKETS ? histogram_highest(i) :
			histogram_lowest(i);
	}
	return since;
}
