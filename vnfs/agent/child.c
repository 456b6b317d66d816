/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* memmem */

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <sys/wait.h>

#include "child.h"
#include "files.h"

#define PATIENCE_MS 1000

void
child_init(struct child *child)
{
	child->pid = 0;
	child->terminal = -1;
	child->status = 0;
	child->written = 0;
}

static void
unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

bool
child_start(struct child *child, char *const argv[], void (*run)(void *), void *argument,
	struct text *wrong)
{
	struct termios plain;

	child_init(child);
	memset(&plain, 0, sizeof(plain));
	plain.c_cflag = CS8 | CREAD | B38400;
	plain.c_lflag = ISIG;
	/* Without it, who reads does not wait, and testpmd takes an empty answer for "stop". */
	plain.c_cc[VMIN] = 1;
	child->pid = forkpty(&child->terminal, NULL, &plain, NULL);
	if (child->pid < 0) {
		child_init(child);
		text_format(wrong, "no process: %s", strerror(errno));
		return false;
	}
	if (child->pid == 0) {
		unblock_signals();
		if (argv == NULL)
			run(argument);
		else
			execv(argv[0], argv);
		printf("%s: %s\n", argv == NULL ? "forwarder" : argv[0], strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	fcntl(child->terminal, F_SETFL, O_NONBLOCK);
	fcntl(child->terminal, F_SETFD, FD_CLOEXEC);
	return true;
}

static void
keep(struct child *child, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		child->log[child->written++ % CHILD_LOG] = bytes[i];
}

void
child_read(struct child *child)
{
	char piece[1024];
	ssize_t got;

	if (child->terminal < 0)
		return;
	while ((got = read(child->terminal, piece, sizeof(piece))) > 0)
		keep(child, piece, (size_t)got);
	if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(child->terminal);
		child->terminal = -1;
	}
}

bool
child_ended(struct child *child, pid_t pid, int status)
{
	if (child->pid == 0 || pid != child->pid)
		return false;
	child->pid = 0;
	child->status = status;
	child_read(child);
	if (child->terminal >= 0) {
		close(child->terminal);
		child->terminal = -1;
	}
	return true;
}

void
child_stop(struct child *child)
{
	int64_t deadline = now_ms() + PATIENCE_MS;
	int status;

	if (child->pid != 0) {
		kill(child->pid, SIGINT);
		while (waitpid(child->pid, &status, WNOHANG) == 0) {
			child_read(child);
			if (now_ms() >= deadline)
				kill(child->pid, SIGKILL);
			wait_ms(5);
		}
		child_ended(child, child->pid, status);
	}
}

/* The log in the order in which it was written. */
static size_t
straighten(const struct child *child, char bytes[CHILD_LOG])
{
	size_t end = child->written % CHILD_LOG;

	if (child->written <= CHILD_LOG) {
		memcpy(bytes, child->log, child->written);
		return child->written;
	}
	memcpy(bytes, child->log + end, CHILD_LOG - end);
	memcpy(bytes + CHILD_LOG - end, child->log, end);
	return CHILD_LOG;
}

bool
child_wrote(const struct child *child, const char *words)
{
	char bytes[CHILD_LOG];
	size_t length = straighten(child, bytes);

	return memmem(bytes, length, words, strlen(words)) != NULL;
}

void
child_log(const struct child *child, struct text *text)
{
	char bytes[CHILD_LOG];
	size_t length = straighten(child, bytes);

	text_quote(text, bytes, length);
}

void
child_how(const struct child *child, struct text *text)
{
	if (WIFSIGNALED(child->status))
		text_format(text, "signal %d", WTERMSIG(child->status));
	else
		text_format(text, "exit code %d", WEXITSTATUS(child->status));
}
