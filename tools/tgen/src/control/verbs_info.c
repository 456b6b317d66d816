/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "result.h"
#include "verbs.h"

static json_t *
lcore_json(const struct lcore_facts *facts, const char *role)
{
	json_t *json = json_object();

	message_count(json, "lcore", facts->lcore);
	if (facts->cpu >= 0)
		message_count(json, "cpu", (uint64_t)facts->cpu);
	json_object_set_new(json, "role", json_string(role));
	return json;
}

static json_t *
lcores_json(const struct process_facts *facts)
{
	json_t *list = json_array();
	unsigned int i;

	json_array_append_new(list, lcore_json(&facts->main, "main"));
	for (i = 0; i < facts->workers; i++)
		json_array_append_new(list, lcore_json(&facts->worker[i], "worker"));
	return list;
}

static json_t *
limits_json(void)
{
	json_t *json = json_object();

	message_count(json, "line_bytes", SESSION_MAX_LINE);
	message_count(json, "streams", TGEN_MAX_STREAMS);
	message_count(json, "workers", TGEN_MAX_PARTS);
	message_count(json, "sizes", TGEN_MAX_SIZES);
	message_count(json, "variations", TGEN_MAX_VARIATIONS);
	message_count(json, "flows", TGEN_MAX_FLOWS);
	message_count(json, "frame_bytes", TGEN_MAX_FRAME);
	message_count(json, "sides", TURNS_MAX_SIDES);
	message_count(json, "turns", TURNS_MAX);
	return json;
}

enum verb_outcome
verb_hello(struct session *session, struct object *request, json_t **result)
{
	const struct process_facts *facts = session->facts;
	json_t *json, *verbs;
	const struct verb *verb;

	if (!request_end(request))
		return VERB_FAILED;
	json = json_object();
	message_count(json, "protocol", TGEN_PROTOCOL);
	json_object_set_new(json, "tgen", message_string(facts->version));
	json_object_set_new(json, "dpdk", message_string(facts->dpdk));
	json_object_set_new(json, "build", json_pack("{s:o, s:o, s:o}",
		"type", message_string(facts->build_type), "march", message_string(facts->march),
		"compiler", message_string(facts->compiler)));
	message_count(json, "pid", (uint64_t)facts->pid);
	message_count(json, "tsc_hz", facts->tsc_hz);
	message_count(json, "tsc_hz_dpdk", facts->tsc_hz_dpdk);
	message_count(json, "ports", engine_ports(session->engine));
	json_object_set_new(json, "lcores", lcores_json(facts));
	json_object_set_new(json, "state", json_string(session_activity(session)));
	verbs = json_array();
	for (verb = session->verbs; verb->name != NULL; verb++)
		json_array_append_new(verbs, json_string(verb->name));
	json_object_set_new(json, "verbs", verbs);
	json_object_set_new(json, "limits", limits_json());
	*result = json;
	return VERB_DONE;
}

static json_t *
offloads_json(uint64_t offloads, const char *(*name)(uint64_t bit))
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (offloads >> i & 1)
			json_array_append_new(list, message_string(name(UINT64_C(1) << i)));
	return list;
}

static void
set_hex(json_t *json, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_set_new(json, name, json_string(text));
}

static json_t *
port_json(const struct process_facts *process, const struct port_facts *facts)
{
	json_t *json = json_object();
	const uint8_t *mac = facts->mac;
	char text[24];

	message_count(json, "port", facts->id);
	json_object_set_new(json, "name", message_string(facts->name));
	json_object_set_new(json, "driver", message_string(facts->driver));
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		mac[3], mac[4], mac[5]);
	json_object_set_new(json, "mac", json_string(text));
	json_object_set_new(json, "link_up", json_boolean(facts->link_up));
	if (facts->link_mbps != 0)
		message_count(json, "link_mbps", facts->link_mbps);
	message_count(json, "mtu", facts->mtu);
	if (facts->has_kernel) {
		json_object_set_new(json, "kernel_up", json_boolean(facts->kernel_up));
		message_count(json, "kernel_mtu", facts->kernel_mtu);
	}
	message_count(json, "receive_queues", facts->receive_queues);
	message_count(json, "transmit_queues", facts->transmit_queues);
	message_count(json, "receive_ring", facts->receive_ring);
	message_count(json, "transmit_ring", facts->transmit_ring);
	json_object_set_new(json, "receive_offloads",
		offloads_json(facts->receive_offloads, process->receive_offload));
	json_object_set_new(json, "transmit_offloads",
		offloads_json(facts->transmit_offloads, process->transmit_offload));
	if (facts->numa_node >= 0)
		message_count(json, "numa_node", (uint64_t)facts->numa_node);
	if (facts->has_virtio_features)
		set_hex(json, "virtio_features", facts->virtio_features);
	return json;
}

enum verb_outcome
verb_ports(struct session *session, struct object *request, json_t **result)
{
	struct port_facts facts;
	json_t *list;
	uint16_t i;

	if (!request_end(request))
		return VERB_FAILED;
	list = json_array();
	for (i = 0; i < engine_ports(session->engine); i++) {
		engine_port_facts(session->engine, i, &facts);
		json_array_append_new(list, port_json(session->facts, &facts));
	}
	*result = json_pack("{s:o}", "ports", list);
	return VERB_DONE;
}

/* What every rate and time is by, to be held against another clock. */
enum verb_outcome
verb_clock(struct session *session, struct object *request, json_t **result)
{
	struct clock_moment now;
	json_t *json;

	(void)session;
	if (!request_end(request))
		return VERB_FAILED;
	clock_read(&now);
	json = json_object();
	message_count(json, "tsc", now.tsc);
	message_count(json, "raw_ns", now.raw_ns);
	*result = json;
	return VERB_DONE;
}

enum verb_outcome
verb_live(struct session *session, struct object *request, json_t **result)
{
	enum activity activity = session->pending.activity;
	uint64_t elapsed_ns;
	json_t *json;

	if (!request_end(request))
		return VERB_FAILED;
	json = json_pack("{s:s}", "state", session_activity(session));
	if (activity == ACTIVITY_TRIAL || activity == ACTIVITY_PROBE) {
		json_object_set_new(json, "streams", result_live(session, &elapsed_ns));
		message_count(json, "elapsed_ns", elapsed_ns);
	}
	*result = json;
	return VERB_DONE;
}
