/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_STALLS_WORKER_H
#define TGEN_STALLS_WORKER_H

/* A worker's part in the look for stalls. */

#include "worker.h"

/* Spin until the time is over or the command changes. */
void stalls_run(struct worker *worker);

#endif /* TGEN_STALLS_WORKER_H */
