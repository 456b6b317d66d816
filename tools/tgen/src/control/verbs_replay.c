/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <stdio.h>
#include <string.h>

#include "payload.h"
#include "schedule.h"
#include "verbs_replay.h"

bool
replay_of_stream(struct object *object, struct stream *stream)
{
	char path[MESSAGE_PATH];
	const char *file = NULL;

	if (!object_text(object, "replay", &file))
		return false;
	object_path(object, "replay", path);
	if (file[0] != '/')
		problem_set(object->problem, path, "bad-value", "must begin with a slash");
	else if (strlen(file) >= sizeof(stream->replay))
		problem_set(object->problem, path, "bad-value", "must be shorter than %zu bytes",
			sizeof(stream->replay));
	else
		snprintf(stream->replay, sizeof(stream->replay), "%s", file);
	return true;
}

json_t *
replays_json(const struct session *session)
{
	json_t *list = NULL, *json;
	unsigned int i;

	for (i = 0; i < session->traffic.streams; i++) {
		const struct replay *replay = engine_replay(session->engine, i);

		if (replay == NULL)
			continue;
		json = json_object();
		message_count(json, "stream", i);
		message_count(json, "frames", replay->frames);
		message_count(json, "unmarked", replay->unmarked);
		message_count(json, "padded", replay->padded);
		message_count(json, "bytes", replay->sum);
		message_count(json, "shortest", replay->shortest + TGEN_FCS);
		message_count(json, "longest", replay->longest + TGEN_FCS);
		if (replay->period_ns != 0)
			message_count(json, "period_ns", replay->period_ns);
		if (list == NULL)
			list = json_array();
		json_array_append_new(list, json);
	}
	return list;
}

void
replay_frames_once(struct session *session, struct object *request, struct trial_request *trial)
{
	unsigned int i;

	for (i = 0; i < session->traffic.streams; i++) {
		const struct replay *replay = engine_replay(session->engine, i);

		if (replay == NULL) {
			problem_set(request->problem, "", "missing-key",
				"a trial needs frames, duration_ns, or both, unless all its "
				"streams replay files");
			return;
		}
		trial->frames[i] = replay->frames;
	}
}

void
replay_read_rhythm(struct session *session, struct object *request, struct trial_request *trial,
	bool has_frames)
{
	static const char *const rhythms[] = { "even", "file" };
	struct error error = { 0 };
	unsigned int choice = 0, i;

	object_choice(request, "rhythm", rhythms, 2, &choice);
	trial->own_times = choice == 1;
	for (i = 0; i < session->traffic.streams && trial->own_times; i++) {
		const struct replay *replay = engine_replay(session->engine, i);

		if (replay == NULL) {
			problem_set(request->problem, "rhythm", "bad-value",
				"stream %u replays no file", i);
			return;
		}
		if (schedule_check(replay, trial->rate_mfps[i],
				has_frames || trial->duration_ns == 0 ? trial->frames[i] : TGEN_48_BITS,
				trial->duration_ns, &error) != 0) {
			problem_set(request->problem, "rhythm", error.code, "stream %u: %s", i,
				error.text);
			return;
		}
		if (!has_frames && trial->duration_ns != 0)
			trial->frames[i] = schedule_frames(replay, trial->rate_mfps[i],
				trial->duration_ns);
	}
}
