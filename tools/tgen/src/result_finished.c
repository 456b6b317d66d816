/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What is answered when an activity is over. */

#include "result.h"

json_t *
result_finished(const struct session *session, struct problem *problem)
{
	switch (session->pending.activity) {
	case ACTIVITY_TRIAL:
		return result_trial(session);
	case ACTIVITY_PROBE:
		return result_probe(session);
	case ACTIVITY_STALLS:
		return result_stalls(session);
	case ACTIVITY_TURNS:
		return result_turns(session);
	default:
		return result_learn(session, problem);
	}
}
