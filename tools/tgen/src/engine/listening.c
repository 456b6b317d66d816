/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What those who take frames off a port need to know of who listens to it. */

#include "engine_private.h"
#include "listen.h"

void
listening_add(struct listening *listening, struct rte_mbuf *const *buffer, unsigned int count,
	uint64_t tsc)
{
	uint8_t copy[TGEN_MAX_FRAME];
	unsigned int i;

	if (!listening_is_on(listening))
		return;
	rte_spinlock_lock(&listening->lock);
	for (i = 0; i < count && listening->tape != NULL; i++) {
		uint32_t length = buffer[i]->pkt_len;
		const uint8_t *bytes = rte_pktmbuf_read(buffer[i], 0,
			RTE_MIN(length, (uint32_t)sizeof(copy)), copy);

		if (bytes != NULL)
			tape_add(listening->tape, tsc, bytes, length);
	}
	rte_spinlock_unlock(&listening->lock);
}

void
listening_copy(struct receiver *receiver)
{
	if (receiver->capture != NULL) {
		capture_offer(receiver->capture, receiver->buffer, receiver->count, receiver->tsc);
		capture_commit(receiver->capture, receiver->count);
	}
	listening_add(receiver->listening, receiver->buffer, receiver->count, receiver->tsc);
}

bool
engine_listens(const struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->ports; i++)
		if (engine->listening[i].path != NULL)
			return true;
	return false;
}
