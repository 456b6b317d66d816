/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The agent: what it knows, and what it answers. */
#ifndef AGENT_H
#define AGENT_H

#include "application.h"
#include "control.h"
#include "json.h"
#include "place.h"
#include "programs.h"

struct agent {
	struct control control;
	struct nics nics;
	struct application application;
	struct place place;
	struct programs programs;
	struct json request;
	char answer_bytes[CONTROL_LINE];
	struct text answer;
	int64_t answered; /* the id of the request that is being answered */
	bool has_request; /* false: the answer is to none that could be read */
};

/* Says once that the guest has booted. */
void agent_booted(struct agent *agent);

/* One request; NULL stands for one that was too long. */
void agent_answer(void *agent, char *line);

/* A line to the host: its opening brace, and the whole line once its members are added. answer.c */
void answer_begin(struct agent *agent);
void answer_send(struct agent *agent);

/* Some process ended; says so if it was the application, or a program. */
void agent_reaped(struct agent *agent, pid_t pid, int status);

/* Collects all processes that ended. */
void agent_reap(struct agent *agent);

/* Starts what the request asks for, and adds the answer's members or its error. */
void agent_start(struct agent *agent, unsigned int request);
void agent_stop(struct agent *agent);

#endif
