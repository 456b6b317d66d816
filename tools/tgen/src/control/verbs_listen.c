/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* All that a port receives, from one moment to another. */

#include "verbs.h"

static bool
read_room(struct object *request, struct tape_room *room)
{
	static const char *const ends[] = { "first", "last" };
	uint64_t frames = TAPE_MOST_FRAMES, bytes = TAPE_MOST_BYTES, longest = TGEN_MAX_FRAME;
	unsigned int end = 0;

	object_count(request, "frames", 1, TAPE_MOST_FRAMES, &frames);
	object_count(request, "bytes", 1, TAPE_MOST_BYTES, &bytes);
	object_count(request, "longest", 1, TGEN_MAX_FRAME, &longest);
	object_choice(request, "keep", ends, 2, &end);
	*room = (struct tape_room){
		.frames = (uint32_t)frames, .bytes = (uint32_t)bytes, .longest = (uint16_t)longest,
		.last = end == 1,
	};
	return !problem_is(request->problem);
}

static enum verb_outcome
listen_begin(struct session *session, struct object *request, uint16_t port, json_t **result)
{
	struct error error = { 0 };
	struct tape_room room;
	const char *path = NULL;

	if (!read_room(request, &room) || !object_text(request, "path", &path) ||
			path[0] != '/') {
		problem_set(request->problem, "path", path == NULL ? "missing-key" : "bad-value",
			"a file to write to is needed, by a path that begins with a slash");
		return VERB_FAILED;
	}
	if (!request_end(request))
		return VERB_FAILED;
	if (engine_listen(session->engine, port, path, &room, &error) < 0)
		return verb_refuse(request, &error);
	*result = json_pack("{s:b, s:s}", "on", true, "path", path);
	return VERB_DONE;
}

static enum verb_outcome
listen_end(struct session *session, struct object *request, uint16_t port, json_t **result)
{
	struct listened listened = { 0 };
	struct error error = { 0 };

	if (!request_end(request))
		return VERB_FAILED;
	if (engine_listen_end(session->engine, port, &listened, &error) < 0)
		return verb_refuse(request, &error);
	*result = json_pack("{s:b}", "on", false);
	message_count(*result, "frames", listened.frames);
	message_count(*result, "heard", listened.heard);
	return VERB_DONE;
}

enum verb_outcome
verb_listen(struct session *session, struct object *request, json_t **result)
{
	uint64_t port = 0, ports = engine_ports(session->engine);
	bool on = true;

	if (!object_count(request, "port", 0, ports > 0 ? ports - 1 : 0, &port))
		problem_set(request->problem, "port", "missing-key", "which port?");
	object_flag(request, "on", &on);
	return on ? listen_begin(session, request, (uint16_t)port, result) :
		listen_end(session, request, (uint16_t)port, result);
}
