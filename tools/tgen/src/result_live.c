/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "hdr.h"
#include "result.h"
#include "result_histogram.h"

/* A short form: one of these is said each second. */
static json_t *
since_json(const struct histogram *since, uint64_t tsc_hz)
{
	json_t *json = json_object();

	message_count(json, "count", since->count);
	if (since->count == 0 || tsc_hz == 0)
		return json;
	message_count(json, "min_ns", hdr_nanoseconds(since->minimum, tsc_hz));
	message_count(json, "max_ns", hdr_nanoseconds(since->maximum, tsc_hz));
	json_object_set_new(json, "percentiles_ns", result_percentiles(since, tsc_hz));
	return json;
}

static json_t *
stream_json(unsigned int index, const struct live_stream *live)
{
	json_t *json = json_object();

	message_count(json, "stream", index);
	message_count(json, "sent", live->sent);
	message_count(json, "received", live->received);
	message_count(json, "refused", live->refused);
	if (!live->lost_unknown)
		message_count(json, "lost", live->lost);
	return json;
}

json_t *
result_live(const struct session *session, uint64_t *elapsed_ns)
{
	struct live live = { 0 };
	json_t *list = json_array();
	unsigned int i;

	engine_live(session->engine, &live);
	for (i = 0; i < session->traffic.streams; i++)
		json_array_append_new(list, stream_json(i, &live.stream[i]));
	*elapsed_ns = live.elapsed_ns;
	return list;
}

json_t *
result_sample(const struct session *session, uint64_t *elapsed_ns)
{
	json_t *list = result_live(session, elapsed_ns);
	unsigned int i;

	for (i = 0; i < session->traffic.streams; i++) {
		const struct histogram *since = engine_live_latency(session->engine, i);

		if (since != NULL)
			json_object_set_new(json_array_get(list, i), "latency",
				since_json(since, session->facts->tsc_hz));
	}
	return list;
}
