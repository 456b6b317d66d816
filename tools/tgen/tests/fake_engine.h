/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_FAKE_ENGINE_H
#define TGEN_TESTS_FAKE_ENGINE_H

#include "session.h"

/* What this engine refuses, so that refusals can be tested. */
#define FAKE_REFUSED_SIZE 666
#define FAKE_REFUSED_BURST 13
#define FAKE_REFUSED_CPU 1013
#define FAKE_REFUSED_ROUNDS 113
#define FAKE_REFUSED_PROCESS 1013
#define FAKE_REFUSED_REQUESTS 1013
/* The CPU from which no line comes back in time. */
#define FAKE_LOST_CPU 1014

extern const struct process_facts fake_facts;

#endif /* TGEN_TESTS_FAKE_ENGINE_H */
