/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_VERBS_STEPS_H
#define TGEN_VERBS_STEPS_H

#include "session.h"

/* The steps of a trial, in place of rate, frames and duration; false when there are none. */
bool steps_read(struct session *session, struct object *request, struct trial_request *trial);

#endif /* TGEN_VERBS_STEPS_H */
