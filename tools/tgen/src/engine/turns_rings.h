/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TURNS_RINGS_H
#define TGEN_TURNS_RINGS_H

#include "turns_worker.h"

/*
 * A turn in which the rings of a side that is held are filled, time and again, and it is measured how fast
 * it empties them. False: it could not be taken.
 */
bool turns_rings(struct worker *worker, struct turns *turns, const struct turns_side *side,
	struct turn *turn);

#endif /* TGEN_TURNS_RINGS_H */
