/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <stdlib.h>
#include <string.h>

#include "result.h"
#include "session.h"
#include "verbs.h"

#define SECOND_NS UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)
#define LINE_ROOM 4096 /* at first */
#define IDS_END (INT64_C(1) << 53) /* what every JSON library keeps exactly */
/* Short trials end soon: look often at first. Both leave the CPU to a worker that shares it. */
#define YOUNG_NS (SECOND_NS / 20)
#define PATIENCE_YOUNG_MS 1
#define PATIENCE_MS 5
#define PATIENCE_SENDING_MS 20 /* nothing can end by itself yet, and events wake us anyway */
#define PATIENCE_TURNS_MS 100 /* each look may be in a turn, and takes some of its worker's CPU */
#define PATIENCE_TURNS_DUE_MS 20 /* the last ones are under way */

static void
send_to(session_send send, void *context, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	size_t length;

	json_decref(line);
	if (text == NULL)
		return; /* out of memory; the controller will miss its answer */
	length = strlen(text);
	text[length] = '\n'; /* where the NUL was; the length says where it ends */
	send(context, text, length + 1);
	free(text);
}

static void
send_line(struct session *session, json_t *line)
{
	send_to(session->send, session->context, line);
}

static json_t *
answer(json_t *id, bool is_ok)
{
	json_t *line = json_object();

	json_object_set_new(line, "id", id);
	json_object_set_new(line, "ok", json_boolean(is_ok));
	return line;
}

static json_t *
refusal(json_t *id, const struct problem *problem)
{
	json_t *line = answer(id, false), *error = json_object();

	json_object_set_new(error, "code", message_string(problem->error.code));
	json_object_set_new(error, "message", message_string(problem->error.text));
	if (problem->path[0] != '\0')
		json_object_set_new(error, "path", message_string(problem->path));
	json_object_set_new(line, "error", error);
	return line;
}

static void
send_result(struct session *session, json_int_t id, json_t *result)
{
	json_t *line = answer(json_integer(id), true);

	json_object_set_new(line, "result", result);
	send_line(session, line);
}

/* Takes the content over. */
static void
send_event(struct session *session, const char *event, json_t *content)
{
	json_t *line = json_object();

	json_object_set_new(line, "event", json_string(event));
	json_object_set_new(line, "id", json_integer(session->pending.id));
	json_object_update(line, content);
	json_decref(content);
	send_line(session, line);
}

void
session_refuse(session_send send, void *context, const char *code, const char *text)
{
	struct problem problem = { 0 };

	problem_set(&problem, "", code, "%s", text);
	send_to(send, context, refusal(json_null(), &problem));
}

const char *
session_activity(const struct session *session)
{
	static const char *const names[] = {
		[ACTIVITY_NONE] = "idle",
		[ACTIVITY_TRIAL] = "trial",
		[ACTIVITY_PROBE] = "probe",
		[ACTIVITY_LEARN] = "learn",
		[ACTIVITY_STALLS] = "stalls",
		[ACTIVITY_TURNS] = "turns",
		[ACTIVITY_CONNECTIONS] = "connections",
	};

	return names[session->pending.activity];
}

bool
request_end(struct object *request)
{
	object_end(request);
	return !problem_is(request->problem);
}

enum verb_outcome
verb_refuse(struct object *request, const struct error *error)
{
	problem_set(request->problem, "", error->code != NULL ? error->code : "engine", "%s",
		error->text);
	return VERB_FAILED;
}

static enum verb_outcome
run_verb(struct session *session, struct object *request, json_t **result)
{
	const struct verb *verb;
	const char *name = "";

	if (!object_text(request, "verb", &name)) {
		problem_set(request->problem, "verb", "missing-key", "a request needs a verb");
		return VERB_FAILED;
	}
	for (verb = session->verbs; verb->name != NULL; verb++)
		if (strcmp(verb->name, name) == 0)
			break;
	if (verb->name == NULL) {
		problem_set(request->problem, "verb", "unknown-verb",
			"there is no verb %.60s; hello lists them", name);
		return VERB_FAILED;
	}
	if (session->pending.activity != ACTIVITY_NONE && !verb->while_busy) {
		problem_set(request->problem, "", "busy", "not while a %s is under way",
			session_activity(session));
		return VERB_FAILED;
	}
	return verb->run(session, request, result);
}

static void
take_request(struct session *session, json_t *json)
{
	struct problem problem = { 0 };
	struct object request;
	uint64_t id = 0;
	json_t *result = NULL;
	enum verb_outcome outcome = VERB_FAILED;
	bool has_id = false;

	object_begin(&request, json, "", &problem);
	if (request.json != NULL) {
		has_id = object_count(&request, "id", 0, IDS_END, &id);
		if (!has_id)
			problem_set(&problem, "id", "missing-key", "a request needs an id");
		else
			outcome = run_verb(session, &request, &result);
	}
	if (outcome == VERB_FAILED)
		send_line(session, refusal(has_id ? json_integer((json_int_t)id) : json_null(),
			&problem));
	else if (outcome == VERB_DONE)
		send_result(session, (json_int_t)id, result != NULL ? result : json_object());
	else
		session->pending.id = (json_int_t)id;
	/* The end of a trial that nobody waits for is an event; its start is answered. */
	if (outcome == VERB_LATER && !session->pending.wait)
		send_result(session, (json_int_t)id,
			json_pack("{s:i}", "number", (int)session->pending.request.number));
}

static void
take_line(struct session *session, const char *line, size_t length)
{
	struct problem problem = { 0 };
	json_error_t where;
	json_t *json;

	while (length > 0 && strchr(" \t\r", line[0]) != NULL && line[0] != '\0') {
		line++;
		length--;
	}
	if (length == 0)
		return;
	json = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
	if (json == NULL) {
		problem_set(&problem, "", "bad-json", "at byte %d: %s", where.position,
			where.text);
		send_line(session, refusal(json_null(), &problem));
		return;
	}
	take_request(session, json);
	json_decref(json);
}

static void
refuse_line(struct session *session, const char *code, const char *text)
{
	struct problem problem = { 0 };

	session->used = 0;
	session->skipping = true;
	problem_set(&problem, "", code, "%s", text);
	send_line(session, refusal(json_null(), &problem));
}

static bool
make_room(struct session *session, size_t needed)
{
	size_t room = session->room;
	char *line;

	if (needed <= room)
		return true;
	while (room < needed)
		room = room == 0 ? LINE_ROOM : 2 * room;
	line = realloc(session->line, room);
	if (line == NULL)
		return false;
	session->line = line;
	session->room = room;
	return true;
}

static void
keep(struct session *session, const char *bytes, size_t length)
{
	if (session->skipping || length == 0)
		return;
	if (length > SESSION_MAX_LINE - session->used) {
		refuse_line(session, "too-long", "a line has at most 1048576 bytes");
		return;
	}
	if (!make_room(session, session->used + length)) {
		refuse_line(session, "no-memory", "there is no memory for so long a line");
		return;
	}
	memcpy(session->line + session->used, bytes, length);
	session->used += length;
}

void
session_input(struct session *session, const char *bytes, size_t length, uint64_t now_ns)
{
	const char *end;

	session->now_ns = now_ns;
	while (length > 0 && !session->quit) {
		end = memchr(bytes, '\n', length);
		if (end == NULL) {
			keep(session, bytes, length);
			return;
		}
		keep(session, bytes, (size_t)(end - bytes));
		if (!session->skipping)
			take_line(session, session->line, session->used);
		session->used = 0;
		session->skipping = false;
		length -= (size_t)(end - bytes) + 1;
		bytes = end + 1;
	}
}

static void
send_stats(struct session *session)
{
	uint64_t elapsed_ns;
	json_t *streams = result_sample(session, &elapsed_ns), *content = json_object();

	message_count(content, "elapsed_ns", elapsed_ns);
	json_object_set_new(content, "streams", streams);
	send_event(session, "stats", content);
}

/* What is answered when an activity is over. */
static json_t *
finished(const struct session *session, struct problem *problem)
{
	switch (session->pending.activity) {
	case ACTIVITY_TRIAL:
		return result_trial(session);
	case ACTIVITY_PROBE:
		return result_probe(session);
	case ACTIVITY_STALLS:
		return result_stalls(session);
	case ACTIVITY_TURNS:
		return result_turns(session);
	case ACTIVITY_CONNECTIONS:
		return result_connections(session);
	default:
		return result_learn(session, problem);
	}
}

void
session_tick(struct session *session, uint64_t now_ns)
{
	struct pending *pending = &session->pending;
	struct problem problem = { 0 };
	json_t *result, *content;

	session->now_ns = now_ns;
	if (pending->activity == ACTIVITY_NONE &&
			(session->responds || engine_listens(session->engine)))
		engine_poll(session->engine);
	if (pending->activity == ACTIVITY_NONE)
		return;
	if (engine_poll(session->engine) == ENGINE_RUNNING) {
		if (pending->activity == ACTIVITY_TRIAL && now_ns >= pending->next_stats_ns) {
			/* Those missed in a stall of the host are not made up for. */
			while (pending->next_stats_ns <= now_ns)
				pending->next_stats_ns += SECOND_NS;
			send_stats(session);
		}
		return;
	}
	result = finished(session, &problem);
	if (result == NULL) {
		send_line(session, refusal(json_integer(pending->id), &problem));
	} else if (pending->wait) {
		send_result(session, pending->id, result);
	} else {
		content = json_object();
		json_object_set_new(content, "result", result);
		send_event(session, "trial-done", content);
	}
	session->trials_ended += pending->activity == ACTIVITY_TRIAL ||
		pending->activity == ACTIVITY_PROBE;
	pending->activity = ACTIVITY_NONE;
}

/* Each turn takes a little longer than was asked for, as sides are emptied: nobody knows how much. */
static int
turns_patience(uint64_t age_ns, uint64_t duration_ns)
{
	uint64_t left_ms = age_ns < duration_ns ? (duration_ns - age_ns) / MILLISECOND_NS + 1 : 0;

	if (left_ms == 0)
		return PATIENCE_TURNS_DUE_MS;
	return left_ms < PATIENCE_TURNS_MS ? (int)left_ms : PATIENCE_TURNS_MS;
}

int
session_patience(const struct session *session)
{
	const struct pending *pending = &session->pending;
	uint64_t age_ns = session->now_ns - pending->started_ns, left_ns;

	if (pending->activity == ACTIVITY_NONE)
		return engine_listens(session->engine) ? PATIENCE_YOUNG_MS :
			session->responds ? PATIENCE_MS : -1;
	if (pending->activity == ACTIVITY_LEARN)
		return 0; /* nobody goes on with it but us */
	if (pending->activity == ACTIVITY_TURNS)
		return turns_patience(age_ns, pending->request.duration_ns);
	if (age_ns < YOUNG_NS)
		return PATIENCE_YOUNG_MS;
	if ((pending->activity != ACTIVITY_TRIAL && pending->activity != ACTIVITY_CONNECTIONS) ||
			age_ns >= pending->request.duration_ns)
		return PATIENCE_MS;
	left_ns = pending->request.duration_ns - age_ns;
	return left_ns < (uint64_t)PATIENCE_SENDING_MS * MILLISECOND_NS ? PATIENCE_MS :
		PATIENCE_SENDING_MS;
}

bool
session_end(struct session *session, const char *why)
{
	struct problem stopped = { 0 };

	session->quit = true;
	if (session->pending.activity == ACTIVITY_NONE)
		return false;
	engine_stop(session->engine);
	if (session->pending.wait) {
		problem_set(&stopped, "", "stopped", "%s", why);
		send_line(session, refusal(json_integer(session->pending.id), &stopped));
	}
	session->pending.activity = ACTIVITY_NONE;
	return true;
}

struct session *
session_create(struct engine *engine, const struct process_facts *facts,
	const struct verb *verbs, session_send send, void *context)
{
	struct session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return NULL;
	session->engine = engine;
	session->facts = facts;
	session->verbs = verbs;
	session->send = send;
	session->context = context;
	session->next_trial = facts->first_trial;
	return session;
}

void
session_destroy(struct session *session)
{
	free(session->line);
	free(session);
}
