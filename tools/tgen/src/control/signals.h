/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SIGNALS_H
#define TGEN_SIGNALS_H

/*
 * SIGINT, SIGTERM and SIGHUP, taken by a thread that waits for nothing else. While the process serves, they
 * only wake the main thread, which ends in order. Before that (a virtio_user port may wait forever
 * for its switch to connect) the thread itself ends the process.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "error.h"

struct signals {
	sigset_t set;
	int event; /* readable once a signal came */
	atomic_bool serving;
	atomic_int received; /* its number; 0: none yet */
	void (*leave)(void *context); /* last actions, when the process ends while not serving */
	void *context;
};

/* Before any other thread is made: they must not take these signals. */
int signals_start(struct signals *signals, void (*leave)(void *context), void *context,
	struct error *error);
/* From now on a signal is for the main thread, which watches the event. */
void signals_serve(struct signals *signals);

#endif /* TGEN_SIGNALS_H */
