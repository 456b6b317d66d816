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

/* What who controls several streams asks for; events of each second do without. */
static void
set_more(json_t *json, const struct live_stream *live)
{
	json_object_set_new(json, "sends", json_boolean(live->sends));
	message_count(json, "received_bytes", live->received_bytes);
	message_count(json, "distinct", live->distinct);
	message_count(json, "corrupted", live->corrupted);
	message_count(json, "corrupted_bytes", live->corrupted_bytes);
	message_count(json, "misrouted", live->misrouted);
	message_count(json, "misrouted_bytes", live->misrouted_bytes);
}

json_t *
result_live(const struct session *session, uint64_t *elapsed_ns)
{
	struct live live = { 0 };
	json_t *list = json_array();
	unsigned int i;

	engine_live(session->engine, &live);
	for (i = 0; i < session->traffic.streams; i++) {
		json_t *json = stream_json(i, &live.stream[i]);

		set_more(json, &live.stream[i]);
		json_array_append_new(list, json);
	}
	*elapsed_ns = live.elapsed_ns;
	return list;
}

json_t *
result_sample(const struct session *session, uint64_t *elapsed_ns)
{
	struct live live = { 0 };
	json_t *list = json_array();
	unsigned int i;

	engine_live(session->engine, &live);
	for (i = 0; i < session->traffic.streams; i++) {
		const struct histogram *since = engine_live_latency(session->engine, i);
		json_t *json = stream_json(i, &live.stream[i]);

		if (since != NULL)
			json_object_set_new(json, "latency",
				since_json(since, session->facts->tsc_hz));
		json_array_append_new(list, json);
	}
	*elapsed_ns = live.elapsed_ns;
	return list;
}
