/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_COLLECT_H
#define TGEN_COLLECT_H

/* What the parked workers have seen is gathered after a trial, and room is made for it before. */

#include "engine_private.h"

int collect_prepare(struct engine *engine, const struct trial_request *request,
	struct error *error);
/* What a worker counts of itself and of its queues begins anew; false without memory for it. */
bool collect_clear_worker(struct worker *worker);
/* What ports and workers have counted, as a part of all results. */
void collect_machine(struct engine *engine);
void collect_results(struct engine *engine);
void collect_free(struct engine *engine);

#endif /* TGEN_COLLECT_H */
