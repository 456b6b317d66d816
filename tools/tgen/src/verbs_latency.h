/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_VERBS_LATENCY_H
#define TGEN_VERBS_LATENCY_H

#include "session.h"

/* Of which frames a trial counts latencies. */
void latency_read(struct object *request, struct trial_request *trial);

#endif /* TGEN_VERBS_LATENCY_H */
