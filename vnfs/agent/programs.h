/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * Programs of the host's choice, which exchange data with those of other machines: each is started
 * at an instant, all that it writes is kept up to a limit, and its end is told.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdbool.h>
#include <sys/types.h>

#include "json.h"
#include "text.h"

#define PROGRAMS 64
#define PROGRAM_WORDS 64
/* Bytes that one may write: the kernel ends it at the next, which says that it would go on. */
#define PROGRAM_OUTPUT (4 << 20)
/* Bytes of it in one answer, each of which becomes two at most. */
#define PROGRAM_PIECE 7000
/* Files that it may have open: each connection is one. */
#define PROGRAM_FILES (1 << 16)

struct program {
	bool known; /* it was started, or files were written for it */
	bool started; /* its output is there */
	pid_t pid; /* also that of its group; 0: it has ended */
};

struct programs {
	const char *folder; /* of what they write, and of those that each of them runs in */
	struct program programs[PROGRAMS];
};

void programs_init(struct programs *programs, const char *folder);

/* Each takes a request, adds members to the answer, or returns false and says why. */
/* Adds text to a file in the folder that a program will run in; the first makes it. */
bool programs_file(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong);
bool programs_run(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong);
bool programs_output(const struct programs *programs, const struct json *json,
	unsigned int request, struct text *answer, struct text *wrong);
/* With all that it started. Its output is gone, and its number is free again. */
bool programs_end(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong);

/* To be told of every process that ended. The number of the program that it was; 0: of none. */
unsigned int programs_ended(struct programs *programs, pid_t pid);

#endif
