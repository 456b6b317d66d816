/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_COLLECT_LATENCY_H
#define TGEN_COLLECT_LATENCY_H

/* Histograms of latency: made ready for a trial, and put together after it. */

#include "engine_private.h"

/* One that is empty, new unless there is one; NULL without memory for it. */
struct histogram *collect_histogram(struct histogram *histogram);
void collect_drop_histogram(struct histogram **histogram);
bool collect_ready_latency(const struct engine *engine, struct worker *worker,
	const struct sender *sender, const struct trial_request *request);
bool collect_ready_results(struct engine *engine, const struct trial_request *request);
void collect_latency(struct stream_result *result, const struct watch *watch,
	const struct trial_request *request);
void collect_free_details(struct watch *watch);
void collect_free_result(struct stream_result *result);

#endif /* TGEN_COLLECT_LATENCY_H */
