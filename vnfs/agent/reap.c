/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The end of what forwards: on demand, or by itself. */
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

void
agent_reaped(struct agent *agent, pid_t pid, int status)
{
	struct application *application = &agent->application;

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
