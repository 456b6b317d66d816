/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ASKING_H
#define TGEN_ASKING_H

/*
 * Requests by a clock, on connections that are open: the next one in turn asks when a request is due,
 * whatever became of those before. When all have been answered, connections are closed as fast as they
 * were opened. Each request that was due has one outcome.
 */

#include <stdint.h>

#include "pacer.h"

struct asking_plan {
	uint64_t rate_mfps, intended; /* requests in a thousand seconds, and in all; 0: none by a clock */
	uint64_t duration_cycles; /* for which they leave; what is then left is not asked */
	uint64_t grace_cycles; /* behind that, for those that were due within */
	uint64_t quiet_cycles; /* before and behind, for what is still on its way when all rest */
};

enum asking_phase {
	ASKING_WAITS, /* for all connections to be open, or over */
	ASKING_GOES_ON,
	ASKING_HEARS, /* waits for what was asked last to be answered, or given up */
	ASKING_CLOSES,
	ASKING_IS_OVER,
};

struct asking_counts {
	uint64_t asked;
	uint64_t waiting; /* due while their connection still waited for the response before */
	uint64_t gone; /* due on a connection that was no longer open */
	uint64_t replied; /* of those asked */
	uint64_t last_asked_tsc, last_replied_tsc; /* 0: none was */
};

struct asking {
	struct asking_plan plan;
	struct pacer pacer; /* of requests, and then of FINs: these at no more than twice their rate */
	enum asking_phase phase;
	uint64_t begun_tsc, quiet_tsc; /* 0: not yet */
	uint64_t earliest; /* TSC of the next request, or FIN, when they are behind their schedule */
	uint32_t turn; /* number of the connection that is next */
	struct asking_counts counts;
};

/* So many have an outcome already, or are on their way. */
static inline uint64_t
asking_issued(const struct asking *asking)
{
	return asking->counts.asked + asking->counts.waiting + asking->counts.gone;
}

#endif /* TGEN_ASKING_H */
