/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_LIVE_H
#define TGEN_LIVE_H

/* What is looked at in mid-trial. */

#include "engine_private.h"

/* Nothing was looked at in the trial to come; and give the room for it back. */
bool live_ready(struct engine *engine, const struct trial_request *request);
void live_free(struct engine *engine);
/* All is sent, and each frame of it has arrived. */
bool live_all_back(const struct engine *engine);

#endif /* TGEN_LIVE_H */
