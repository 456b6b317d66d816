/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RECEIVE_H
#define TGEN_RECEIVE_H

/* Take frames off a queue, and count what they say. */

#include "worker.h"

/* Take a burst off the queue and start to fetch it; its frames are then checked, and freed. */
bool receive_poll(struct worker *worker, struct receiver *receiver);
/* Returns whether any of them was of this trial. */
bool receive_check(struct worker *worker, struct receiver *receiver);
/* Of a queue that is not polled any more: count what it was behind at last. */
void receive_end(struct receiver *receiver);
void receive_discard(struct receiver *receiver);

#endif /* TGEN_RECEIVE_H */
