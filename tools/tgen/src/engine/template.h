/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TEMPLATE_H
#define TGEN_TEMPLATE_H

/* The bytes of one size of a stream, as senders copy them and receivers compare them. */

#include <stdint.h>
#include <rte_memory.h>

#include "flow.h"
#include "frame.h"
#include "traffic.h"

#define TEMPLATE_COPY 64 /* headers are copied in such pieces */
#define TEMPLATE_HEADERS ((TGEN_MAX_HEADER + TEMPLATE_COPY - 1) / TEMPLATE_COPY * TEMPLATE_COPY)

struct template {
	uint16_t length; /* in memory */
	uint16_t payload; /* offset */
	uint16_t copy; /* headers, rounded up */
	uint16_t header; /* headers, exactly: fill bytes begin there */
	struct flow_edits edits;
	const struct frame *frame;
	uint8_t headers[TEMPLATE_HEADERS] __rte_cache_aligned;
};

#endif /* TGEN_TEMPLATE_H */
