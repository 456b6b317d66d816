/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_LEARN_H
#define TGEN_LEARN_H

/* Switches and neighbours are taught where we are. */

#include "engine_private.h"

/* Go on with it for a moment. */
void learn_poll(struct engine *engine);

#endif /* TGEN_LEARN_H */
