/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_LOOP_H
#define TGEN_LOOP_H

/* Entry of an lcore; `argument` is its struct worker. Returns after COMMAND_QUIT. */
int loop_main(void *argument);

struct worker;

/* A trial begins for a worker: now, or when all that send together do. */
void loop_start_clock(struct worker *worker);

#endif /* TGEN_LOOP_H */
