/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Histograms that a trial asks for: those of the last one are used again, or given back. */

#include <string.h>

#include <rte_malloc.h>

#include "collect_latency.h"
#include "engine_private.h"

struct histogram *
collect_histogram(struct histogram *histogram)
{
	if (histogram == NULL)
		histogram = rte_malloc("histogram", sizeof(*histogram), RTE_CACHE_LINE_SIZE);
	if (histogram != NULL)
		histogram_clear(histogram);
	return histogram;
}

void
collect_drop_histogram(struct histogram **histogram)
{
	rte_free(*histogram);
	*histogram = NULL;
}

/* False when there is no memory for one that is wanted. */
static bool
ready(struct histogram **histogram, bool wanted)
{
	if (wanted)
		*histogram = collect_histogram(*histogram);
	else
		collect_drop_histogram(histogram);
	return !wanted || *histogram != NULL;
}

static bool
wants_details(const struct trial_request *request)
{
	return request->variation || request->latency_after_ns != 0 ||
		request->latency_ranges != 0;
}

void
collect_free_details(struct watch *watch)
{
	unsigned int i;

	if (watch->details == NULL)
		return;
	collect_drop_histogram(&watch->details->variation);
	for (i = 0; i < TGEN_MAX_PICKS; i++)
		collect_drop_histogram(&watch->details->pick[i].latency);
	rte_free(watch->details);
	watch->details = NULL;
}

/* The first pick is that of a moment, if there is one; the ranges follow. */
static void
set_picks(const struct engine *engine, struct details *details,
	const struct trial_request *request)
{
	unsigned int i;

	details->picks = 0;
	if (request->latency_after_ns != 0)
		details->pick[details->picks++] = (struct pick){
			.last = UINT64_MAX,
			.after = engine_cycles(engine, request->latency_after_ns),
			.latency = details->pick[0].latency,
		};
	for (i = 0; i < request->latency_ranges; i++, details->picks++)
		details->pick[details->picks] = (struct pick){
			.first = request->latency_range[i][0],
			.last = request->latency_range[i][1],
			.latency = details->pick[details->picks].latency,
		};
	for (i = 0; i < details->picks; i++)
		details->pick[i].first_frame = UINT64_MAX;
}

bool
collect_ready_latency(const struct engine *engine, struct worker *worker,
	const struct sender *sender, const struct trial_request *request)
{
	struct watch *watch = &worker->watch[sender->number];
	struct details *details;
	unsigned int i;

	worker->detailed = wants_details(request);
	if (!ready(&watch->latency, request->latency || wants_details(request)))
		return false;
	if (!wants_details(request)) {
		collect_free_details(watch);
		return true;
	}
	if (watch->details == NULL)
		watch->details = rte_zmalloc("details", sizeof(*details), RTE_CACHE_LINE_SIZE);
	details = watch->details;
	if (details == NULL || !ready(&details->variation, request->variation))
		return false;
	details->part = sender->part;
	details->begin_tsc = engine->workers == 1 ? &worker->started_tsc : &engine->begin_tsc;
	details->last_sequence = UINT64_MAX - 1; /* before no frame at all */
	details->last_latency = 0;
	set_picks(engine, details, request);
	for (i = 0; i < TGEN_MAX_PICKS; i++)
		if (!ready(&details->pick[i].latency, i < details->picks))
			return false;
	return true;
}

bool
collect_ready_results(struct engine *engine, const struct trial_request *request)
{
	unsigned int i, range;

	for (i = 0; i < engine->traffic.streams; i++) {
		struct latency_result *latency = &engine->result.stream[i].latency;

		latency->first_frame = UINT64_MAX;
		if (!ready(&latency->all, request->latency || request->latency_after_ns != 0) ||
				!ready(&latency->variation, request->variation))
			return false;
		for (range = 0; range < TGEN_MAX_RANGES; range++)
			if (!ready(&latency->range[range], range < request->latency_ranges))
				return false;
	}
	return true;
}

void
collect_free_result(struct stream_result *result)
{
	unsigned int i;

	collect_drop_histogram(&result->latency.all);
	collect_drop_histogram(&result->latency.variation);
	for (i = 0; i < TGEN_MAX_RANGES; i++)
		collect_drop_histogram(&result->latency.range[i]);
}

static void
merge(struct histogram *into, const struct histogram *from)
{
	if (into != NULL && from != NULL)
		histogram_merge(into, from);
}

void
collect_latency(struct stream_result *result, const struct watch *watch,
	const struct trial_request *request)
{
	struct latency_result *latency = &result->latency;
	const struct details *details = watch->details;
	const struct pick *pick;
	unsigned int i;

	if (request->latency_after_ns == 0)
		merge(latency->all, watch->latency);
	if (details == NULL)
		return;
	merge(latency->variation, details->variation);
	pick = details->pick;
	if (request->latency_after_ns != 0) {
		merge(latency->all, pick->latency);
		if (pick->first_frame < latency->first_frame) {
			latency->first_frame = pick->first_frame;
			latency->first_tsc = pick->first_tsc;
			latency->first_latency = pick->first_latency;
		}
		pick++;
	}
	for (i = 0; i < request->latency_ranges; i++)
		merge(latency->range[i], pick[i].latency);
}
