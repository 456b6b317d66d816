/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "holds.h"

#define MOMENT_NS 1000000

/* Signals by which a process dies of an error of its own, of a limit that it met, or since nobody takes them. */
static const int deadly[] = {
	SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ,
	SIGALRM, SIGIO, SIGPROF, SIGPWR, SIGSTKFLT, SIGUSR1, SIGUSR2, SIGVTALRM,
};
#define DEADLY (sizeof(deadly) / sizeof(deadly[0]))

/* A signal brings nothing along by which these could be found. */
static struct {
	RTE_ATOMIC(struct holds *) holds; /* NULL: nobody is held */
	struct sigaction before[DEADLY];
} watched;

/* By their numbers, as older C libraries have no functions for them. */
static int
open_process(int32_t process)
{
	return (int)syscall(SYS_pidfd_open, process, 0);
}

static int
send_signal(int descriptor, int number)
{
	return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}

/* One that nobody has waited for yet takes signals, too; but there is nothing more to be seen of it. */
static bool
has_ended(int descriptor)
{
	struct pollfd ended = { .fd = descriptor, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

static int
add_process(struct holds *holds, uint8_t side, int32_t process, struct error *error)
{
	unsigned int i;
	int descriptor;

	if (process == getpid() || process == getppid())
		return error_set(error, -EINVAL, "bad-value",
			"process %d is %s: nobody would be there to let it go on", process,
			process == getpid() ? "this tgen" : "the parent of this tgen");
	for (i = 0; i < holds->processes; i++)
		if (holds->process[i].process == process)
			return error_set(error, -EINVAL, "bad-value",
				"process %d is named twice, for sides %u and %u", process,
				holds->process[i].side, side);
	descriptor = open_process(process);
	if (descriptor < 0)
		return error_set(error, -errno, errno == ESRCH ? "no-process" : "bad-value",
			"process %d of side %u: %s", process, side, strerror(errno));
	holds->process[holds->processes].descriptor = descriptor;
	holds->process[holds->processes].process = process;
	holds->process[holds->processes].side = side;
	holds->processes++;
	if (has_ended(descriptor))
		return error_set(error, -ESRCH, "no-process", "process %d of side %u has ended",
			process, side);
	if (send_signal(descriptor, 0) != 0)
		return error_set(error, -errno, "bad-value", "process %d of side %u: %s", process,
			side, strerror(errno));
	return 0;
}

static bool
is_released(const struct holds *holds)
{
	return rte_atomic_load_explicit(&holds->released, rte_memory_order_acquire);
}

static void
continue_all(struct holds *holds)
{
	unsigned int i;

	rte_atomic_store_explicit(&holds->released, true, rte_memory_order_release);
	for (i = 0; i < holds->processes; i++)
		send_signal(holds->process[i].descriptor, SIGCONT);
}

/*
 * This process dies, and who is held would be so for ever. No lock is waited for here: who has it may be the
 * very thread that dies. So another one may still be about to hold a side, and all go on once more. What
 * would have come of the signal comes of it when this returns.
 */
static void
let_go(int number)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NS };
	struct holds *holds = rte_atomic_load_explicit(&watched.holds, rte_memory_order_acquire);
	unsigned int i;

	if (holds != NULL) {
		continue_all(holds);
		nanosleep(&moment, NULL);
		continue_all(holds);
	}
	for (i = 0; i < DEADLY; i++)
		if (deadly[i] == number)
			sigaction(number, &watched.before[i], NULL);
	raise(number);
}

/* What is ignored goes on being so. */
static void
watch(struct holds *holds)
{
	struct sigaction action = { .sa_handler = let_go };
	unsigned int i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < DEADLY; i++)
		sigaction(deadly[i], NULL, &watched.before[i]);
	rte_atomic_store_explicit(&watched.holds, holds, rte_memory_order_release);
	for (i = 0; i < DEADLY; i++)
		if (watched.before[i].sa_handler != SIG_IGN)
			sigaction(deadly[i], &action, NULL);
}

static void
watch_no_more(void)
{
	unsigned int i;

	for (i = 0; i < DEADLY; i++)
		sigaction(deadly[i], &watched.before[i], NULL);
	rte_atomic_store_explicit(&watched.holds, NULL, rte_memory_order_release);
}

static void
forget(struct holds *holds)
{
	unsigned int i;

	for (i = 0; i < holds->processes; i++)
		close(holds->process[i].descriptor);
	pthread_mutex_destroy(&holds->lock);
	holds->processes = 0;
}

int
holds_open(struct holds *holds, const struct turns_request *request, struct error *error)
{
	uint8_t side, i;
	int ret = 0;

	memset(holds, 0, sizeof(*holds));
	pthread_mutex_init(&holds->lock, NULL);
	for (side = 0; side < request->sides && ret == 0; side++)
		for (i = 0; i < request->side[side].processes && ret == 0; i++)
			ret = add_process(holds, side, request->side[side].process[i], error);
	if (ret != 0)
		forget(holds); /* as they were: none was held */
	else
		watch(holds);
	return ret;
}

void
holds_close(struct holds *holds)
{
	holds_release(holds);
	watch_no_more();
	forget(holds);
}

/*
 * With the lock: who releases all while a side is being held must come before or after that. A switch comes
 * before who is behind it: it is held first, and goes on last, when they take what it brings.
 */
static bool
signal_side(struct holds *holds, unsigned int side, int number)
{
	unsigned int i, next;

	for (i = 0; i < holds->processes; i++) {
		next = number == SIGCONT ? holds->processes - 1 - i : i;
		if (is_released(holds))
			return false;
		if (holds->process[next].side != side ||
				send_signal(holds->process[next].descriptor, number) == 0)
			continue;
		holds->ended_process = holds->process[next].process;
		holds->ended_side = (uint8_t)side;
		return false;
	}
	return !is_released(holds);
}

bool
holds_stop(struct holds *holds, unsigned int side)
{
	bool done;

	pthread_mutex_lock(&holds->lock);
	done = signal_side(holds, side, SIGSTOP);
	pthread_mutex_unlock(&holds->lock);
	return done;
}

bool
holds_continue(struct holds *holds, unsigned int side)
{
	bool done;

	pthread_mutex_lock(&holds->lock);
	done = signal_side(holds, side, SIGCONT);
	pthread_mutex_unlock(&holds->lock);
	return done;
}

bool
holds_complete(struct holds *holds)
{
	struct pollfd ended[TURNS_MAX_SIDES * TURNS_MAX_PROCESSES];
	unsigned int i;

	for (i = 0; i < holds->processes; i++)
		ended[i] = (struct pollfd){
			.fd = holds->process[i].descriptor, .events = POLLIN,
		};
	if (holds->processes == 0 || poll(ended, holds->processes, 0) <= 0)
		return true;
	for (i = 0; i < holds->processes; i++) {
		if (ended[i].revents == 0)
			continue;
		holds->ended_process = holds->process[i].process;
		holds->ended_side = holds->process[i].side;
		break;
	}
	return false;
}

void
holds_release(struct holds *holds)
{
	pthread_mutex_lock(&holds->lock);
	continue_all(holds);
	pthread_mutex_unlock(&holds->lock);
}
