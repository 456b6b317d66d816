/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TURNS_END_H
#define TGEN_TURNS_END_H

/* How turns end, whoever ends them: all processes go on. */

#include "engine_private.h"

/* Nobody is held from now on, whatever the worker does. */
void turns_release(struct engine *engine);
/* The worker has not got on for so long that it is lost. */
bool turns_are_lost(struct engine *engine);
/* They are over, and the worker is parked. */
void turns_finish(struct engine *engine);
/* Give back what they need. */
void turns_free(struct engine *engine);

#endif /* TGEN_TURNS_END_H */
