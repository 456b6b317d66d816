/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "payload.h"
#include "verbs.h"
#include "verbs_replay.h"

#define SECOND_NS UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)
#define LONGEST_NS (30 * 86400 * SECOND_NS)
#define LONGEST_DRAIN_NS (600 * SECOND_NS)
#define FASTEST_MFPS UINT64_C(10000000000000) /* ten thousand million frames a second */
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

__extension__ typedef unsigned __int128 uint128;

/* A value for all streams, or a list with one for each of them. */
static bool
read_each(struct session *session, struct object *object, const char *key,
	bool (*read)(json_t *value, const char *path, uint64_t *each, struct problem *problem),
	uint64_t each[TGEN_MAX_STREAMS])
{
	char path[MESSAGE_PATH], element[MESSAGE_PATH];
	json_t *value = object_any(object, key);
	unsigned int i;

	if (value == NULL)
		return false;
	object_path(object, key, path);
	if (!json_is_array(value)) {
		if (!read(value, path, &each[0], object->problem))
			return false;
		for (i = 1; i < session->traffic.streams; i++)
			each[i] = each[0];
		return true;
	}
	if (json_array_size(value) != session->traffic.streams) {
		problem_set(object->problem, path, "out-of-range",
			"there are %u streams, not %zu", session->traffic.streams,
			json_array_size(value));
		return false;
	}
	for (i = 0; i < session->traffic.streams; i++) {
		element_path(path, i, element);
		if (!read(json_array_get(value, i), element, &each[i], object->problem))
			return false;
	}
	return true;
}

static bool
read_rate(json_t *value, const char *path, uint64_t *each, struct problem *problem)
{
	return value_thousandths(value, path, FASTEST_MFPS, each, problem);
}

static bool
read_frames(json_t *value, const char *path, uint64_t *each, struct problem *problem)
{
	return value_count(value, path, 0, TGEN_48_BITS - 1, each, problem);
}

/* What is due in a time, never more. */
static uint64_t
frames_of(uint64_t rate_mfps, uint64_t duration_ns)
{
	uint128 frames = (uint128)rate_mfps * duration_ns / (1000 * SECOND_NS);

	if (rate_mfps == 0 || frames >= TGEN_48_BITS)
		return TGEN_48_BITS;
	return (uint64_t)frames;
}

/* All that trials, bursts and probes can say about the time after sending, and their number. */
static void
read_rest(struct session *session, struct object *request, struct trial_request *trial)
{
	uint64_t number = session->next_trial;

	object_count(request, "drain_ns", 0, LONGEST_DRAIN_NS, &trial->drain_ns);
	object_count(request, "quiet_ns", 0, LONGEST_DRAIN_NS, &trial->quiet_ns);
	object_count(request, "number", 0, UINT8_MAX, &number);
	trial->number = (uint8_t)number;
}

static void
read_burst(struct object *request, struct trial_request *trial)
{
	uint64_t burst;

	uint64_t in_flight;

	if (object_count(request, "burst", 1, BURST_MOST, &burst))
		trial->burst = (uint16_t)burst;
	if (object_count(request, "in_flight", 0, UINT32_MAX, &in_flight))
		trial->in_flight = (uint32_t)in_flight;
}

static void
read_detail(struct object *request, struct trial_request *trial)
{
	object_flag(request, "latency", &trial->latency);
	object_flag(request, "variation", &trial->variation);
	object_flag(request, "check_fill", &trial->check_fill);
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
	bool has_frames, has_duration;
	uint64_t grace_ns = 0;
	unsigned int i;

	has_frames = read_each(session, request, "frames", read_frames, trial->frames);
	has_duration = object_count(request, "duration_ns", 1, LONGEST_NS, &trial->duration_ns);
	read_each(session, request, "rate_fps", read_rate, trial->rate_mfps);
	if (!has_frames && !has_duration)
		replay_frames_once(session, request, trial);
	for (i = 0; i < session->traffic.streams && !has_frames && has_duration; i++)
		trial->frames[i] = frames_of(trial->rate_mfps[i], trial->duration_ns);
	replay_read_rhythm(session, request, trial, has_frames);
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
	read_rest(session, request, &trial);
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
	has_gap = object_count(request, "gap_ns", 1, LONGEST_NS, &trial->gap_ns);
	if (has_gap != (bursts > 1))
		problem_set(request->problem, "gap_ns", has_gap ? "bad-value" : "missing-key",
			has_gap ? "is between two bursts: say how many bursts there are" :
			"how long shall it be from one burst to the next?");
	if ((uint128)(bursts - 1) * trial->gap_ns >= trial->duration_ns)
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
	if (!read_each(session, request, "frames", read_frames, trial.frames))
		problem_set(request->problem, "frames", "missing-key", "how many frames?");
	read_each(session, request, "rate_fps", read_rate, trial.rate_mfps);
	object_count(request, "timeout_ns", 1, LONGEST_NS, &trial.duration_ns);
	read_bursts(session, request, &trial);
	read_burst(request, &trial);
	read_rest(session, request, &trial);
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
	read_rest(session, request, &trial);
	for (i = 0; i < session->traffic.streams; i++) {
		trial.frames[i] = frames;
		trial.rate_mfps[i] = PROBE_MFPS;
	}
	/* Twice the time that it takes: a port that takes nothing must not hold us. */
	trial.duration_ns = 2 * frames * MILLISECOND_NS;
	return start(session, request, &trial, ACTIVITY_PROBE, true);
}
