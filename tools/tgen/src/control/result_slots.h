/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RESULT_SLOTS_H
#define TGEN_RESULT_SLOTS_H

/* Slots of time and events of a trial as JSON. */

#include "session.h"

/* Nothing where the trial has none. */
void result_set_slots(json_t *json, const struct trial_result *trial);

#endif /* TGEN_RESULT_SLOTS_H */
