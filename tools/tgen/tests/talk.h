/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_TALK_H
#define TGEN_TESTS_TALK_H

/* A controller for tests: says lines, keeps the answers. */

#include <stdlib.h>

#include "unit.h"

#include "fake_engine.h"
#include "session.h"
#include "verbs.h"

#define MOST_LINES 256

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define CONFIGURE "{\"id\":1,\"verb\":\"configure\",\"streams\":[" \
	"{\"transmit_port\":0,\"size\":64},{\"transmit_port\":1,\"size\":128}]}"

struct talk {
	struct engine *engine;
	struct session *session;
	unsigned int lines;
	json_t *line[MOST_LINES];
	uint64_t now_ns;
};

static inline void
keep(void *context, const char *line, size_t length)
{
	struct talk *talk = context;

	assert_true(talk->lines < MOST_LINES);
	assert_int_equal(line[length - 1], '\n');
	assert_null(memchr(line, '\n', length - 1));
	talk->line[talk->lines] = json_loadb(line, length, 0, NULL);
	assert_non_null(talk->line[talk->lines++]);
}

static inline void
forget(struct talk *talk)
{
	while (talk->lines > 0)
		json_decref(talk->line[--talk->lines]);
}

static inline int
begin(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	struct error error;

	talk->engine = engine_create(NULL, &error);
	talk->session = session_create(talk->engine, &fake_facts, verb_table, keep, talk);
	*state = talk;
	return 0;
}

static inline int
end(void **state)
{
	struct talk *talk = *state;

	forget(talk);
	session_destroy(talk->session);
	engine_destroy(talk->engine);
	free(talk);
	return 0;
}

static inline void
say(struct talk *talk, const char *text)
{
	session_input(talk->session, text, strlen(text), talk->now_ns);
}

/* Say a line, get its one answer. */
static inline json_t *
ask(struct talk *talk, const char *text)
{
	forget(talk);
	say(talk, text);
	say(talk, "\n");
	assert_int_equal(talk->lines, 1);
	return talk->line[0];
}

static inline void
assert_refused(struct talk *talk, const char *request, const char *code, const char *path)
{
	json_t *answer = ask(talk, request), *error = json_object_get(answer, "error");
	const char *where = json_string_value(json_object_get(error, "path"));

	assert_true(json_is_false(json_object_get(answer, "ok")));
	assert_string_equal(json_string_value(json_object_get(error, "code")), code);
	assert_true(strlen(json_string_value(json_object_get(error, "message"))) > 0);
	assert_string_equal(where != NULL ? where : "", path);
}

static inline json_t *
result_of(struct talk *talk, const char *request)
{
	json_t *answer = ask(talk, request);

	if (!json_is_true(json_object_get(answer, "ok")))
		fail_msg("%s: %s", request, json_dumps(answer, 0));
	return json_object_get(answer, "result");
}

static inline json_int_t
integer(json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

/* End a trial that was not waited for. */
static inline void
stop_trial(struct talk *talk)
{
	result_of(talk, "{\"id\":1,\"verb\":\"stop\"}");
	session_tick(talk->session, 0);
}

/* The first stream in an answer that is waited for. */
static inline json_t *
first_stream(struct talk *talk, const char *request)
{
	forget(talk);
	say(talk, request);
	say(talk, "\n");
	while (talk->lines == 0)
		session_tick(talk->session, 0);
	return json_array_get(json_object_get(json_object_get(talk->line[0], "result"),
		"streams"), 0);
}

#endif /* TGEN_TESTS_TALK_H */
