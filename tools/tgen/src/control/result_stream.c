/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "hdr.h"
#include "result_histogram.h"
#include "result_stream.h"

/* A moment of the trial; what seems to be before its begin is its begin. */
static void
set_moment(json_t *json, const char *name, uint64_t tsc, const struct trial_result *trial)
{
	uint64_t since = (int64_t)(tsc - trial->started_tsc) > 0 ? tsc - trial->started_tsc : 0;

	message_count(json, name, hdr_nanoseconds(since, trial->tsc_hz));
}

void
result_set_steps(json_t *json, const struct stream_result *stream,
	const struct trial_result *trial)
{
	json_t *list;
	unsigned int i;

	if (stream->steps == 0)
		return;
	list = json_array();
	for (i = 0; i < stream->steps; i++) {
		const struct step_result *step = &stream->step[i];
		json_t *one = json_object();

		message_count(one, "intended", step->intended);
		message_count(one, "sent", step->sent);
		message_count(one, "unsent", step->intended - step->sent);
		message_count(one, "refused", step->refused);
		if (step->due_tsc != 0)
			set_moment(one, "due_ns", step->due_tsc, trial);
		if (step->began_tsc != 0)
			set_moment(one, "began_ns", step->began_tsc, trial);
		json_array_append_new(list, one);
	}
	json_object_set_new(json, "steps", list);
}

void
result_set_last_loss(json_t *json, const struct stream_result *stream,
	const struct trial_result *trial)
{
	if (stream->last_loss_tsc != 0 && !stream->last_loss_unknown)
		set_moment(json, "last_loss_ns", stream->last_loss_tsc, trial);
}

static json_t *
range_json(const uint64_t range[2], const struct histogram *histogram, uint64_t tsc_hz)
{
	json_t *json = result_latency(histogram, tsc_hz);

	message_count(json, "first", range[0]);
	message_count(json, "last", range[1]);
	return json;
}

/* The first frame from the moment on that was asked for. */
static json_t *
first_json(const struct latency_result *latency, const struct trial_result *trial)
{
	json_t *json = json_object();

	message_count(json, "frame", latency->first_frame);
	set_moment(json, "sent_ns", latency->first_tsc, trial);
	message_count(json, "latency_ns", hdr_nanoseconds(latency->first_latency, trial->tsc_hz));
	return json;
}

void
result_set_latency(json_t *json, const struct stream_result *stream,
	const struct trial_request *request, const struct trial_result *trial)
{
	const struct latency_result *latency = &stream->latency;
	json_t *ranges;
	unsigned int i;

	if (latency->all != NULL && (request->latency || request->latency_after_ns != 0))
		json_object_set_new(json, "latency", result_latency(latency->all, trial->tsc_hz));
	if (request->latency_after_ns != 0 && latency->first_frame != UINT64_MAX)
		json_object_set_new(json, "latency_first", first_json(latency, trial));
	if (request->latency_ranges != 0) {
		ranges = json_array();
		for (i = 0; i < request->latency_ranges; i++)
			json_array_append_new(ranges, range_json(request->latency_range[i],
				latency->range[i], trial->tsc_hz));
		json_object_set_new(json, "latency_ranges", ranges);
	}
	if (request->variation && latency->variation != NULL)
		json_object_set_new(json, "variation",
			result_histogram(latency->variation, trial->tsc_hz));
}
