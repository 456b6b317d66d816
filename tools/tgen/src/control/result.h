/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RESULT_H
#define TGEN_RESULT_H

/* Results of the engine as JSON: integers, nanoseconds, and no key for what is not known. */

#include <jansson.h>

#include "session.h"

json_t *result_trial(const struct session *session);
json_t *result_probe(const struct session *session);
json_t *result_turns(const struct session *session);
json_t *result_connections(const struct session *session);
/* What ports say of themselves, as a part of others. */
json_t *result_ports(const struct trial_result *trial);
json_t *result_workers(const struct trial_result *trial);
/* A capture that failed costs no trial, and is no secret. */
void result_set_capture_failure(json_t *json, const struct trial_result *trial);
json_t *result_stalls(const struct session *session);
/* NULL with a problem when the learning frames were not taken. */
json_t *result_learn(const struct session *session, struct problem *problem);
/* A reading in mid-trial; and one that tells of the latencies since the last of its kind, too. */
json_t *result_live(const struct session *session, uint64_t *elapsed_ns);
json_t *result_sample(const struct session *session, uint64_t *elapsed_ns);

#endif /* TGEN_RESULT_H */
