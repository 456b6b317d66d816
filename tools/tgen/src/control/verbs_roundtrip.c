/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "roundtrip.h"
#include "verbs.h"

#define ROUNDS 2000
#define DEADLINE_NS UINT64_C(5000000)

static void
read_cpus(struct object *request, unsigned int cpu[2])
{
	json_t *list = NULL;
	char path[MESSAGE_PATH];
	uint64_t found;
	size_t i;

	if (!object_list(request, "cpus", 2, 2, &list)) {
		problem_set(request->problem, "cpus", "missing-key", "between which two CPUs?");
		return;
	}
	for (i = 0; i < 2; i++) {
		element_path("cpus", i, path);
		if (value_count(json_array_get(list, i), path, 0, ROUNDTRIP_CPUS - 1, &found,
				request->problem))
			cpu[i] = (unsigned int)found;
	}
	if (cpu[0] == cpu[1])
		problem_set(request->problem, "cpus", "bad-value", "two CPUs, not one");
}

/* The engine is idle, and what is measured is over within milliseconds: the answer waits for it. */
enum verb_outcome
verb_roundtrip(struct session *session, struct object *request, json_t **result)
{
	struct roundtrip_request asked = { .cpu = { 0, 0 } };
	struct roundtrip_result found = { 0 };
	struct error error = { 0 };
	uint64_t rounds = ROUNDS;
	json_t *json, *percentiles;

	(void)session;
	asked.deadline_ns = DEADLINE_NS;
	read_cpus(request, asked.cpu);
	object_count(request, "rounds", 1, ROUNDTRIP_MOST, &rounds);
	object_count(request, "deadline_ns", 1, ROUNDTRIP_MOST_NS, &asked.deadline_ns);
	if (!request_end(request))
		return VERB_FAILED;
	asked.rounds = (unsigned int)rounds;
	if (roundtrip_measure(&asked, &found, &error) < 0)
		return verb_refuse(request, &error);
	json = json_pack("{s:[i,i], s:b}", "cpus", (int)asked.cpu[0], (int)asked.cpu[1],
		"real_time", found.real_time);
	message_count(json, "rounds", found.rounds);
	if (found.rounds > 0) {
		message_count(json, "min_ns", found.min_ns);
		message_count(json, "max_ns", found.max_ns);
		percentiles = json_object();
		message_count(percentiles, "50", found.p50_ns);
		message_count(percentiles, "90", found.p90_ns);
		json_object_set_new(json, "percentiles_ns", percentiles);
	}
	*result = json;
	return VERB_DONE;
}
