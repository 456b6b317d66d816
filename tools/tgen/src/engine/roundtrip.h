/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ROUNDTRIP_H
#define TGEN_ROUNDTRIP_H

/*
 * How long a cache line takes from one CPU to another and back. Every ring between two CPUs pays
 * this price, and on a virtual machine it changes when the host moves a CPU, with no other sign.
 * Two threads of their own pass the line back and forth, so neither ports nor workers have a part in it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

#define ROUNDTRIP_BATCH 20 /* rounds between two looks at the clock: one sample */
#define ROUNDTRIP_MOST 20000 /* rounds */
#define ROUNDTRIP_MOST_NS UINT64_C(100000000)
#define ROUNDTRIP_CPUS 1024 /* as many as a set of CPUs has */

struct roundtrip_request {
	unsigned int cpu[2]; /* not the same */
	unsigned int rounds; /* 1 to ROUNDTRIP_MOST */
	uint64_t deadline_ns; /* from the call; what was not measured then never is */
};

struct roundtrip_result {
	bool real_time; /* both threads went before all ordinary ones */
	unsigned int rounds; /* done, in whole batches; 0: the rest is not known */
	uint64_t min_ns, p50_ns, p90_ns, max_ns; /* of a round trip, each the mean of a batch */
};

/* Blocks until done, or to the deadline. While it runs, each CPU is busy with it. */
int roundtrip_measure(const struct roundtrip_request *request, struct roundtrip_result *result,
	struct error *error);

#endif /* TGEN_ROUNDTRIP_H */
