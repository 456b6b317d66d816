/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "payload.h"
#include "verbs.h"
#include "verbs_each.h"
#include "verbs_replay.h"
#include "wide.h"

#define MILLISECOND_NS UINT64_C(1000000)
#define BURST_MOST 64
#define BURST_USUAL 32
#define LONGEST_SLOTTED_NS (4 * 3600 * SECOND_NS)
#define DRAIN_NS (2 * SECOND_NS) /* RFC 2544, section 23 */
#define QUIET_NS (100 * MILLISECOND_NS)
#define BURST_TIMEOUT_NS (60 * SECOND_NS)
#define BURSTS_MOST 1000000
#define PROBE_FRAMES 10
#define PROBE_MOST 10000
#define PROBE_MFPS 1000000 /* 1000 frames a second */

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

static bool
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

static void
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

static void
read_burst(struct object *request, struct trial_request *trial)
{
	uint64_t burst, in_flight;
	unsigned int i;

	if (object_count(request, "burst", 1, BURST_MOST, &burst))
		trial->burst = (uint16_t)burst;
	if (object_count(request, "in_flight", 0, UINT32_MAX, &in_flight))
		for (i = 0; i < TGEN_MAX_STREAMS; i++)
			trial->in_flight[i] = (uint32_t)in_flight;
}

static void
read_detail(struct object *request, struct trial_request *trial)
{
	object_flag(request, "check_fill", &trial->check_fill);
	latency_read(request, trial);
	object_count(request, "slot_ns", 0, LONGEST_SLOTTED_NS, &trial->slot_ns);
	if (trial->slot_ns != 0 && trial->duration_ns > LONGEST_SLOTTED_NS)
		problem_set(request->problem, "slot_ns", "out-of-range",
			"trials of more than four hours have no slots");
}

static enum verb_outcome
start(struct session *session, struct object *request, const struct trial_request *trial,
	enum activity activity, bool wait)
{
	struct error error = { 0 };
	struct pending *pending = &session->pending;
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < session->traffic.streams; i++)
		total |= trial->frames[i];
	if (total == 0)
		problem_set(request->problem, "", "out-of-range", "nothing would be sent");
	if (!request_end(request))
		return VERB_FAILED;
	if (engine_start(session->engine, trial, &error) < 0)
		return verb_refuse(request, &error);
	session->next_trial = (uint8_t)(trial->number + 1);
	pending->activity = activity;
	pending->wait = wait;
	pending->request = *trial;
	pending->started_ns = session->now_ns;
	pending->next_stats_ns = session->now_ns + SECOND_NS;
	return VERB_LATER;
}

static bool
is_configured(const struct session *session, struct object *request)
{
	if (!session->has_traffic)
		problem_set(request->problem, "", "not-configured", "configure comes first");
	return session->has_traffic;
}

/* By a number of frames, by a duration, or by both: whichever comes first. */
static void
read_bounds(struct session *session, struct object *request, struct trial_request *trial)
{
	bool has_frames, has_duration, has_rate, has_until;
	uint64_t grace_ns = 0;
	unsigned int i;

	has_frames = each_frames(session, request, trial->frames);
	has_duration = object_count(request, "duration_ns", 1, TRIAL_LONGEST_NS,
		&trial->duration_ns);
	has_rate = each_rate(session, request, trial->rate_mfps);
	has_until = each_until(session, request, trial->until_ns);
	if (steps_read(session, request, trial)) {
		if (has_frames || has_duration || has_rate || has_until)
			problem_set(request->problem, "steps", "bad-value",
				"steps say frames, duration_ns and rate_fps themselves, and all "
				"streams end with the last of them");
		has_frames = has_duration = true;
	} else if (!has_frames && !has_duration) {
		replay_frames_once(session, request, trial);
	}
	for (i = 0; i < session->traffic.streams && !has_frames && has_duration; i++)
		trial->frames[i] = each_frames_of(trial->rate_mfps[i], trial->duration_ns);
	replay_read_rhythm(session, request, trial, has_frames);
	if (trial->steps != 0 && trial->own_times)
		problem_set(request->problem, "rhythm", "bad-value",
			"a trial with steps has their rates");
	object_count(request, "grace_ns", 0, SECOND_NS, &grace_ns);
	if (has_duration)
		trial->duration_ns += grace_ns;
}

enum verb_outcome
verb_trial(struct session *session, struct object *request, json_t **result)
{
	struct trial_request trial = {
		.burst = BURST_USUAL, .drain_ns = DRAIN_NS, .quiet_ns = QUIET_NS, .latency = true,
	};
	bool wait = true;

	(void)result;
	if (!is_configured(session, request))
		return VERB_FAILED;
	read_bounds(session, request, &trial);
	read_burst(request, &trial);
	rest_read(session, request, &trial);
	read_detail(request, &trial);
	object_flag(request, "wait", &wait);
	return start(session, request, &trial, ACTIVITY_TRIAL, wait);
}

/* How many bursts, and how far apart. What was read as frames is that of each of them. */
static void
read_bursts(struct session *session, struct object *request, struct trial_request *trial)
{
	uint64_t bursts = 1;
	unsigned int i;
	bool has_gap;

	object_count(request, "bursts", 1, BURSTS_MOST, &bursts);
	has_gap = object_count(request, "gap_ns", 1, TRIAL_LONGEST_NS, &trial->gap_ns);
	if (has_gap != (bursts > 1))
		problem_set(request->problem, "gap_ns", has_gap ? "bad-value" : "missing-key",
			has_gap ? "is between two bursts: say how many bursts there are" :
			"how long shall it be from one burst to the next?");
	if ((uint128_t)(bursts - 1) * trial->gap_ns >= trial->duration_ns)
		problem_set(request->problem, "timeout_ns", "out-of-range",
			"the gaps between the bursts alone take longer");
	for (i = 0; i < session->traffic.streams && bursts > 1; i++) {
		trial->train[i] = trial->frames[i];
		if (trial->frames[i] >= TGEN_48_BITS / bursts)
			problem_set(request->problem, "frames", "out-of-range",
				"all bursts together have too many frames");
		trial->frames[i] *= bursts;
	}
}

enum verb_outcome
verb_burst(struct session *session, struct object *request, json_t **result)
{
	struct trial_request trial = {
		.burst = BURST_MOST, .drain_ns = DRAIN_NS, .quiet_ns = QUIET_NS, .latency = true,
		.duration_ns = BURST_TIMEOUT_NS,
	};
	bool wait = true;

	(void)result;
	if (!is_configured(session, request))
		return VERB_FAILED;
	if (!each_frames(session, request, trial.frames))
		problem_set(request->problem, "frames", "missing-key", "how many frames?");
	each_rate(session, request, trial.rate_mfps);
	object_count(request, "timeout_ns", 1, TRIAL_LONGEST_NS, &trial.duration_ns);
	read_bursts(session, request, &trial);
	read_burst(request, &trial);
	rest_read(session, request, &trial);
	read_detail(request, &trial);
	object_flag(request, "wait", &wait);
	return start(session, request, &trial, ACTIVITY_TRIAL, wait);
}

enum verb_outcome
verb_probe(struct session *session, struct object *request, json_t **result)
{
	struct trial_request trial = {
		.burst = 1, .drain_ns = SECOND_NS, .quiet_ns = QUIET_NS,
	};
	uint64_t frames = PROBE_FRAMES;
	unsigned int i;

	(void)result;
	if (!is_configured(session, request))
		return VERB_FAILED;
	object_count(request, "frames", 1, PROBE_MOST, &frames);
	rest_read(session, request, &trial);
	for (i = 0; i < session->traffic.streams; i++) {
		trial.frames[i] = frames;
		trial.rate_mfps[i] = PROBE_MFPS;
	}
	/* Twice the time that it takes: a port that takes nothing must not hold us. */
	trial.duration_ns = 2 * frames * MILLISECOND_NS;
	return start(session, request, &trial, ACTIVITY_PROBE, true);
}
