/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_COLLECT_SLOTS_H
#define TGEN_COLLECT_SLOTS_H

/* Slots of time and events of all workers, put together. */

#include "engine_private.h"

/* Get room for them. */
int collect_prepare_slots(struct engine *engine, const struct trial_request *request,
	struct error *error);
/* Say when several workers begin together. */
void collect_place_slots(struct engine *engine, uint64_t begin_tsc);
void collect_slots(struct engine *engine);
void collect_free_slots(struct engine *engine);

#endif /* TGEN_COLLECT_SLOTS_H */
