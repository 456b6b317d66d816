/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * Whatever a controller sends, tgen neither crashes nor leaks, breaks no rule of the engine, and
 * gives exactly one answer, of valid JSON, to each line. For libFuzzer, or fuzz_main.c.
 */

#include <stdlib.h>
#include <string.h>

#include "fake_engine.h"
#include "fuzz_session.h"
#include "verbs.h"

struct tally {
	unsigned int answers, refusals;
};

static void
demand(bool holds)
{
	if (!holds)
		abort();
}

static void
count(void *context, const char *line, size_t length)
{
	struct tally *tally = context;
	json_t *json, *ok;

	demand(length > 0 && line[length - 1] == '\n');
	demand(memchr(line, '\n', length - 1) == NULL);
	json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	demand(json_is_object(json));
	ok = json_object_get(json, "ok");
	if (ok == NULL) {
		demand(json_is_string(json_object_get(json, "event")));
	} else {
		tally->answers++;
		tally->refusals += json_is_false(ok);
		demand(json_is_true(ok) == json_is_object(json_object_get(json, "result")));
		demand(json_is_false(ok) == json_is_object(json_object_get(json, "error")));
	}
	json_decref(json);
}

static bool
is_blank(const uint8_t *line, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error;
	struct tally tally = { 0 };
	struct engine *engine = engine_create(NULL, &error);
	struct session *session = session_create(engine, &fake_facts, verb_table, count, &tally);
	const uint8_t *end;
	unsigned int expected = 0;
	uint64_t now_ns = 0;
	size_t length, half;

	demand(session != NULL);
	while (size > 0 && !session->quit) {
		end = memchr(data, '\n', size);
		length = end != NULL ? (size_t)(end - data) + 1 : size;
		if (end != NULL ? !is_blank(data, length - 1) : length > SESSION_MAX_LINE)
			expected++;
		half = data[0] % length;
		session_input(session, (const char *)data, half, now_ns);
		session_input(session, (const char *)data + half, length - half, now_ns);
		if (half % 2 != 0)
			session_tick(session, now_ns += 700000000);
		data += length;
		size -= length;
	}
	while (session->pending.activity != ACTIVITY_NONE)
		session_tick(session, now_ns += 700000000);
	demand(tally.answers == expected);
	fuzz_refusals += tally.refusals;
	fuzz_answers += tally.answers;
	session_destroy(session);
	engine_destroy(engine);
	return 0;
}

uint64_t fuzz_answers, fuzz_refusals;
