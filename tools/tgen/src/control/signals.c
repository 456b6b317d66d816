/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "signals.h"

static void *
wait_for_signal(void *argument)
{
	struct signals *signals = argument;
	const uint64_t one = 1;
	int number;

	for (;;) {
		if (sigwait(&signals->set, &number) != 0)
			continue;
		/* The main thread reads it after the event, which orders the two. */
		atomic_store(&signals->received, number);
		(void)!write(signals->event, &one, sizeof(one));
		/* Pairs with signals_serve(): a main thread that serves watches the event. */
		if (!atomic_load(&signals->serving)) {
			signals->leave(signals->context);
			_exit(128 + number);
		}
	}
	return NULL;
}

/*
 * DPDK's taps have the kernel send a signal for each frame that comes, which wakes one idle thread after the
 * other on the worker's CPU: half of its time. They take the first signal that the application leaves them,
 * and where there is none they are polled, as all other ports are.
 */
static void
leave_none_to_taps(void)
{
	int number;

	for (number = SIGRTMIN; number <= SIGRTMAX; number++)
		signal(number, SIG_IGN);
}

static bool
is_ignored(int number)
{
	struct sigaction found;

	return sigaction(number, NULL, &found) == 0 && found.sa_handler == SIG_IGN;
}

int
signals_start(struct signals *signals, void (*leave)(void *context), void *context,
	struct error *error)
{
	pthread_t thread;
	int status;

	signals->leave = leave;
	signals->context = context;
	atomic_init(&signals->serving, false);
	atomic_init(&signals->received, 0);
	signals->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (signals->event < 0)
		return error_set(error, errno, "signals", "eventfd: %s", strerror(errno));
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGINT);
	sigaddset(&signals->set, SIGTERM);
	/* Its terminal is gone; who was started to outlive that (nohup) has it ignored. */
	if (!is_ignored(SIGHUP))
		sigaddset(&signals->set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	leave_none_to_taps();
	pthread_sigmask(SIG_BLOCK, &signals->set, NULL);
	status = pthread_create(&thread, NULL, wait_for_signal, signals);
	if (status != 0)
		return error_set(error, status, "signals", "thread: %s", strerror(status));
	pthread_detach(thread);
	return 0;
}

void
signals_serve(struct signals *signals)
{
	atomic_store(&signals->serving, true);
}
