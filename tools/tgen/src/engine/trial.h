/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRIAL_H
#define TGEN_TRIAL_H

/* A trial, as the main lcore drives it. */

#include "engine_private.h"

/* Begin one, whose worker does as it is told: COMMAND_SEND, or COMMAND_TURNS. */
int trial_start(struct engine *engine, const struct trial_request *request,
	enum worker_command command, struct error *error);

/* Have all workers do as they are told, when what they need is prepared; the phase is the caller's. */
int trial_launch(struct engine *engine, enum worker_command command, struct error *error);

#endif /* TGEN_TRIAL_H */
