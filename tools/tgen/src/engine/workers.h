/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WORKERS_H
#define TGEN_WORKERS_H

/* All workers of an engine: which of them serves which queue, and how they are sent to park. */

#include "engine_private.h"

/* How many send: one worker does both; of several, the first half sends and the others receive. */
unsigned int engine_transmitters(const struct engine *engine);
/* Which of them sends on a queue, and which receives; queues count through all ports. */
struct worker *engine_transmitter(const struct engine *engine, unsigned int queue);
struct worker *engine_receiver(const struct engine *engine, unsigned int queue);

/* Send all to park; whether they have; and both, false when one does not answer in time. */
void engine_dismiss(struct engine *engine);
bool engine_parked(const struct engine *engine);
bool engine_park(struct engine *engine);

/* Refuse what needs parked workers as long as they are not: they are touched only then. */
int engine_check_idle(const struct engine *engine, struct error *error);

#endif /* TGEN_WORKERS_H */
