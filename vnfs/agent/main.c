/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Process 1 of the guest: brings it up, and then does what the control port asks for. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "agent.h"
#include "boot.h"
#include "shell.h"

#define MODULES "/etc/modules.boot"
#define PROGRAMS_FOLDER "/run"

static void __attribute__((noreturn))
give_up(const char *why)
{
	dprintf(STDERR_FILENO, "vsperf agent: %s\n", why);
	boot_power_off();
}

static int
child_signals(void)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	return signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* The control port is watched by edges: as long as no host has it open, it is always ready. */
static void
watch(int epoll, int fd, unsigned int events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void __attribute__((noreturn))
serve(struct agent *agent, int signals)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	watch(epoll, agent->control.fd, EPOLLIN | EPOLLOUT | EPOLLET);
	watch(epoll, signals, EPOLLIN);
	for (;;) {
		struct signalfd_siginfo ended;
		struct epoll_event event;

		control_read(&agent->control, agent_answer, agent);
		control_flush(&agent->control);
		agent_reap(agent);
		child_read(&agent->application.child);
		/* One that is in the set already stays there once; one that was closed has left it. */
		if (agent->application.child.terminal >= 0)
			watch(epoll, agent->application.child.terminal, EPOLLIN);
		epoll_wait(epoll, &event, 1, -1);
		while (read(signals, &ended, sizeof(ended)) > 0)
			continue;
	}
}

int
main(void)
{
	static struct agent agent;
	char bytes[256];
	struct text wrong;
	int signals;

	text_init(&wrong, bytes, sizeof(bytes));
	boot_mount();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/", 1);
	setenv("TERM", "vt100", 1);
	setenv("PS1", "guest:\\w# ", 1);
	signal(SIGPIPE, SIG_IGN);
	if (!boot_modules(MODULES, &wrong))
		give_up(bytes);
	child_init(&agent.application.child);
	programs_init(&agent.programs, PROGRAMS_FOLDER);
	nics_find(&agent.nics);
	signals = child_signals();
	if (signals < 0 || !control_open(&agent.control))
		give_up("the machine has no port vsperf.control");
	agent_booted(&agent);
	shell_start();
	serve(&agent, signals);
}
