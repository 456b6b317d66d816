/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "frame.h"
#include "verbs.h"
#include "verbs_replay.h"

/* One way to say what sizes frames have: a size, a list of sizes, or a genome. */
static void
read_sizes(struct object *object, struct stream *stream)
{
	json_t *list = NULL, *element;
	const char *genome = NULL;
	uint64_t size = 0;
	char path[MESSAGE_PATH], list_path[MESSAGE_PATH];
	struct error error = { 0 };
	size_t i;
	int count, ways;

	ways = object_count(object, "size", TGEN_MIN_FRAME, TGEN_MAX_FRAME, &size);
	ways += object_list(object, "sizes", 1, TGEN_MAX_SIZES, &list);
	ways += object_text(object, "genome", &genome);
	if (ways != 1) {
		problem_set(object->problem, object->path, ways == 0 ? "missing-key" : "bad-value",
			"a stream needs exactly one of size, sizes, genome and replay");
		return;
	}
	stream->sizes = 1;
	stream->size[0] = (uint16_t)size;
	if (list != NULL) {
		object_path(object, "sizes", list_path);
		json_array_foreach(list, i, element) {
			element_path(list_path, i, path);
			if (!value_count(element, path, TGEN_MIN_FRAME, TGEN_MAX_FRAME, &size,
					object->problem))
				return;
			stream->size[i] = (uint16_t)size;
		}
		stream->sizes = (uint16_t)json_array_size(list);
	}
	if (genome != NULL) {
		count = frame_genome(genome, stream->size, TGEN_MAX_SIZES, &error);
		object_path(object, "genome", path);
		if (count <= 0)
			problem_set(object->problem, path, "bad-value", "%s",
				count < 0 ? error.text : "has no letters");
		else
			stream->sizes = (uint16_t)count;
	}
}

static void
read_variation(json_t *json, const char *path, struct variation *variation,
	struct problem *problem)
{
	static const char *const fields[] = {
		[FIELD_SOURCE_MAC] = "source_mac",
		[FIELD_DESTINATION_MAC] = "destination_mac",
		[FIELD_SOURCE_IP] = "source_ip",
		[FIELD_DESTINATION_IP] = "destination_ip",
		[FIELD_SOURCE_PORT] = "source_port",
		[FIELD_DESTINATION_PORT] = "destination_port",
		[FIELD_VLAN] = "vlan",
		[FIELD_VNI] = "vni",
		[FIELD_KEY] = "key",
		[FIELD_TEID] = "teid",
	};
	uint64_t count = 0, step = 1;
	struct object object;
	unsigned int choice = 0;

	object_begin(&object, json, path, problem);
	if (!object_choice(&object, "field", fields, sizeof(fields) / sizeof(fields[0]), &choice) ||
			!object_count(&object, "count", 1, TGEN_MAX_FLOWS, &count))
		problem_set(problem, path, "missing-key", "a variation needs field and count");
	object_count(&object, "step", 1, UINT32_MAX, &step);
	object_end(&object);
	variation->field = (enum field)choice;
	variation->count = (uint32_t)count;
	variation->step = (uint32_t)step;
}

static void
read_flows(struct object *stream_object, struct flows *flows)
{
	static const char *const orders[] = {
		[FLOWS_IN_ORDER] = "in-order", [FLOWS_SHUFFLED] = "shuffled",
	};
	char path[MESSAGE_PATH], list_path[MESSAGE_PATH], element[MESSAGE_PATH];
	json_t *json = object_any(stream_object, "flows"), *list = NULL, *one;
	struct problem *problem = stream_object->problem;
	uint64_t product = 1;
	unsigned int choice;
	struct object object;
	size_t i;

	if (json == NULL)
		return;
	object_path(stream_object, "flows", path);
	object_begin(&object, json, path, problem);
	if (object_list(&object, "vary", 1, TGEN_MAX_VARIATIONS, &list)) {
		object_path(&object, "vary", list_path);
		json_array_foreach(list, i, one) {
			element_path(list_path, i, element);
			read_variation(one, element, &flows->variation[i], problem);
			/* Each count has at most 25 bits, so four of them need care. */
			if (product <= TGEN_MAX_FLOWS)
				product *= flows->variation[i].count;
		}
		flows->variations = (uint8_t)json_array_size(list);
	} else {
		problem_set(problem, path, "missing-key", "flows need a list vary");
	}
	if (object_choice(&object, "order", orders, 2, &choice))
		flows->order = (enum flow_order)choice;
	object_count(&object, "seed", 0, INT64_MAX, &flows->seed);
	object_end(&object);
	if (product > TGEN_MAX_FLOWS)
		problem_set(problem, path, "out-of-range", "there are at most %u flows in a stream",
			TGEN_MAX_FLOWS);
	flows->count = (uint32_t)product;
}

/* How often a frame is for everybody. */
static void
read_broadcast(struct object *object, struct stream *stream)
{
	uint64_t every = 0;
	char path[MESSAGE_PATH];

	object_count(object, "broadcast_every", 1, UINT32_MAX, &every);
	stream->broadcast_every = (uint32_t)every;
	if (every == 0 || stream->headers.outer.kind == ENCAPSULATION_NONE)
		return;
	object_path(object, "broadcast_every", path);
	problem_set(object->problem, path, "bad-value",
		"the frames go through a tunnel, to the station at its other end");
}

/* What only all of a stream together can be right or wrong about. */
static void
check_stream(const struct object *object, const struct stream *stream)
{
	uint16_t smallest = frame_smallest(&stream->headers);
	struct error error = { 0 };
	char path[MESSAGE_PATH];
	unsigned int i;

	for (i = 0; i < stream->sizes; i++)
		if (stream->size[i] < smallest)
			problem_set(object->problem, object->path, "bad-size",
				"%u bytes are too few for these headers and the test payload: "
				"at least %u", stream->size[i], smallest);
	object_path(object, "flows", path);
	if (flow_check(&stream->flows, &stream->headers, &error) < 0)
		problem_set(object->problem, path, error.code, "%s", error.text);
}

static void
read_stream(json_t *json, const char *path, uint16_t ports, struct stream *stream,
	struct problem *problem)
{
	uint16_t last = ports > 0 ? (uint16_t)(ports - 1) : 0;
	struct object object;

	object_begin(&object, json, path, problem);
	object_count_16(&object, "transmit_port", 0, last, &stream->transmit_port);
	stream->receive_port = stream->transmit_port ^ 1;
	if (stream->receive_port > last)
		stream->receive_port = stream->transmit_port;
	object_count_16(&object, "receive_port", 0, last, &stream->receive_port);
	stream->workers = 1;
	stream->flows.count = 1;
	if (!replay_of_stream(&object, stream)) {
		object_count_16(&object, "workers", 1, TGEN_MAX_WORKERS, &stream->workers);
		read_sizes(&object, stream);
		headers_read(&object, stream);
		read_broadcast(&object, stream);
		read_flows(&object, &stream->flows);
	}
	object_end(&object);
	if (!problem_is(problem) && stream->replay[0] == '\0')
		check_stream(&object, stream);
}

enum verb_outcome
verb_configure(struct session *session, struct object *request, json_t **result)
{
	struct traffic traffic = { 0 };
	struct error error = { 0 };
	char path[MESSAGE_PATH];
	json_t *list = NULL, *element, *replays;
	size_t i;

	if (!object_list(request, "streams", 1, TGEN_MAX_STREAMS, &list))
		problem_set(request->problem, "streams", "missing-key", "what shall be sent?");
	if (!request_end(request))
		return VERB_FAILED;
	json_array_foreach(list, i, element) {
		element_path("streams", i, path);
		traffic.stream[i].id = (uint8_t)i;
		read_stream(element, path, engine_ports(session->engine), &traffic.stream[i],
			request->problem);
	}
	if (problem_is(request->problem))
		return VERB_FAILED;
	traffic.streams = (uint8_t)json_array_size(list);
	/* Whatever the engine makes of it, it no longer has what it had. */
	session->has_traffic = false;
	if (engine_configure(session->engine, &traffic, &error) < 0)
		return verb_refuse(request, &error);
	session->traffic = traffic;
	session->has_traffic = true;
	*result = json_pack("{s:i}", "streams", (int)traffic.streams);
	replays = replays_json(session);
	if (replays != NULL)
		json_object_set_new(*result, "replays", replays);
	return VERB_DONE;
}
