/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONNECTIONS_END_H
#define TGEN_CONNECTIONS_END_H

/* How connections end, as the main lcore sees it. */

#include "engine_private.h"

/* Notice that the worker is done. */
void connections_poll(struct engine *engine);
/* What is under way ends now. */
void connections_stop(struct engine *engine);
/* Give back what they need. */
void connections_free(struct engine *engine);

#endif /* TGEN_CONNECTIONS_END_H */
