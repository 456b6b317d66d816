/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Reads JSON, strictly: one value per line, numbers are integers, nothing may follow. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>

#define JSON_VALUES 1024
#define JSON_DEPTH 8

enum json_kind {
	JSON_NULL,
	JSON_BOOLEAN,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* A value is found by its index; the children of one are a list by `next`. 0 ends a list. */
struct json_value {
	enum json_kind kind;
	const char *name; /* of a member of an object, else NULL */
	const char *string;
	int64_t number; /* of a boolean: 0 or 1 */
	unsigned int first;
	unsigned int next;
	unsigned int count; /* of children */
};

/* All values of one text. Strings stay in that text, which reading changes. */
struct json {
	struct json_value values[JSON_VALUES];
	unsigned int used;
	char *at;
	const char *wrong; /* NULL while all is well */
};

/* The root has index 1 (0 stands for "none"). Returns NULL, or what is wrong with the text. */
const char *json_read(struct json *json, char *text);

/* All of these take index 0 as a value that is not there, and return 0, NULL or the default. */
unsigned int json_member(const struct json *json, unsigned int object, const char *name);
const char *json_string(const struct json *json, unsigned int value);
bool json_is(const struct json *json, unsigned int value, enum json_kind kind);
int64_t json_number(const struct json *json, unsigned int value, int64_t otherwise);

#endif
