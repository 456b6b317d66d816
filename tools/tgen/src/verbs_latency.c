/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "payload.h"
#include "verbs_each.h"
#include "verbs_latency.h"

static void
read_range(json_t *json, const char *path, uint64_t range[2], struct problem *problem)
{
	char element[MESSAGE_PATH];
	unsigned int i;

	if (!json_is_array(json)) {
		problem_set(problem, path, "wrong-type", "must be a list of two numbers of frames");
		return;
	}
	if (json_array_size(json) != 2) {
		problem_set(problem, path, "out-of-range", "must be the first and the last frame");
		return;
	}
	for (i = 0; i < 2; i++) {
		element_path(path, i, element);
		value_count(json_array_get(json, i), element, 0, TGEN_48_BITS - 1, &range[i],
			problem);
	}
	if (range[0] > range[1])
		problem_set(problem, path, "bad-value", "the first frame comes behind the last");
}

void
latency_read(struct object *request, struct trial_request *trial)
{
	char list_path[MESSAGE_PATH], path[MESSAGE_PATH];
	json_t *list;
	unsigned int i;

	object_flag(request, "latency", &trial->latency);
	object_flag(request, "variation", &trial->variation);
	object_count(request, "latency_after_ns", 0, TRIAL_LONGEST_NS, &trial->latency_after_ns);
	if (!object_list(request, "latency_ranges", 1, TGEN_MAX_RANGES, &list))
		return;
	object_path(request, "latency_ranges", list_path);
	trial->latency_ranges = (uint8_t)json_array_size(list);
	for (i = 0; i < trial->latency_ranges; i++) {
		element_path(list_path, i, path);
		read_range(json_array_get(list, i), path, trial->latency_range[i],
			request->problem);
	}
}
