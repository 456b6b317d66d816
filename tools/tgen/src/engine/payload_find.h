/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PAYLOAD_FIND_H
#define TGEN_PAYLOAD_FIND_H

/* The test payload of a frame that does not have it intact at its end, and in one piece. */

#include <rte_mbuf.h>

#include "payload.h"

/* `trial` and `streams` are those that run: what says another one is believed only if intact. */
enum payload_state payload_find(const struct rte_mbuf *buffer, uint8_t trial, uint8_t streams,
	struct payload *payload);

#endif /* TGEN_PAYLOAD_FIND_H */
