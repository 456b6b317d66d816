/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The end of what forwards, on demand or by itself, and of programs. */
#include <sys/wait.h>

#include "agent.h"

void
agent_stop(struct agent *agent)
{
	struct application *application = &agent->application;

	if (application->kind == NULL)
		return;
	child_stop(&application->child);
	if (application->kind->stop != NULL)
		application->kind->stop(application);
	application->kind = NULL;
}

/* A line of its own: another answer may be under way. */
static void
say_exited(struct agent *agent, unsigned int number, int status)
{
	bool killed = WIFSIGNALED(status);
	char bytes[96];
	struct text line;

	text_init(&line, bytes, sizeof(bytes));
	text_format(&line, "{\"event\":\"exited\",\"program\":%u,\"%s\":%d}", number,
		killed ? "signal" : "code", killed ? WTERMSIG(status) : WEXITSTATUS(status));
	control_send(&agent->control, &line);
}

void
agent_reaped(struct agent *agent, pid_t pid, int status)
{
	struct application *application = &agent->application;
	unsigned int number = programs_ended(&agent->programs, pid);

	if (number != 0)
		say_exited(agent, number, status);
	if (!child_ended(&application->child, pid, status) || !application->forwards)
		return;
	application->forwards = false;
	answer_begin(agent);
	text_format(&agent->answer, "\"event\":\"ended\",\"app\":\"%s\",\"how\":\"",
		application->kind->name);
	child_how(&application->child, &agent->answer);
	text_format(&agent->answer, "\",\"log\":");
	child_log(&application->child, &agent->answer);
	answer_send(agent);
	agent_stop(agent);
}

void
agent_reap(struct agent *agent)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		agent_reaped(agent, pid, status);
}
