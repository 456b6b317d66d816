/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_COLLECT_SENDERS_H
#define TGEN_COLLECT_SENDERS_H

/* What one part of a stream sent, and when the last of its frames left that are lost. */

#include "engine_private.h"

void collect_clear_sender(struct engine *engine, struct sender *sender,
	const struct trial_request *request);
void collect_sender(struct engine *engine, const struct sender *sender);
void collect_last_loss(struct engine *engine, unsigned int index);

#endif /* TGEN_COLLECT_SENDERS_H */
