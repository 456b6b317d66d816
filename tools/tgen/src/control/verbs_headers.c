/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The headers of a stream, as a request has them. */

#include "address.h"
#include "hosts.h"
#include "outer.h"
#include "verbs.h"

/* RFC 2544, appendix C: an echo request to port 7 from port 0xC020. */
#define DEFAULT_SOURCE_PORT 0xc020
#define DEFAULT_DESTINATION_PORT 7
#define DEFAULT_TTL 64
#define MPLS_LABELS (1u << 20)

static const char *const layer3_names[] = { [LAYER3_IPV4] = "ipv4", [LAYER3_IPV6] = "ipv6" };

/* How requests call an encapsulation, and what tells its tunnels apart. */
static const struct {
	const char *key, *id;
} encapsulations[OUTER_KINDS] = {
	[ENCAPSULATION_VXLAN] = { "vxlan", "vni" },
	[ENCAPSULATION_GENEVE] = { "geneve", "vni" },
	[ENCAPSULATION_GRE] = { "gre", "key" },
	[ENCAPSULATION_GTPU] = { "gtpu", "teid" },
};

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
read_vlans(struct object *object, uint16_t tags[2], uint8_t *vlans)
{
	char path[MESSAGE_PATH], list_path[MESSAGE_PATH];
	json_t *list, *element;
	size_t i;

	if (!object_list(object, "vlans", 0, 2, &list))
		return;
	object_path(object, "vlans", list_path);
	json_array_foreach(list, i, element) {
		element_path(list_path, i, path);
		read_vlan(element, path, &tags[i], object->problem);
	}
	*vlans = (uint8_t)json_array_size(list);
}

static void
read_labels(struct object *object, struct headers *headers)
{
	char path[MESSAGE_PATH], list_path[MESSAGE_PATH];
	json_t *list, *element;
	uint64_t label;
	size_t i;

	if (!object_list(object, "mpls", 0, 3, &list))
		return;
	object_path(object, "mpls", list_path);
	json_array_foreach(list, i, element) {
		element_path(list_path, i, path);
		if (value_count(element, path, 0, MPLS_LABELS - 1, &label, object->problem))
			headers->mpls[i] = (uint32_t)label;
	}
	headers->mpls_labels = (uint8_t)json_array_size(list);
}

static void
read_id(struct object *object, struct outer *outer)
{
	const char *key = encapsulations[outer->kind].id;
	uint64_t id;

	outer->has_id = object_count(object, key, 0,
		UINT32_MAX >> (32 - outer_kinds[outer->kind].id_bits), &id);
	if (outer->has_id)
		outer->id = (uint32_t)id;
	else if (outer->kind != ENCAPSULATION_GRE)
		problem_set(object->problem, object->path, "missing-key", "%s needs a %s",
			encapsulations[outer->kind].key, key);
}

static void
read_outer(json_t *json, const char *path, struct stream *stream, struct problem *problem)
{
	static const char *const insides[] = { "ethernet", "ip" };
	struct outer *outer = &stream->headers.outer;
	struct object object;
	unsigned int choice = 0;

	object_begin(&object, json, path, problem);
	read_id(&object, outer);
	outer->carries_ip = outer->kind == ENCAPSULATION_GTPU;
	if (outer->kind == ENCAPSULATION_GRE && object_choice(&object, "carries", insides, 2, &choice))
		outer->carries_ip = choice == 1;
	if (object_choice(&object, "layer3", layer3_names, 2, &choice))
		outer->layer3 = (enum layer3)choice;
	hosts_default_mac(stream->transmit_port, true, outer->source_mac);
	hosts_default_mac(stream->receive_port, true, outer->destination_mac);
	hosts_default_ip(stream->transmit_port, true, outer->layer3, outer->source_ip);
	hosts_default_ip(stream->receive_port, true, outer->layer3, outer->destination_ip);
	address_mac(&object, "source_mac", outer->source_mac);
	address_mac(&object, "destination_mac", outer->destination_mac);
	address_ip(&object, "source_ip", outer->layer3, outer->source_ip);
	address_ip(&object, "destination_ip", outer->layer3, outer->destination_ip);
	read_vlans(&object, outer->vlan, &outer->vlans);
	object_end(&object);
}

/* One encapsulation at most. */
static void
read_encapsulation(struct object *object, struct stream *stream)
{
	struct outer *outer = &stream->headers.outer;
	char path[MESSAGE_PATH];
	unsigned int kind;

	for (kind = ENCAPSULATION_VXLAN; kind < OUTER_KINDS; kind++) {
		json_t *json = object_any(object, encapsulations[kind].key);

		if (json == NULL)
			continue;
		object_path(object, encapsulations[kind].key, path);
		if (outer->kind != ENCAPSULATION_NONE) {
			problem_set(object->problem, path, "bad-value",
				"a stream goes through one tunnel: there is %s already",
				encapsulations[outer->kind].key);
			return;
		}
		outer->kind = (enum encapsulation)kind;
		read_outer(json, path, stream, object->problem);
	}
}

/* What lies below IP in the frame, or would if there were an Ethernet header. */
static void
read_layer2(struct object *object, struct headers *headers)
{
	static const char *const keys[] = { "source_mac", "destination_mac", "vlans", "mpls" };
	char path[MESSAGE_PATH];
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]) && !frame_has_ethernet(headers); i++) {
		object_path(object, keys[i], path);
		if (json_object_get(object->json, keys[i]) != NULL)
			problem_set(object->problem, path, "bad-value",
				"inside of %s is no Ethernet header; outer ones stand under %s",
				outer_kinds[headers->outer.kind].name,
				encapsulations[headers->outer.kind].key);
	}
	address_mac(object, "source_mac", headers->source_mac);
	address_mac(object, "destination_mac", headers->destination_mac);
	read_vlans(object, headers->vlan, &headers->vlans);
	read_labels(object, headers);
}

static void
read_tcp(struct object *object, struct headers *headers)
{
	json_t *json = object_any(object, "tcp");
	uint64_t sequence = headers->tcp.sequence, acknowledgement = headers->tcp.acknowledgement;
	char path[MESSAGE_PATH];
	struct object tcp;

	if (json == NULL)
		return;
	object_path(object, "tcp", path);
	if (headers->layer4 != LAYER4_TCP)
		problem_set(object->problem, path, "bad-value", "layer 4 is not TCP");
	object_begin(&tcp, json, path, object->problem);
	object_count(&tcp, "sequence", 0, UINT32_MAX, &sequence);
	object_count(&tcp, "acknowledgement", 0, UINT32_MAX, &acknowledgement);
	object_count_8(&tcp, "flags", 0, UINT8_MAX, &headers->tcp.flags);
	object_count_16(&tcp, "window", 0, UINT16_MAX, &headers->tcp.window);
	object_end(&tcp);
	headers->tcp.sequence = (uint32_t)sequence;
	headers->tcp.acknowledgement = (uint32_t)acknowledgement;
}

static void
read_dont_fragment(struct object *object, struct headers *headers)
{
	bool dont_fragment = headers->layer3 == LAYER3_IPV4;
	char path[MESSAGE_PATH];

	if (!object_flag(object, "dont_fragment", &dont_fragment))
		return;
	object_path(object, "dont_fragment", path);
	if (headers->layer3 != LAYER3_IPV4)
		problem_set(object->problem, path, "bad-value", "layer 3 is not IPv4");
	headers->may_fragment = !dont_fragment;
}

void
headers_read(struct object *object, struct stream *stream)
{
	static const char *const layer4[] = { [LAYER4_UDP] = "udp", [LAYER4_TCP] = "tcp" };
	struct headers *headers = &stream->headers;
	unsigned int choice;

	if (object_choice(object, "layer3", layer3_names, 2, &choice))
		headers->layer3 = (enum layer3)choice;
	if (object_choice(object, "layer4", layer4, 2, &choice))
		headers->layer4 = (enum layer4)choice;
	hosts_default_mac(stream->transmit_port, false, headers->source_mac);
	hosts_default_mac(stream->receive_port, false, headers->destination_mac);
	hosts_default_ip(stream->transmit_port, false, headers->layer3, headers->source_ip);
	hosts_default_ip(stream->receive_port, false, headers->layer3,
		headers->destination_ip);
	headers->ttl = DEFAULT_TTL;
	headers->source_port = DEFAULT_SOURCE_PORT;
	headers->destination_port = DEFAULT_DESTINATION_PORT;
	headers->tcp = (struct tcp_words)TCP_IN_THE_MIDDLE;
	read_encapsulation(object, stream);
	read_layer2(object, headers);
	address_ip(object, "source_ip", headers->layer3, headers->source_ip);
	address_ip(object, "destination_ip", headers->layer3, headers->destination_ip);
	object_count_8(object, "dscp", 0, 63, &headers->dscp);
	object_count_8(object, "ttl", 1, 255, &headers->ttl);
	object_count_16(object, "source_port", 0, UINT16_MAX, &headers->source_port);
	object_count_16(object, "destination_port", 0, UINT16_MAX, &headers->destination_port);
	read_dont_fragment(object, headers);
	read_tcp(object, headers);
}
