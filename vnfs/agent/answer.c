/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Lines to the host: answers and events, begun and sent. */
#include "agent.h"

void
answer_begin(struct agent *agent)
{
	text_init(&agent->answer, agent->answer_bytes, sizeof(agent->answer_bytes));
	text_add(&agent->answer, "{", 1);
	agent->has_request = false;
}

void
answer_send(struct agent *agent)
{
	text_add(&agent->answer, "}", 1);
	if (agent->answer.overflown) {
		/* Half an answer is none that a host could read. */
		text_init(&agent->answer, agent->answer_bytes, sizeof(agent->answer_bytes));
		if (agent->has_request)
			text_format(&agent->answer, "{\"id\":%lld,", (long long)agent->answered);
		else
			text_format(&agent->answer, "{\"id\":null,");
		text_format(&agent->answer, "\"error\":\"the answer is too long for a line\"}");
	}
	control_send(&agent->control, &agent->answer);
}
