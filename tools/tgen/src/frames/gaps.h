/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_GAPS_H
#define TGEN_GAPS_H

/*
 * Which numbers of a stream were left out, and have not come since: how many there are, and when the last
 * of them left. Nobody sees a lost frame leave; the frame that followed it says when that was at the latest.
 *
 * The last gaps are known one by one, so that late frames fill them. Of those before only the sum is, and
 * when the frame behind the last of them left.
 */

#include <stdint.h>

#include "atomics.h"

#define GAPS_KNOWN 16

struct gap {
	uint64_t first, span; /* the numbers */
	uint64_t missing; /* so many of them have not come */
	uint64_t followed_tsc; /* when the frame behind it left */
};

struct gaps {
	RTE_ATOMIC(uint64_t) missing; /* of all of them; read while it grows */
	uint64_t opened; /* so many were; the last of them are in `known` */
	struct gap known[GAPS_KNOWN];
	struct gap before; /* all others, as if they were one */
};

void gaps_clear(struct gaps *gaps);

/* So many numbers were left out before a frame that left then. */
void gaps_open(struct gaps *gaps, uint64_t first, uint64_t span, uint64_t followed_tsc);

/* One of them has come after all. */
void gaps_fill(struct gaps *gaps, uint64_t sequence);

/* When the frame behind the last number that has not come left; 0: none is missing. */
uint64_t gaps_last(const struct gaps *gaps);

#endif /* TGEN_GAPS_H */
