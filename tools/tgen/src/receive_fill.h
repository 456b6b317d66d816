/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RECEIVE_FILL_H
#define TGEN_RECEIVE_FILL_H

/* The bytes of a frame between its headers and its payload. */

#include "worker.h"

static inline const struct template *
template_of(const struct watch *watch, uint64_t sequence)
{
	return watch->pattern[watch->sizes == 1 ? 0 : sequence % watch->sizes];
}

/* All of them are as they were sent. */
bool fill_intact(const struct watch *watch, const struct rte_mbuf *buffer, uint64_t sequence);

#endif /* TGEN_RECEIVE_FILL_H */
