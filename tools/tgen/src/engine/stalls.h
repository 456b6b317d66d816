/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_STALLS_H
#define TGEN_STALLS_H

/* The stalls of the host, looked for by all workers. */

#include "engine_private.h"

/* Notice the end of the look. */
void stalls_poll(struct engine *engine);

#endif /* TGEN_STALLS_H */
