/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PREPARE_H
#define TGEN_PREPARE_H

/* What a traffic needs is built before it is sent, and freed; nothing runs meanwhile. */

#include "engine_private.h"

int prepare_traffic(struct engine *engine, const struct traffic *traffic, struct error *error);
void prepare_free(struct engine *engine);

#endif /* TGEN_PREPARE_H */
