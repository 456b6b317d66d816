/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_HOLDS_H
#define TGEN_HOLDS_H

/*
 * Processes that are held still, and go on. Each is known by a descriptor of the kernel from the request on,
 * so that no other process which has got its number since can be meant.
 *
 * A worker holds them and lets them go on; any thread may release all, and from then on none is held again,
 * wherever the worker is. All go on, too, where this process dies by a signal that it can take, such as
 * SIGSEGV; of SIGKILL it hears nothing.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"
#include "error.h"
#include "turns.h"

/* There is one at a time, from holds_open() to holds_close(). */
struct holds {
	pthread_mutex_t lock;
	RTE_ATOMIC(bool) released;
	unsigned int processes;
	struct {
		int descriptor;
		int32_t process;
		uint8_t side;
	} process[TURNS_MAX_SIDES * TURNS_MAX_PROCESSES];
	/* One that ended, or that takes no signals any more; 0: all are there. */
	int32_t ended_process;
	uint8_t ended_side;
};

/* Find all processes of a request; none is held yet. Refused are those that are not there or ourselves. */
int holds_open(struct holds *holds, const struct turns_request *request, struct error *error);
/* Release all, and forget them. */
void holds_close(struct holds *holds);

/* Hold the processes of a side, or let them go on; false when one of them ended, or all are released. */
bool holds_stop(struct holds *holds, unsigned int side);
bool holds_continue(struct holds *holds, unsigned int side);
/* All processes are there; false when one has ended. */
bool holds_complete(struct holds *holds);

/* All go on, and none is held from now on. */
void holds_release(struct holds *holds);

#endif /* TGEN_HOLDS_H */
