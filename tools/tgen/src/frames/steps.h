/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_STEPS_H
#define TGEN_STEPS_H

/*
 * The steps of a trial, as one sender has them: stretches of it, each with a rate of its own. A trial that
 * asks for none is a single one.
 */

#include "pacer.h"
#include "part.h"
#include "traffic.h"

/* What became of a step. */
struct step_account {
	uint64_t first; /* frames sent before it */
	uint64_t due_tsc; /* of its first frame; 0 when it did not begin */
	uint64_t began_tsc; /* when that left; 0: none did */
	uint64_t full_tsc; /* when the port was last seen full; 0: never */
	uint64_t sent, refused; /* of its frames; when it is over */
};

struct steps {
	unsigned int count; /* 0: the trial has none */
	unsigned int now; /* the one that is under way */
	struct pacer_step pace[TGEN_MAX_STEPS];
	struct step_account of[TGEN_MAX_STEPS];
};

/* Those of a part, whose frames of each step are its share of the stream's. */
void steps_init(struct steps *steps, const struct trial_request *request, const struct part *part,
	uint64_t tsc_hz);

/* The greatest rate that a stream has. */
uint64_t steps_fastest(const struct trial_request *request, unsigned int stream);

#endif /* TGEN_STEPS_H */
