/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRANSMIT_STEPS_H
#define TGEN_TRANSMIT_STEPS_H

/* From one step of a trial to the next. None of it is called for a frame that is not the first of one. */

#include "worker.h"

/* How late frames of a step may leave, in the time of the next: what a short stall held up, and as long
 * again to catch up with it [10 us].
 */
#define STEP_GRACE_TIMES 20

/* Forget frames that are built and that no port took. */
void steps_drop_held(struct sender *sender);

/* The first frame of a step leaves; in a trial without steps, that of a burst or of all. */
void steps_note_first(struct sender *sender, uint64_t departure);
/* The step under way is complete, or over: what is left of it is given up. */
void steps_next(struct sender *sender);
/* Sending is over: what is left of its last step is known. */
void steps_end(struct sender *sender);

/* A worker begins with the first. */
void steps_begin(struct worker *worker);
/* The time of its step is over; false when that was the last one. */
bool steps_go_on(struct worker *worker);

#endif /* TGEN_TRANSMIT_STEPS_H */
