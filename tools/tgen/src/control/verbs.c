/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include "verbs.h"

#define SECOND_NS UINT64_C(1000000000)
#define LEARN_ROUNDS 3
#define LEARN_MOST 1000
#define STALLS_MOST_NS (3600 * SECOND_NS)
#define STALLS_THRESHOLD_NS 1000

static bool
has_traffic(struct session *session, struct object *request)
{
	if (!session->has_traffic)
		problem_set(request->problem, "", "not-configured",
			"configure comes first");
	return session->has_traffic;
}

/* What was started is answered by the session when it is done. */
static enum verb_outcome
begin(struct session *session, enum activity activity)
{
	struct pending *pending = &session->pending;

	pending->activity = activity;
	pending->wait = true;
	pending->started_ns = session->now_ns;
	return VERB_LATER;
}

enum verb_outcome
verb_learn(struct session *session, struct object *request, json_t **result)
{
	struct error error = { 0 };
	uint64_t rounds = LEARN_ROUNDS;

	(void)result;
	object_count(request, "rounds", 1, LEARN_MOST, &rounds);
	if (!request_end(request) || !has_traffic(session, request))
		return VERB_FAILED;
	if (engine_learn(session->engine, (unsigned int)rounds, &error) < 0)
		return verb_refuse(request, &error);
	return begin(session, ACTIVITY_LEARN);
}

enum verb_outcome
verb_capture(struct session *session, struct object *request, json_t **result)
{
	struct error error = { 0 };
	uint64_t port = 0, frames = 0, ports = engine_ports(session->engine);
	const char *path = NULL;
	bool whole;

	whole = object_count(request, "port", 0, ports > 0 ? ports - 1 : 0, &port);
	whole = object_count(request, "frames", 1, TGEN_MAX_CAPTURE, &frames) && whole;
	whole = object_text(request, "path", &path) && whole;
	if (!request_end(request))
		return VERB_FAILED;
	if (!whole) {
		problem_set(request->problem, "", "missing-key",
			"capture needs port, frames and path");
		return VERB_FAILED;
	}
	if (path[0] != '/') {
		problem_set(request->problem, "path", "bad-value", "must begin with a slash");
		return VERB_FAILED;
	}
	if (engine_capture(session->engine, (uint16_t)port, path, (uint32_t)frames, &error) < 0)
		return verb_refuse(request, &error);
	*result = json_pack("{s:s}", "path", path);
	return VERB_DONE;
}

enum verb_outcome
verb_stalls(struct session *session, struct object *request, json_t **result)
{
	struct error error = { 0 };
	uint64_t duration_ns = 0, threshold_ns = STALLS_THRESHOLD_NS;
	bool has_duration;

	(void)result;
	has_duration = object_count(request, "duration_ns", 1, STALLS_MOST_NS, &duration_ns);
	object_count(request, "threshold_ns", 1, SECOND_NS, &threshold_ns);
	if (!request_end(request))
		return VERB_FAILED;
	if (!has_duration) {
		problem_set(request->problem, "duration_ns", "missing-key",
			"how long shall it look?");
		return VERB_FAILED;
	}
	if (engine_stalls(session->engine, duration_ns, threshold_ns, &error) < 0)
		return verb_refuse(request, &error);
	return begin(session, ACTIVITY_STALLS);
}

enum verb_outcome
verb_stop(struct session *session, struct object *request, json_t **result)
{
	if (!request_end(request))
		return VERB_FAILED;
	if (session->pending.activity == ACTIVITY_NONE) {
		problem_set(request->problem, "", "idle", "there is nothing to stop");
		return VERB_FAILED;
	}
	engine_stop(session->engine);
	*result = json_pack("{s:s}", "stopping", session_activity(session));
	return VERB_DONE;
}

enum verb_outcome
verb_quit(struct session *session, struct object *request, json_t **result)
{
	(void)result;
	if (!request_end(request))
		return VERB_FAILED;
	session_end(session, "tgen was asked to quit");
	return VERB_DONE;
}

const struct verb verb_table[] = {
	{ "hello", true, verb_hello },
	{ "ports", true, verb_ports },
	{ "clock", false, verb_clock },
	{ "configure", false, verb_configure },
	{ "trial", false, verb_trial },
	{ "burst", false, verb_burst },
	{ "probe", false, verb_probe },
	{ "turns", false, verb_turns },
	{ "connections", false, verb_connections },
	{ "learn", false, verb_learn },
	{ "respond", false, verb_respond },
	{ "capture", false, verb_capture },
	{ "listen", true, verb_listen },
	{ "stalls", false, verb_stalls },
	{ "roundtrip", false, verb_roundtrip },
	{ "live", true, verb_live },
	{ "stop", true, verb_stop },
	{ "quit", true, verb_quit },
	{ NULL, false, NULL },
};
