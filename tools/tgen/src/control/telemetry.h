/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TELEMETRY_H
#define TGEN_TELEMETRY_H

/*
 * /vsperf_tgen/stats, /vsperf_tgen/ports and /vsperf_tgen/trial for dpdk-telemetry.py. DPDK calls
 * them on a thread of its own, so they answer from a copy under a lock, never from the engine.
 */

#include "session.h"

/* Before and after these two the commands say that nothing is known. */
void telemetry_start(const struct session *session);
void telemetry_stop(void);
/* Bring the copy up to date; for the thread that runs the session. */
void telemetry_publish(const struct session *session);

#endif /* TGEN_TELEMETRY_H */
