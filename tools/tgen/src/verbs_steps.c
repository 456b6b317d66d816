/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The steps of a trial, as a controller asks for them. */

#include "payload.h"
#include "verbs_each.h"
#include "verbs_steps.h"
#include "wide.h"

/* Frames that are due in the step, whose first one is due at its begin. */
static void
check_frames(struct object *object, const char *path, const struct trial_step *step,
	unsigned int streams)
{
	unsigned int i;

	for (i = 0; i < streams; i++) {
		uint128_t due = (uint128_t)step->rate_mfps[i] * step->duration_ns;

		if (step->rate_mfps[i] == 0)
			problem_set(object->problem, path, "out-of-range",
				"a step has a rate, and none is flat out");
		else if (step->frames[i] >= TGEN_48_BITS ||
				(step->frames[i] > 1 &&
				(uint128_t)(step->frames[i] - 1) * 1000 * SECOND_NS >= due))
			problem_set(object->problem, path, "out-of-range",
				"so many frames are not due in the time of the step");
	}
}

static void
read_step(struct session *session, json_t *json, const char *path, struct trial_step *step,
	struct problem *problem)
{
	struct object object;
	bool has_frames;
	unsigned int i;

	object_begin(&object, json, path, problem);
	if (!object_count(&object, "duration_ns", 1, TRIAL_LONGEST_NS, &step->duration_ns))
		problem_set(problem, path, "missing-key", "how long is the step?");
	if (!each_rate(session, &object, step->rate_mfps))
		problem_set(problem, path, "missing-key", "which rate has the step?");
	has_frames = each_frames(session, &object, step->frames);
	for (i = 0; i < session->traffic.streams && !has_frames; i++)
		step->frames[i] = each_frames_of(step->rate_mfps[i], step->duration_ns);
	object_end(&object);
	check_frames(&object, path, step, session->traffic.streams);
}

bool
steps_read(struct session *session, struct object *request, struct trial_request *trial)
{
	char list_path[MESSAGE_PATH], path[MESSAGE_PATH];
	json_t *list;
	unsigned int i, stream;

	if (!object_list(request, "steps", 1, TGEN_MAX_STEPS, &list))
		return false;
	object_path(request, "steps", list_path);
	trial->duration_ns = 0;
	for (i = 0; i < json_array_size(list); i++) {
		struct trial_step *step = &trial->step[i];

		element_path(list_path, i, path);
		read_step(session, json_array_get(list, i), path, step, request->problem);
		trial->duration_ns += step->duration_ns;
		for (stream = 0; stream < session->traffic.streams; stream++)
			trial->frames[stream] += step->frames[stream];
	}
	for (stream = 0; stream < session->traffic.streams; stream++)
		if (trial->frames[stream] >= TGEN_48_BITS)
			problem_set(request->problem, list_path, "out-of-range",
				"all steps together have too many frames");
	if (trial->duration_ns > TRIAL_LONGEST_NS)
		problem_set(request->problem, list_path, "out-of-range",
			"all steps together take more than 30 days");
	trial->steps = (uint8_t)json_array_size(list);
	return true;
}
