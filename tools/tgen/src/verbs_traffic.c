/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <string.h>

#include "address.h"
#include "flow.h"
#include "frame.h"
#include "verbs.h"

/* RFC 2544, appendix C: an echo request to port 7 from port 0xC020. */
#define DEFAULT_SOURCE_PORT 0xc020
#define DEFAULT_DESTINATION_PORT 7
#define DEFAULT_TTL 64
#define MPLS_LABELS (1u << 20)
#define VNIS (1u << 24)

/* A key with a few possible texts. Returns false if it is absent or none of them. */
static bool
read_choice(struct object *object, const char *key, const char *const *names, size_t count,
	unsigned int *choice)
{
	char path[MESSAGE_PATH], known[TGEN_ERROR_TEXT] = "";
	const char *text;
	size_t i;

	if (!object_text(object, key, &text))
		return false;
	for (i = 0; i < count; i++) {
		if (strcmp(names[i], text) == 0) {
			*choice = (unsigned int)i;
			return true;
		}
		strncat(known, i == 0 ? "" : ", ", sizeof(known) - strlen(known) - 1);
		strncat(known, names[i], sizeof(known) - strlen(known) - 1);
	}
	object_path(object, key, path);
	problem_set(object->problem, path, "bad-value", "%.40s is none of %s", text, known);
	return false;
}

static void
read_count_16(struct object *object, const char *key, uint16_t least, uint16_t most,
	uint16_t *value)
{
	uint64_t number;

	if (object_count(object, key, least, most, &number))
		*value = (uint16_t)number;
}

static void
read_count_8(struct object *object, const char *key, uint8_t least, uint8_t most, uint8_t *value)
{
	uint64_t number;

	if (object_count(object, key, least, most, &number))
		*value = (uint8_t)number;
}

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
			"a stream needs exactly one of size, sizes and genome");
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

/* A VLAN is its id, or an object of id and priority. */
static void
read_vlan(json_t *json, const char *path, uint16_t *tag, struct problem *problem)
{
	struct object object;
	uint64_t id = 0, priority = 0;

	if (json_is_integer(json)) {
		value_count(json, path, 0, 4095, &id, problem);
	} else {
		object_begin(&object, json, path, problem);
		if (!object_count(&object, "id", 0, 4095, &id))
			problem_set(problem, path, "missing-key", "a VLAN needs an id");
		object_count(&object, "priority", 0, 7, &priority);
		object_end(&object);
	}
	*tag = (uint16_t)(priority << 13 | id);
}

static void
read_tags(struct object *object, struct headers *headers)
{
	char path[MESSAGE_PATH], list_path[MESSAGE_PATH];
	json_t *list, *element;
	uint64_t label;
	size_t i;

	if (object_list(object, "vlans", 0, 2, &list)) {
		object_path(object, "vlans", list_path);
		json_array_foreach(list, i, element) {
			element_path(list_path, i, path);
			read_vlan(element, path, &headers->vlan[i], object->problem);
		}
		headers->vlans = (uint8_t)json_array_size(list);
	}
	if (object_list(object, "mpls", 0, 3, &list)) {
		object_path(object, "mpls", list_path);
		json_array_foreach(list, i, element) {
			element_path(list_path, i, path);
			if (value_count(element, path, 0, MPLS_LABELS - 1, &label,
					object->problem))
				headers->mpls[i] = (uint32_t)label;
		}
		headers->mpls_labels = (uint8_t)json_array_size(list);
	}
}

static void
read_vxlan(struct object *stream_object, struct stream *stream)
{
	struct headers *headers = &stream->headers;
	json_t *json = object_any(stream_object, "vxlan");
	char path[MESSAGE_PATH];
	struct object object;
	uint64_t vni;

	if (json == NULL)
		return;
	object_path(stream_object, "vxlan", path);
	object_begin(&object, json, path, stream_object->problem);
	headers->vxlan = true;
	address_default_mac(stream->transmit_port, true, headers->outer_source_mac);
	address_default_mac(stream->receive_port, true, headers->outer_destination_mac);
	address_default_ip(stream->transmit_port, true, LAYER3_IPV4, headers->outer_source_ip);
	address_default_ip(stream->receive_port, true, LAYER3_IPV4,
		headers->outer_destination_ip);
	if (object_count(&object, "vni", 0, VNIS - 1, &vni))
		headers->vni = (uint32_t)vni;
	else
		problem_set(object.problem, path, "missing-key", "vxlan needs a vni");
	address_mac(&object, "source_mac", headers->outer_source_mac);
	address_mac(&object, "destination_mac", headers->outer_destination_mac);
	address_ip(&object, "source_ip", LAYER3_IPV4, headers->outer_source_ip);
	address_ip(&object, "destination_ip", LAYER3_IPV4, headers->outer_destination_ip);
	object_end(&object);
}

static void
read_headers(struct object *object, struct stream *stream)
{
	static const char *const layer3[] = { [LAYER3_IPV4] = "ipv4", [LAYER3_IPV6] = "ipv6" };
	static const char *const layer4[] = { [LAYER4_UDP] = "udp", [LAYER4_TCP] = "tcp" };
	struct headers *headers = &stream->headers;
	unsigned int choice;

	if (read_choice(object, "layer3", layer3, 2, &choice))
		headers->layer3 = (enum layer3)choice;
	if (read_choice(object, "layer4", layer4, 2, &choice))
		headers->layer4 = (enum layer4)choice;
	address_default_mac(stream->transmit_port, false, headers->source_mac);
	address_default_mac(stream->receive_port, false, headers->destination_mac);
	address_default_ip(stream->transmit_port, false, headers->layer3, headers->source_ip);
	address_default_ip(stream->receive_port, false, headers->layer3,
		headers->destination_ip);
	headers->ttl = DEFAULT_TTL;
	headers->source_port = DEFAULT_SOURCE_PORT;
	headers->destination_port = DEFAULT_DESTINATION_PORT;
	address_mac(object, "source_mac", headers->source_mac);
	address_mac(object, "destination_mac", headers->destination_mac);
	address_ip(object, "source_ip", headers->layer3, headers->source_ip);
	address_ip(object, "destination_ip", headers->layer3, headers->destination_ip);
	read_count_8(object, "dscp", 0, 63, &headers->dscp);
	read_count_8(object, "ttl", 1, 255, &headers->ttl);
	read_count_16(object, "source_port", 0, UINT16_MAX, &headers->source_port);
	read_count_16(object, "destination_port", 0, UINT16_MAX, &headers->destination_port);
	read_tags(object, headers);
	read_vxlan(object, stream);
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
	};
	uint64_t count = 0, step = 1;
	struct object object;
	unsigned int choice = 0;

	object_begin(&object, json, path, problem);
	if (!read_choice(&object, "field", fields, sizeof(fields) / sizeof(fields[0]), &choice) ||
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

	flows->count = 1;
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
	if (read_choice(&object, "order", orders, 2, &choice))
		flows->order = (enum flow_order)choice;
	object_count(&object, "seed", 0, INT64_MAX, &flows->seed);
	object_end(&object);
	if (product > TGEN_MAX_FLOWS)
		problem_set(problem, path, "out-of-range", "there are at most %u flows in a stream",
			TGEN_MAX_FLOWS);
	flows->count = (uint32_t)product;
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
	read_count_16(&object, "transmit_port", 0, last, &stream->transmit_port);
	stream->receive_port = stream->transmit_port ^ 1;
	if (stream->receive_port > last)
		stream->receive_port = stream->transmit_port;
	read_count_16(&object, "receive_port", 0, last, &stream->receive_port);
	read_sizes(&object, stream);
	read_headers(&object, stream);
	read_flows(&object, &stream->flows);
	object_end(&object);
	if (!problem_is(problem))
		check_stream(&object, stream);
}

enum verb_outcome
verb_configure(struct session *session, struct object *request, json_t **result)
{
	struct traffic traffic = { 0 };
	struct error error = { 0 };
	char path[MESSAGE_PATH];
	json_t *list = NULL, *element;
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
	return VERB_DONE;
}
