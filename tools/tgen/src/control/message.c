/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

/* Of what the sender wrote, an error quotes so much. */
#define QUOTED 60

bool
problem_is(const struct problem *problem)
{
	return problem->error.code != NULL;
}

void
problem_set(struct problem *problem, const char *path, const char *code, const char *format, ...)
{
	va_list arguments;

	if (problem_is(problem))
		return;
	problem->error.code = code;
	snprintf(problem->path, sizeof(problem->path), "%s", path);
	va_start(arguments, format);
	vsnprintf(problem->error.text, sizeof(problem->error.text), format, arguments);
	va_end(arguments);
}

static const char *
type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "text";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a point";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null";
	}
}

static void
wrong_type(struct problem *problem, const char *path, const char *wanted, const json_t *value)
{
	problem_set(problem, path, "wrong-type", "must be %s, not %s", wanted, type_name(value));
}

void
object_begin(struct object *object, json_t *json, const char *path, struct problem *problem)
{
	object->json = json;
	object->problem = problem;
	object->asked_count = 0;
	snprintf(object->path, sizeof(object->path), "%s", path);
	if (!json_is_object(json)) {
		wrong_type(problem, path, "an object", json);
		object->json = NULL;
	}
}

static bool
was_asked(const struct object *object, const char *key)
{
	unsigned int i;

	for (i = 0; i < object->asked_count; i++)
		if (strcmp(object->asked[i], key) == 0)
			return true;
	return false;
}

/* Append to text of a limited size; what does not fit is left away. */
static void
append(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

void
object_end(struct object *object)
{
	char known[TGEN_ERROR_TEXT] = "", path[MESSAGE_PATH];
	unsigned int i;
	const char *key;
	json_t *value;

	json_object_foreach(object->json, key, value) {
		if (was_asked(object, key))
			continue;
		for (i = 0; i < object->asked_count; i++) {
			append(known, sizeof(known), i == 0 ? "" : ", ");
			append(known, sizeof(known), object->asked[i]);
		}
		object_path(object, key, path);
		problem_set(object->problem, path, "unknown-key",
			"unknown key %.*s; known here: %s", QUOTED, key, known);
		return;
	}
}

void
object_path(const struct object *object, const char *key, char path[MESSAGE_PATH])
{
	path[0] = '\0';
	append(path, MESSAGE_PATH, object->path);
	append(path, MESSAGE_PATH, object->path[0] == '\0' ? "" : ".");
	append(path, MESSAGE_PATH, key);
}

void
element_path(const char *list, size_t index, char path[MESSAGE_PATH])
{
	char number[32];

	snprintf(number, sizeof(number), "[%zu]", index);
	path[0] = '\0';
	append(path, MESSAGE_PATH, list);
	append(path, MESSAGE_PATH, number);
}

json_t *
object_any(struct object *object, const char *key)
{
	if (object->asked_count < MESSAGE_KEYS)
		object->asked[object->asked_count++] = key;
	return json_object_get(object->json, key);
}

bool
value_count(json_t *value, const char *path, uint64_t least, uint64_t most, uint64_t *count,
	struct problem *problem)
{
	json_int_t number;

	if (!json_is_integer(value)) {
		wrong_type(problem, path, "an integer", value);
		return false;
	}
	number = json_integer_value(value);
	if (number < 0 || (uint64_t)number < least || (uint64_t)number > most) {
		problem_set(problem, path, "out-of-range",
			"must be from %" PRIu64 " to %" PRIu64 ", not %" JSON_INTEGER_FORMAT,
			least, most, number);
		return false;
	}
	*count = (uint64_t)number;
	return true;
}

bool
object_count(struct object *object, const char *key, uint64_t least, uint64_t most,
	uint64_t *value)
{
	json_t *json = object_any(object, key);
	char path[MESSAGE_PATH];

	if (json == NULL)
		return false;
	object_path(object, key, path);
	return value_count(json, path, least, most, value, object->problem);
}

bool
value_thousandths(json_t *value, const char *path, uint64_t most, uint64_t *thousandths,
	struct problem *problem)
{
	uint64_t nearest;
	double number;

	if (json_is_integer(value)) {
		if (!value_count(value, path, 0, most / 1000, thousandths, problem))
			return false;
		*thousandths *= 1000;
		return true;
	}
	if (!json_is_real(value)) {
		wrong_type(problem, path, "a number", value);
		return false;
	}
	number = json_real_value(value);
	if (!(number >= 0 && number <= (double)most / 1000)) {
		problem_set(problem, path, "out-of-range", "must be from 0 to %" PRIu64,
			most / 1000);
		return false;
	}
	/* A decimal with three digits is the double nearest to it, as is the quotient here. */
	nearest = (uint64_t)(number * 1000 + 0.5);
	if ((double)nearest / 1000 != number) {
		problem_set(problem, path, "bad-value",
			"has more than three digits after its point");
		return false;
	}
	*thousandths = nearest;
	return true;
}

bool
object_flag(struct object *object, const char *key, bool *value)
{
	json_t *json = object_any(object, key);
	char path[MESSAGE_PATH];

	if (json == NULL)
		return false;
	if (!json_is_boolean(json)) {
		object_path(object, key, path);
		wrong_type(object->problem, path, "true or false", json);
		return false;
	}
	*value = json_is_true(json);
	return true;
}

bool
object_text(struct object *object, const char *key, const char **value)
{
	json_t *json = object_any(object, key);
	char path[MESSAGE_PATH];

	if (json == NULL)
		return false;
	if (!json_is_string(json)) {
		object_path(object, key, path);
		wrong_type(object->problem, path, "text", json);
		return false;
	}
	*value = json_string_value(json);
	return true;
}

bool
object_list(struct object *object, const char *key, size_t least, size_t most, json_t **value)
{
	json_t *json = object_any(object, key);
	char path[MESSAGE_PATH];

	if (json == NULL)
		return false;
	object_path(object, key, path);
	if (!json_is_array(json)) {
		wrong_type(object->problem, path, "a list", json);
		return false;
	}
	if (json_array_size(json) < least || json_array_size(json) > most) {
		problem_set(object->problem, path, "out-of-range",
			"must have from %zu to %zu elements, not %zu", least, most,
			json_array_size(json));
		return false;
	}
	*value = json;
	return true;
}

bool
object_choice(struct object *object, const char *key, const char *const *names, size_t count,
	unsigned int *choice)
{
	char path[MESSAGE_PATH], known[TGEN_ERROR_TEXT] = "";
	const char *text;
	size_t i;

	if (!object_text(object, key, &text))
		return false;
	for (i = 0; i < count; i++) {
		if (strcmp(names[i], text) == 0) {
			*choice = (unsigned int)i;
			return true;
		}
		strncat(known, i == 0 ? "" : ", ", sizeof(known) - strlen(known) - 1);
		strncat(known, names[i], sizeof(known) - strlen(known) - 1);
	}
	object_path(object, key, path);
	problem_set(object->problem, path, "bad-value", "%.40s is none of %s", text, known);
	return false;
}

void
object_count_16(struct object *object, const char *key, uint16_t least, uint16_t most,
	uint16_t *value)
{
	uint64_t number;

	if (object_count(object, key, least, most, &number))
		*value = (uint16_t)number;
}

void
object_count_8(struct object *object, const char *key, uint8_t least, uint8_t most, uint8_t *value)
{
	uint64_t number;

	if (object_count(object, key, least, most, &number))
		*value = (uint8_t)number;
}

json_t *
message_string(const char *text)
{
	char plain[512];
	json_t *json = json_string(text);
	size_t i;

	if (json != NULL)
		return json;
	/* Not UTF-8: cut within a character, or bytes from elsewhere. */
	for (i = 0; i < sizeof(plain) - 1 && text[i] != '\0'; i++)
		plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

void
message_count(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}
