/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* A program that the agent started, and the end of what it wrote. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "text.h"

#define CHILD_LOG 4000

struct child {
	pid_t pid; /* 0: none is running */
	int terminal; /* its standard input and output; -1: closed */
	int status; /* as from wait, once it has ended */
	char log[CHILD_LOG];
	size_t written; /* bytes ever written; the log holds the last of them */
};

void child_init(struct child *child);

/*
 * Starts argv on a terminal of its own: the program flushes each line, and its standard input
 * stays open without ever saying anything. NULL argv: calls `run`, which never returns.
 */
bool child_start(struct child *child, char *const argv[], void (*run)(void *), void *argument,
	struct text *wrong);

/* Takes what it wrote meanwhile. Closes the terminal when the other side has. */
void child_read(struct child *child);

/* To be told of every process that ended. True if it was this one. */
bool child_ended(struct child *child, pid_t pid, int status);

/* Ends it: asks, and after a second kills. */
void child_stop(struct child *child);

bool child_wrote(const struct child *child, const char *words);
/* The last bytes it wrote, as a JSON string. */
void child_log(const struct child *child, struct text *text);
void child_how(const struct child *child, struct text *text);

#endif
