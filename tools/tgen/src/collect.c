/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Clear what is counted before a trial, and put it together after it; the workers are parked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include <rte_ethdev.h>

#include "engine_private.h"
#include "transmit.h"

static struct histogram *
ready_histogram(struct histogram *histogram)
{
	if (histogram == NULL)
		histogram = rte_malloc("histogram", sizeof(*histogram), RTE_CACHE_LINE_SIZE);
	if (histogram != NULL)
		histogram_clear(histogram);
	return histogram;
}

static void
drop_histogram(struct histogram **histogram)
{
	rte_free(*histogram);
	*histogram = NULL;
}

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
	watch->misrouted = 0;
	watch->wrong_size = 0;
	watch->last_sequence = UINT64_MAX - 1; /* before no frame at all */
	watch->last_latency = 0;
	memset(watch->arrived, 0, sizeof(watch->arrived));
}

/* Histograms that a trial asks for; those of the last one are used again or dropped. */
static bool
ready_watch_histograms(struct watch *watch, const struct trial_request *request)
{
	if (!request->latency && !request->variation)
		drop_histogram(&watch->latency);
	else if ((watch->latency = ready_histogram(watch->latency)) == NULL)
		return false;
	if (!request->variation)
		drop_histogram(&watch->variation);
	else if ((watch->variation = ready_histogram(watch->variation)) == NULL)
		return false;
	return true;
}

static bool
prepare_worker(struct engine *engine, struct worker *worker, const struct trial_request *request)
{
	unsigned int i;

	worker->trial = request->number;
	worker->check_fill = request->check_fill;
	worker->departure_error = ready_histogram(worker->departure_error);
	if (worker->departure_error == NULL)
		return false;
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
	for (i = 0; i < engine->senders && worker->receivers != 0; i++) {
		const struct part *part = &engine->sender[i].part;
		uint64_t frames = part_share(part, request->frames[part->stream]);

		clear_watch(&worker->watch[i], frames);
		if (!ready_window(&worker->watch[i].window, window_size(
				request->own_times ? 0 : request->rate_mfps[part->stream] / part->of, frames,
				engine->senders)) ||
				!ready_watch_histograms(&worker->watch[i], request))
			return false;
	}
	for (i = 0; i < worker->senders; i++)
		worker->sender[i]->departure_error = worker->departure_error;
	return true;
}

/* With 16 bits of fraction. A frame slower than one in a day has no neighbour in a burst. */
static uint64_t
cycles_between(uint64_t rate_mfps, uint64_t tsc_hz)
{
	__extension__ typedef unsigned __int128 wide;

	return rate_mfps == 0 ? 0 :
		(uint64_t)(((wide)tsc_hz * 1000 << 16) / rate_mfps);
}

static void
clear_sender(struct sender *sender, const struct trial_request *request, unsigned int streams,
	uint64_t tsc_hz)
{
	const struct part *part = &sender->part;
	uint64_t rate_mfps = request->rate_mfps[part->stream];

	sender->trial = request->number;
	sender->paced = rate_mfps != 0 || request->own_times;
	sender->burst = sender->paced ? request->burst : PORT_BURST;
	sender->intended = part_share(part, request->frames[part->stream]);
	sender->next = 0;
	sender->sent = 0;
	sender->sent_bytes = 0;
	sender->first_sent_tsc = 0;
	sender->last_sent_tsc = 0;
	sender->retries = 0;
	memset(&sender->pauses, 0, sizeof(sender->pauses));
	sender->last_refusal = 0;
	sender->full_cycles = 0;
	sender->no_buffers = 0;
	sender->position = 0;
	sender->held = 0;
	sender->earliest = 0;
	sender->step = request->own_times ? 0 : cycles_between(rate_mfps, tsc_hz * part->of);
	/* Not all at once: a port that takes one frame after another need not hold one of each. */
	pacer_init(&sender->pacer, tsc_hz, rate_mfps,
		cycles_between(rate_mfps, tsc_hz) / streams * part->stream >> 16);
	sender->phase = pacer_when(&sender->pacer, part->index);
	/* Of so many frames one is the part's, as if seconds were as much longer. */
	pacer_init(&sender->pacer, tsc_hz * part->of, rate_mfps, 0);
	if (request->own_times && sender->replay != NULL) {
		schedule_init(&sender->schedule, sender->replay, rate_mfps, tsc_hz);
		sender->pacer.schedule = &sender->schedule;
		sender->phase = 0;
	}
}

static bool
prepare_result(struct engine *engine, const struct trial_request *request)
{
	struct trial_result *result = &engine->result;
	unsigned int i;

	for (i = 0; i < engine->traffic.streams; i++) {
		struct stream_result *stream = &result->stream[i];

		if (!request->latency)
			drop_histogram(&stream->latency);
		else if ((stream->latency = ready_histogram(stream->latency)) == NULL)
			return false;
		if (!request->variation)
			drop_histogram(&stream->variation);
		else if ((stream->variation = ready_histogram(stream->variation)) == NULL)
			return false;
	}
	return true;
}

int
collect_prepare(struct engine *engine, const struct trial_request *request, struct error *error)
{
	bool ready = prepare_result(engine, request);
	unsigned int i;

	for (i = 0; i < engine->workers && ready; i++)
		ready = prepare_worker(engine, engine->worker[i], request);
	if (!ready)
		return error_set(error, -ENOMEM, "no-memory", "no memory for histograms and windows");
	for (i = 0; i < engine->senders; i++)
		clear_sender(&engine->sender[i], request, engine->traffic.streams,
			engine->tsc_hz);
	return 0;
}

void
collect_free(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < TGEN_MAX_STREAMS; i++) {
		drop_histogram(&engine->result.stream[i].latency);
		drop_histogram(&engine->result.stream[i].variation);
	}
	for (i = 0; i < engine->workers; i++)
		drop_histogram(&engine->worker[i]->departure_error);
}

static void
add_watch(struct stream_result *result, const struct watch *watch)
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
	result->misrouted += watch->misrouted;
	result->wrong_size += watch->wrong_size;
	for (i = 0; i < TGEN_MAX_PORTS; i++)
		result->arrived[i] += watch->arrived[i];
	if (result->latency != NULL && watch->latency != NULL)
		histogram_merge(result->latency, watch->latency);
	if (result->variation != NULL && watch->variation != NULL)
		histogram_merge(result->variation, watch->variation);
}

static void
add_replay(struct stream_result *result, const struct sender *sender, const struct port *receives)
{
	result->replays = true;
	result->unmarked = replay_count_unmarked(sender->replay, sender->sent);
	result->several_queues = receives->receive_queues > 1;
}

static void
add_sender(struct stream_result *result, const struct sender *sender)
{
	/* Without a bound but time, what was intended is what was sent. */
	uint64_t intended = sender->intended == TGEN_48_BITS ? sender->sent : sender->intended;

	result->intended += intended;
	result->refused += transmit_refused(sender, intended - sender->sent);
	if (sender->sent == 0)
		return;
	if (result->sent == 0 || sender->first_sent_tsc < result->first_sent_tsc)
		result->first_sent_tsc = sender->first_sent_tsc;
	result->last_sent_tsc = RTE_MAX(result->last_sent_tsc, sender->last_sent_tsc);
	result->sent += sender->sent;
	result->sent_bytes += sender->sent_bytes;
}

/* A part of a stream, as it was sent, and as each worker saw it arrive. */
static void
collect_part(struct engine *engine, unsigned int index)
{
	const struct sender *sender = &engine->sender[index];
	struct stream_result *result = &engine->result.stream[sender->part.stream];
	unsigned int i;

	add_sender(result, sender);
	if (sender->replay != NULL)
		add_replay(result, sender, &engine->port[
			engine->traffic.stream[sender->part.stream].receive_port]);
	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->receivers != 0)
			add_watch(result, &engine->worker[i]->watch[index]);
}

static void
clear_result(struct stream_result *result)
{
	struct histogram *latency = result->latency, *variation = result->variation;

	memset(result, 0, sizeof(*result));
	result->latency = latency;
	result->variation = variation;
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
	if (rte_eth_stats_get(id, &stats) == 0) {
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
collect_results(struct engine *engine)
{
	struct trial_result *result = &engine->result;
	uint64_t asked_tsc = result->started_tsc;
	unsigned int i;

	result->streams = engine->traffic.streams;
	result->ports = (uint8_t)engine->ports;
	result->workers = (uint8_t)engine->workers;
	result->started_tsc = UINT64_MAX;
	result->ended_tsc = 0;
	for (i = 0; i < engine->traffic.streams; i++)
		clear_result(&result->stream[i]);
	for (i = 0; i < engine->senders; i++)
		collect_part(engine, i);
	for (i = 0; i < engine->ports; i++)
		collect_port(engine, i);
	for (i = 0; i < engine->workers; i++) {
		const struct worker *worker = engine->worker[i];

		collect_worker(engine, i);
		if (worker->senders == 0 || worker->started_tsc == 0)
			continue;
		result->started_tsc = RTE_MIN(result->started_tsc, worker->started_tsc);
		result->ended_tsc = RTE_MAX(result->ended_tsc, worker->ended_tsc);
	}
	/* Stopped before any worker began. */
	if (result->started_tsc == UINT64_MAX)
		result->started_tsc = result->ended_tsc = asked_tsc;
}
