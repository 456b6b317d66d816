/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* environ */

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "files.h"
#include "port.h"
#include "shell.h"

#define PORT "vsperf.shell"

/* One direction. What the other side does not take now waits here. */
struct pipe {
	int from;
	int to;
	char bytes[4096];
	size_t begin;
	size_t end;
};

/* Moves what can be moved now. False when the reading side is gone for good. */
static bool
pump(struct pipe *pipe)
{
	for (;;) {
		ssize_t length;

		if (pipe->begin == pipe->end) {
			pipe->begin = 0;
			pipe->end = 0;
			length = read(pipe->from, pipe->bytes, sizeof(pipe->bytes));
			if (length <= 0)
				return length < 0 && (errno == EAGAIN || errno == EINTR);
			pipe->end = (size_t)length;
		}
		length = write(pipe->to, pipe->bytes + pipe->begin, pipe->end - pipe->begin);
		if (length <= 0)
			return true;
		pipe->begin += (size_t)length;
	}
}

static pid_t
start_shell(int *terminal)
{
	static char *const argv[] = {"sh", "-i", NULL};
	struct winsize size = {.ws_row = 40, .ws_col = 120};
	sigset_t none;
	pid_t pid = forkpty(terminal, NULL, NULL, &size);

	if (pid == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		execve("/bin/sh", argv, environ);
		_exit(127);
	}
	if (pid > 0) {
		fcntl(*terminal, F_SETFL, O_NONBLOCK);
		fcntl(*terminal, F_SETFD, FD_CLOEXEC);
	}
	return pid;
}

static void
watch(int epoll, int fd)
{
	/* Edges only: a port that nobody has open on the host would be ready without end. */
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void
serve_one_shell(int epoll, int port)
{
	static struct pipe in, out;
	int terminal;
	pid_t pid = start_shell(&terminal);

	if (pid < 0)
		return;
	in = (struct pipe){.from = port, .to = terminal};
	out = (struct pipe){.from = terminal, .to = port};
	watch(epoll, terminal);
	while (pump(&out)) {
		struct epoll_event event;

		/* A port whose host went away reads as ended, until the host comes again. */
		pump(&in);
		epoll_wait(epoll, &event, 1, -1);
	}
	close(terminal);
	kill(pid, SIGHUP);
	waitpid(pid, NULL, 0);
}

void
shell_start(void)
{
	int port;
	int epoll;

	if (fork() != 0)
		return;
	port = port_open(PORT);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (port < 0 || epoll < 0)
		_exit(0);
	watch(epoll, port);
	for (;;) {
		serve_one_shell(epoll, port);
		/* One that ends at once must not take the CPU from what is measured. */
		wait_ms(200);
	}
}
