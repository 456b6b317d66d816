/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static unsigned int read_value(struct json *json, unsigned int depth);

static unsigned int
fail(struct json *json, const char *wrong)
{
	if (json->wrong == NULL)
		json->wrong = wrong;
	return 0;
}

static void
skip_blanks(struct json *json)
{
	while (*json->at == ' ' || *json->at == '\t' || *json->at == '\r' || *json->at == '\n')
		json->at++;
}

static unsigned int
new_value(struct json *json, enum json_kind kind)
{
	if (json->used + 1 >= JSON_VALUES)
		return fail(json, "too many values");
	json->used++;
	memset(&json->values[json->used], 0, sizeof(json->values[0]));
	json->values[json->used].kind = kind;
	return json->used;
}

/* Four hexadecimal digits. Only ASCII is written out: nothing else is a name here. */
static int
read_escaped_code(struct json *json)
{
	char digits[5] = {0};
	char *end;
	unsigned long code;

	for (int i = 0; i < 4 && json->at[i] != '\0'; i++)
		digits[i] = json->at[i];
	code = strtoul(digits, &end, 16);
	if (end != digits + 4 || strspn(digits, "0123456789abcdefABCDEF") != 4)
		return -1;
	json->at += 4;
	return code > 0 && code < 0x80 ? (int)code : '?';
}

static int
read_escape(struct json *json)
{
	static const char written[] = "\"\\/bfnrt";
	static const char meant[] = "\"\\/\b\f\n\r\t";
	char letter = *json->at++;
	const char *found;

	if (letter == 'u')
		return read_escaped_code(json);
	found = letter == '\0' ? NULL : strchr(written, letter);
	return found == NULL ? -1 : meant[found - written];
}

/* Behind the opening quote. The string is written over itself: it never becomes longer. */
static const char *
read_string(struct json *json)
{
	char *start = json->at;
	char *end = start;

	while (*json->at != '"') {
		int byte = (unsigned char)*json->at++;

		if (byte < 0x20) {
			fail(json, "a string without an end, or a control character in it");
			return "";
		}
		if (byte == '\\' && (byte = read_escape(json)) < 0) {
			fail(json, "an unknown escape in a string");
			return "";
		}
		*end++ = (char)byte;
	}
	json->at++;
	*end = '\0';
	return start;
}

static unsigned int
read_number(struct json *json)
{
	unsigned int value = new_value(json, JSON_NUMBER);
	const char *digits = json->at + (*json->at == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return fail(json, "a value that is none");
	if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
		return fail(json, "a number with a leading zero");
	errno = 0;
	json->values[value].number = strtoll(json->at, &end, 10);
	if (*end == '.' || *end == 'e' || *end == 'E')
		return fail(json, "a number that is no integer");
	if (errno != 0) {
		/* DPDK counts in 64 bits without a sign. */
		errno = 0;
		json->values[value].number = (int64_t)strtoull(json->at, &end, 10);
		if (errno != 0 || *json->at == '-')
			return fail(json, "a number that is too large");
	}
	json->at = end;
	return value;
}

static unsigned int
read_word(struct json *json, const char *word, enum json_kind kind, int64_t number)
{
	unsigned int value = new_value(json, kind);

	if (strncmp(json->at, word, strlen(word)) != 0)
		return fail(json, "a value that is none");
	json->at += strlen(word);
	json->values[value].number = number;
	return value;
}

static const char *
read_name(struct json *json)
{
	const char *name;

	skip_blanks(json);
	if (*json->at != '"') {
		fail(json, "a member without a name");
		return "";
	}
	json->at++;
	name = read_string(json);
	if (json->wrong != NULL)
		return "";
	skip_blanks(json);
	if (*json->at++ != ':')
		fail(json, "a name without a value");
	return name;
}

/* Behind the opening bracket. */
static unsigned int
read_children(struct json *json, enum json_kind kind, char closing, unsigned int depth)
{
	unsigned int parent = new_value(json, kind);
	unsigned int last = 0;

	if (depth >= JSON_DEPTH)
		return fail(json, "brackets that are nested too deeply");
	skip_blanks(json);
	if (*json->at == closing) {
		json->at++;
		return parent;
	}
	while (json->wrong == NULL) {
		const char *name = kind == JSON_OBJECT ? read_name(json) : NULL;
		unsigned int child = json->wrong == NULL ? read_value(json, depth + 1) : 0;
		char mark;

		if (json->wrong != NULL)
			break;
		if (name != NULL && json_member(json, parent, name) != 0)
			return fail(json, "a name that is there twice");
		json->values[child].name = name;
		if (last == 0)
			json->values[parent].first = child;
		else
			json->values[last].next = child;
		last = child;
		json->values[parent].count++;
		skip_blanks(json);
		mark = *json->at++;
		if (mark == closing)
			return parent;
		if (mark != ',')
			return fail(json, "brackets without an end, or values without a comma");
	}
	return 0;
}

static unsigned int
read_value(struct json *json, unsigned int depth)
{
	unsigned int value;
	const char *string;

	skip_blanks(json);
	switch (*json->at) {
	case '{':
		json->at++;
		return read_children(json, JSON_OBJECT, '}', depth);
	case '[':
		json->at++;
		return read_children(json, JSON_ARRAY, ']', depth);
	case '"':
		json->at++;
		string = read_string(json);
		if (json->wrong != NULL)
			return 0;
		value = new_value(json, JSON_STRING);
		json->values[value].string = string;
		return value;
	case 't':
		return read_word(json, "true", JSON_BOOLEAN, 1);
	case 'f':
		return read_word(json, "false", JSON_BOOLEAN, 0);
	case 'n':
		return read_word(json, "null", JSON_NULL, 0);
	default:
		return read_number(json);
	}
}

const char *
json_read(struct json *json, char *text)
{
	json->used = 0;
	json->at = text;
	json->wrong = NULL;
	read_value(json, 0);
	if (json->wrong == NULL) {
		skip_blanks(json);
		if (*json->at != '\0')
			fail(json, "something behind the value");
	}
	return json->wrong;
}

unsigned int
json_member(const struct json *json, unsigned int object, const char *name)
{
	if (!json_is(json, object, JSON_OBJECT))
		return 0;
	for (unsigned int i = json->values[object].first; i != 0; i = json->values[i].next) {
		if (strcmp(json->values[i].name, name) == 0)
			return i;
	}
	return 0;
}

bool
json_is(const struct json *json, unsigned int value, enum json_kind kind)
{
	return value != 0 && json->values[value].kind == kind;
}

const char *
json_string(const struct json *json, unsigned int value)
{
	return json_is(json, value, JSON_STRING) ? json->values[value].string : NULL;
}

int64_t
json_number(const struct json *json, unsigned int value, int64_t otherwise)
{
	return json_is(json, value, JSON_NUMBER) ? json->values[value].number : otherwise;
}
