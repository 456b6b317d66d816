/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include "payload.h"
#include "verbs_each.h"
#include "wide.h"

#define LONGEST_DRAIN_NS (600 * SECOND_NS)
#define FASTEST_MFPS UINT64_C(10000000000000) /* ten thousand million frames a second */

/* A value for all streams, or a list with one for each of them. */
static bool
read_each(struct session *session, struct object *object, const char *key,
	bool (*read)(json_t *value, const char *path, uint64_t *each, struct problem *problem),
	uint64_t each[TGEN_MAX_STREAMS])
{
	char path[MESSAGE_PATH], element[MESSAGE_PATH];
	json_t *value = object_any(object, key);
	unsigned int i;

	if (value == NULL)
		return false;
	object_path(object, key, path);
	if (!json_is_array(value)) {
		if (!read(value, path, &each[0], object->problem))
			return false;
		for (i = 1; i < session->traffic.streams; i++)
			each[i] = each[0];
		return true;
	}
	if (json_array_size(value) != session->traffic.streams) {
		problem_set(object->problem, path, "out-of-range",
			"there are %u streams, not %zu", session->traffic.streams,
			json_array_size(value));
		return false;
	}
	for (i = 0; i < session->traffic.streams; i++) {
		element_path(path, i, element);
		if (!read(json_array_get(value, i), element, &each[i], object->problem))
			return false;
	}
	return true;
}

static bool
read_rate(json_t *value, const char *path, uint64_t *each, struct problem *problem)
{
	return value_thousandths(value, path, FASTEST_MFPS, each, problem);
}

static bool
read_frames(json_t *value, const char *path, uint64_t *each, struct problem *problem)
{
	return value_count(value, path, 0, TGEN_48_BITS - 1, each, problem);
}

static bool
read_until(json_t *value, const char *path, uint64_t *each, struct problem *problem)
{
	return value_count(value, path, 0, TRIAL_LONGEST_NS, each, problem);
}

bool
each_rate(struct session *session, struct object *object,
	uint64_t rate_mfps[TGEN_MAX_STREAMS])
{
	return read_each(session, object, "rate_fps", read_rate, rate_mfps);
}

bool
each_frames(struct session *session, struct object *object,
	uint64_t frames[TGEN_MAX_STREAMS])
{
	return read_each(session, object, "frames", read_frames, frames);
}

bool
each_until(struct session *session, struct object *object,
	uint64_t until_ns[TGEN_MAX_STREAMS])
{
	return read_each(session, object, "until_ns", read_until, until_ns);
}

uint64_t
each_frames_of(uint64_t rate_mfps, uint64_t duration_ns)
{
	uint128_t frames = (uint128_t)rate_mfps * duration_ns / (1000 * SECOND_NS);

	if (rate_mfps == 0 || frames >= TGEN_48_BITS)
		return TGEN_48_BITS;
	return (uint64_t)frames;
}

void
rest_read(struct session *session, struct object *request, struct trial_request *trial)
{
	uint64_t number = session->next_trial;

	object_count(request, "drain_ns", 0, LONGEST_DRAIN_NS, &trial->drain_ns);
	object_count(request, "quiet_ns", 0, LONGEST_DRAIN_NS, &trial->quiet_ns);
	trial->linger_ns = trial->quiet_ns;
	object_count(request, "linger_ns", 0, LONGEST_DRAIN_NS, &trial->linger_ns);
	object_count(request, "number", 0, UINT8_MAX, &number);
	trial->number = (uint8_t)number;
}
