/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_MESSAGE_H
#define TGEN_MESSAGE_H

/*
 * Reading requests. Nothing is taken from a message unchecked: a value has its type and its range,
 * a key that nobody asked for is an error, and every error says where in the message it stands.
 * Of several errors the first is kept, so a reader may check once, at its end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "error.h"

#define MESSAGE_PATH 160
#define MESSAGE_KEYS 32

/* The first thing that was wrong with a request; error.code is NULL as long as nothing is. */
struct problem {
	struct error error;
	char path[MESSAGE_PATH]; /* such as streams[0].size; empty when it is no one place */
};

/* An object that is being read. */
struct object {
	json_t *json;
	struct problem *problem;
	char path[MESSAGE_PATH];
	const char *asked[MESSAGE_KEYS];
	unsigned int asked_count;
};

bool problem_is(const struct problem *problem);
void problem_set(struct problem *problem, const char *path, const char *code,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Begin with an object; anything else is a problem, and then every key is absent. */
void object_begin(struct object *object, json_t *json, const char *path, struct problem *problem);
/* Every key that was not asked for is a problem. */
void object_end(struct object *object);

/* Where a key's value stands, for errors about it. */
void object_path(const struct object *object, const char *key, char path[MESSAGE_PATH]);
/* The same for an element of a list. */
void element_path(const char *list, size_t index, char path[MESSAGE_PATH]);

/*
 * These return true when the key is there and right, and set the value only then. An absent key
 * is no problem; an explicit null is a wrong type.
 */
bool object_count(struct object *object, const char *key, uint64_t least, uint64_t most,
	uint64_t *value);
bool object_flag(struct object *object, const char *key, bool *value);
bool object_text(struct object *object, const char *key, const char **value);
bool object_list(struct object *object, const char *key, size_t least, size_t most,
	json_t **value);
json_t *object_any(struct object *object, const char *key);
/* Which of a few texts it is. */
bool object_choice(struct object *object, const char *key, const char *const *names, size_t count,
	unsigned int *choice);
void object_count_16(struct object *object, const char *key, uint16_t least, uint16_t most,
	uint16_t *value);
void object_count_8(struct object *object, const char *key, uint8_t least, uint8_t most,
	uint8_t *value);

/* The same for a value that was found otherwise, such as an element of a list. */
bool value_count(json_t *value, const char *path, uint64_t least, uint64_t most,
	uint64_t *count, struct problem *problem);
/* A number with at most three digits after its point, in thousandths. */
bool value_thousandths(json_t *value, const char *path, uint64_t most, uint64_t *thousandths,
	struct problem *problem);

/* Text for an answer, whatever bytes it has. */
json_t *message_string(const char *text);
/* "name" = value of a counter; it must be below 2^63, as all counters are. */
void message_count(json_t *object, const char *name, uint64_t value);

#endif /* TGEN_MESSAGE_H */
