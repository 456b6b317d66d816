/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CAPTURES_H
#define TGEN_CAPTURES_H

/* Captures asked for: armed for the next trial, written at its end. */

#include "engine_private.h"

/* Let workers fill them; those of a port belong to its first queue: one lcore fills them. */
void captures_attach(struct engine *engine);
/* Write what was captured; the result says what failed. */
void captures_finish(struct engine *engine);
/* Forget what was asked for. */
void captures_forget(struct engine *engine);

#endif /* TGEN_CAPTURES_H */
