/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Who answers when a device asks for an address. */

#include "address.h"
#include "hosts.h"
#include "verbs.h"

static void
read_host(json_t *json, const char *path, uint16_t ports, struct host *host,
	struct problem *problem)
{
	static const char *const layer3[] = { [LAYER3_IPV4] = "ipv4", [LAYER3_IPV6] = "ipv6" };
	struct object object;
	unsigned int choice;

	object_begin(&object, json, path, problem);
	object_count_16(&object, "port", 0, ports > 0 ? (uint16_t)(ports - 1) : 0, &host->port);
	if (object_choice(&object, "layer3", layer3, 2, &choice))
		host->layer3 = (enum layer3)choice;
	hosts_default_mac(host->port, false, host->mac);
	address_mac(&object, "mac", host->mac);
	if (json_object_get(object.json, "ip") == NULL)
		problem_set(problem, path, "missing-key", "a host needs an ip");
	address_ip(&object, "ip", host->layer3, host->ip);
	object_end(&object);
}

enum verb_outcome
verb_respond(struct session *session, struct object *request, json_t **result)
{
	struct responder responder = { .on = true };
	char path[MESSAGE_PATH];
	json_t *list, *element;
	struct error error = { 0 };
	size_t i;

	object_flag(request, "on", &responder.on);
	if (object_list(request, "hosts", 0, NEIGHBOURS_MOST_HOSTS, &list)) {
		json_array_foreach(list, i, element) {
			element_path("hosts", i, path);
			read_host(element, path, engine_ports(session->engine),
				&responder.host[i], request->problem);
		}
		responder.hosts = (uint16_t)json_array_size(list);
	}
	if (!request_end(request))
		return VERB_FAILED;
	/* If the engine fails it does not answer any more. */
	session->responds = false;
	if (engine_respond(session->engine, &responder, &error) < 0)
		return verb_refuse(request, &error);
	session->responds = responder.on;
	*result = json_pack("{s:b}", "on", responder.on);
	return VERB_DONE;
}
