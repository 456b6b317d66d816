/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_VERBS_EACH_H
#define TGEN_VERBS_EACH_H

/* What a request says of each stream: a value for all of them, or a list with one for each. */

#include "session.h"

#define SECOND_NS UINT64_C(1000000000)
#define TRIAL_LONGEST_NS (30 * 86400 * SECOND_NS)

/* `rate_fps`, `frames` and `until_ns`; false when they are not there. */
bool each_rate(struct session *session, struct object *object,
	uint64_t rate_mfps[TGEN_MAX_STREAMS]);
bool each_frames(struct session *session, struct object *object,
	uint64_t frames[TGEN_MAX_STREAMS]);
bool each_until(struct session *session, struct object *object,
	uint64_t until_ns[TGEN_MAX_STREAMS]);

/* What is due in a time, never more; TGEN_48_BITS where that has no bound. */
uint64_t each_frames_of(uint64_t rate_mfps, uint64_t duration_ns);

/* All that trials, bursts, probes and turns can say about the time after sending, and their number. */
void rest_read(struct session *session, struct object *request, struct trial_request *trial);

#endif /* TGEN_VERBS_EACH_H */
