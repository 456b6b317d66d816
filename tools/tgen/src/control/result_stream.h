/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RESULT_STREAM_H
#define TGEN_RESULT_STREAM_H

/* What the answer to a trial tells of a stream beside its counters. */

#include "session.h"

/* Nothing where nothing is lost, or nobody can tell. */
void result_set_last_loss(json_t *json, const struct stream_result *stream,
	const struct trial_result *trial);
/* Nothing in a trial without steps. */
void result_set_steps(json_t *json, const struct stream_result *stream,
	const struct trial_result *trial);
/* As much as was asked for. */
void result_set_latency(json_t *json, const struct stream_result *stream,
	const struct trial_request *request, const struct trial_result *trial);

#endif /* TGEN_RESULT_STREAM_H */
