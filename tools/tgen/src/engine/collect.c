/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Clear what is counted before a trial, and put it together after it; the workers are parked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include <rte_ethdev.h>

#include "collect.h"
#include "collect_latency.h"
#include "collect_senders.h"
#include "engine_private.h"
#include "live.h"
#include "transmit.h"

/* A window for this trial's rate; that of the last one, if it is as great. */
static bool
ready_window(struct window *window, uint64_t size)
{
	struct error error;

	if (window->bits != NULL && window->mask + 1 == size) {
		window_clear(window);
		return true;
	}
	window_destroy(window);
	return window_create(window, size, &error) == 0;
}

static void
clear_watch(struct watch *watch, uint64_t intended)
{
	watch->intended = intended;
	watch->received = 0;
	watch->unmarked = 0;
	watch->received_bytes = 0;
	watch->distinct = 0;
	watch->duplicates = 0;
	watch->reordered = 0;
	watch->reorder_extent = 0;
	watch->first_arrival = 0;
	watch->last_arrival = 0;
	watch->longest_silence = 0;
	watch->beyond_window = 0;
	watch->corrupted = 0;
	watch->corrupted_bytes = 0;
	watch->misrouted = 0;
	watch->misrouted_bytes = 0;
	watch->wrong_size = 0;
	memset(watch->arrived, 0, sizeof(watch->arrived));
	gaps_clear(watch->gaps);
}

bool
collect_clear_worker(struct worker *worker)
{
	unsigned int i;

	worker->departure_error = collect_histogram(worker->departure_error);
	worker->quiet_cycles = 0;
	/* A worker that is stopped before it begins has seen nothing, and not what it saw before. */
	worker->loops = 0;
	worker->busy_cycles = 0;
	worker->total_cycles = 0;
	worker->longest_gap_cycles = 0;
	worker->gaps_over_10us = 0;
	worker->paused_cycles = 0;
	worker->started_tsc = 0;
	worker->ended_tsc = 0;
	for (i = 0; i < worker->receivers; i++) {
		struct receiver *receiver = worker->receiver[i];

		receiver->foreign = 0;
		receiver->answered = 0;
		receiver->stale = 0;
		receiver->corrupted = 0;
	}
	return worker->departure_error != NULL;
}

static bool
prepare_worker(struct engine *engine, struct worker *worker, const struct trial_request *request)
{
	unsigned int i;

	worker->trial = request->number;
	worker->check_fill = request->check_fill;
	if (!collect_clear_worker(worker))
		return false;
	for (i = 0; i < engine->senders && worker->receivers != 0; i++) {
		const struct part *part = &engine->sender[i].part;
		uint64_t frames = part_share(part, request->frames[part->stream]);

		clear_watch(&worker->watch[i], frames);
		if (!ready_window(&worker->watch[i].window, window_size(
				request->own_times ? 0 :
				steps_fastest(request, part->stream) / part->of, frames,
				engine->senders)) ||
				!collect_ready_latency(engine, worker, &engine->sender[i], request))
			return false;
	}
	for (i = 0; i < worker->senders; i++)
		worker->sender[i]->departure_error = worker->departure_error;
	return true;
}

int
collect_prepare(struct engine *engine, const struct trial_request *request, struct error *error)
{
	bool ready = collect_ready_results(engine, request) && live_ready(engine, request);
	unsigned int i;

	for (i = 0; i < engine->workers && ready; i++)
		ready = prepare_worker(engine, engine->worker[i], request);
	if (!ready)
		return error_set(error, -ENOMEM, "no-memory", "no memory for histograms and windows");
	for (i = 0; i < engine->senders; i++)
		collect_clear_sender(engine, &engine->sender[i], request);
	return 0;
}

void
collect_free(struct engine *engine)
{
	unsigned int i;

	live_free(engine);
	for (i = 0; i < TGEN_MAX_STREAMS; i++)
		collect_free_result(&engine->result.stream[i]);
	for (i = 0; i < engine->workers; i++)
		collect_drop_histogram(&engine->worker[i]->departure_error);
}

static void
add_watch(const struct engine *engine, struct stream_result *result, const struct watch *watch)
{
	unsigned int i;

	/* Who sees a part of the frames cannot say for how long none came at all. */
	/* 0 for none, which less 1 is more than any. */
	result->first_arrival = RTE_MIN(result->first_arrival - 1, watch->first_arrival - 1) + 1;
	result->last_arrival = RTE_MAX(result->last_arrival, watch->last_arrival);
	result->listeners += watch->received != 0;
	result->longest_silence = result->listeners == 1 ?
		RTE_MAX(result->longest_silence, watch->longest_silence) : 0;
	result->received += watch->received;
	result->unmarked_received += watch->unmarked;
	result->received_bytes += watch->received_bytes;
	result->distinct += watch->distinct;
	result->duplicates += watch->duplicates;
	result->reordered += watch->reordered;
	result->reorder_extent = RTE_MAX(result->reorder_extent, watch->reorder_extent);
	result->beyond_window += watch->beyond_window;
	result->corrupted += watch->corrupted;
	result->corrupted_bytes += watch->corrupted_bytes;
	result->misrouted += watch->misrouted;
	result->misrouted_bytes += watch->misrouted_bytes;
	result->wrong_size += watch->wrong_size;
	for (i = 0; i < TGEN_MAX_PORTS; i++)
		result->arrived[i] += watch->arrived[i];
	collect_latency(result, watch, &engine->request);
}

/* A part of a stream, as it was sent, and as each worker saw it arrive. */
static void
collect_part(struct engine *engine, unsigned int index)
{
	const struct sender *sender = &engine->sender[index];
	struct stream_result *result = &engine->result.stream[sender->part.stream];
	unsigned int i;

	collect_sender(engine, sender);
	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->receivers != 0)
			add_watch(engine, result, &engine->worker[i]->watch[index]);
	collect_last_loss(engine, index);
}

static void
clear_result(struct stream_result *result)
{
	const struct latency_result latency = result->latency;

	memset(result, 0, sizeof(*result));
	result->latency = latency;
}

static void
collect_port(struct engine *engine, unsigned int index)
{
	struct port_result *result = &engine->result.port[index];
	const struct rte_eth_stats *before = &engine->port[index].before;
	uint16_t id = engine->port[index].id;
	struct rte_eth_stats stats;
	unsigned int i;

	memset(result, 0, sizeof(*result));
	for (i = 0; i < engine->receivers; i++) {
		const struct receiver *receiver = &engine->receiver[i];

		if (receiver->port != index)
			continue;
		result->foreign += receiver->foreign;
		result->counts_unmarked |= receiver->unmarked != 0;
		result->answered += receiver->answered;
		result->stale += receiver->stale;
		result->corrupted += receiver->corrupted;
		result->receive_polls += receiver->polls;
		result->receive_full_polls += receiver->full_polls;
		result->receive_behind_cycles = RTE_MAX(result->receive_behind_cycles,
			receiver->behind_cycles);
	}
	for (i = 0; i < engine->senders; i++) {
		if (engine->sender[i].port != id)
			continue;
		result->transmit_retries += engine->sender[i].retries;
		result->held_back += engine->sender[i].flight.held_back;
		result->no_buffers += engine->sender[i].no_buffers;
	}
	/* One count alone says nothing of the time between both. */
	if (engine->port[index].has_before && rte_eth_stats_get(id, &stats) == 0) {
		result->device_told = true;
		result->missed = stats.imissed - before->imissed;
		result->device_errors = stats.ierrors - before->ierrors +
			stats.oerrors - before->oerrors;
		result->no_buffers += stats.rx_nombuf - before->rx_nombuf;
	}
}

static void
collect_worker(struct engine *engine, unsigned int index)
{
	const struct worker *worker = engine->worker[index];
	struct worker_result *result = &engine->result.worker[index];

	result->lcore = worker->lcore;
	result->cpu = worker->cpu;
	result->loops = worker->loops;
	result->busy_cycles = worker->busy_cycles;
	result->total_cycles = worker->total_cycles;
	result->longest_gap_cycles = worker->longest_gap_cycles;
	result->longest_gap_tsc = worker->longest_gap_tsc;
	result->gaps_over_10us = worker->gaps_over_10us;
	result->paused_cycles = transmit_paused(worker);
	result->departure_error = worker->departure_error;
}

void
collect_machine(struct engine *engine)
{
	unsigned int i;

	engine->result.ports = (uint8_t)engine->ports;
	engine->result.workers = (uint8_t)engine->workers;
	for (i = 0; i < engine->ports; i++)
		collect_port(engine, i);
	for (i = 0; i < engine->workers; i++)
		collect_worker(engine, i);
}

void
collect_results(struct engine *engine)
{
	struct trial_result *result = &engine->result;
	uint64_t asked_tsc = result->started_tsc;
	unsigned int i;

	result->streams = engine->traffic.streams;
	result->started_tsc = UINT64_MAX;
	result->ended_tsc = 0;
	for (i = 0; i < engine->traffic.streams; i++)
		clear_result(&result->stream[i]);
	for (i = 0; i < engine->senders; i++)
		collect_part(engine, i);
	collect_machine(engine);
	for (i = 0; i < engine->workers; i++) {
		const struct worker *worker = engine->worker[i];

		if (worker->senders == 0 || worker->started_tsc == 0)
			continue;
		result->started_tsc = RTE_MIN(result->started_tsc, worker->started_tsc);
		result->ended_tsc = RTE_MAX(result->ended_tsc, worker->ended_tsc);
	}
	/* Stopped before any worker began. */
	if (result->started_tsc == UINT64_MAX)
		result->started_tsc = result->ended_tsc = asked_tsc;
}
