/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_SAMPLES_H
#define TGEN_TESTS_SAMPLES_H

/* Headers to start from, and sums that a correct frame brings to 0xffff. */

#include <errno.h>

#include "bytes.h"
#include "checksum.h"
#include "frame.h"

static inline struct headers
sample_headers(void)
{
	struct headers headers = {
		.source_mac = { 0x02, 0, 0, 0, 0, 0x01 },
		.destination_mac = { 0x02, 0, 0, 0, 0, 0x02 },
		.source_ip = { 198, 18, 0, 1 },
		.destination_ip = { 198, 19, 0, 1 },
		.ttl = 64,
		.source_port = 1024,
		.destination_port = 2048,
		.outer = {
			.source_mac = { 0x02, 0, 0, 0, 1, 0x01 },
			.destination_mac = { 0x02, 0, 0, 0, 1, 0x02 },
			.source_ip = { 198, 18, 1, 1 },
			.destination_ip = { 198, 19, 1, 1 },
		},
	};

	return headers;
}

/* A tunnel with all that its kind can have. */
static inline void
sample_outer(struct headers *headers, enum encapsulation kind, enum layer3 layer3, uint32_t id)
{
	headers->outer.kind = kind;
	headers->outer.carries_ip = kind == ENCAPSULATION_GTPU;
	headers->outer.has_id = true;
	headers->outer.id = id;
	headers->outer.layer3 = layer3;
}

static inline struct flows
sample_flows(enum field field, uint32_t count, uint32_t step)
{
	struct flows flows = {
		.count = count,
		.variations = 1,
		.variation = { { field, count, step } },
	};

	return flows;
}

static inline void
sample_vary(struct flows *flows, enum field field, uint32_t count, uint32_t step)
{
	struct variation variation = { field, count, step };

	flows->variation[flows->variations++] = variation;
	flows->count *= count;
}

static inline bool
sample_is_ipv4(const struct frame *frame)
{
	return frame->bytes[frame->ip] >> 4 == 4;
}

static inline uint16_t
sample_ip_sum(const struct frame *frame)
{
	return checksum_fold(checksum_add(0, frame->bytes + frame->ip, 20));
}

static inline uint16_t
sample_layer4_sum(const struct frame *frame)
{
	const uint8_t *ip = frame->bytes + frame->ip;
	uint16_t length = (uint16_t)(frame->length - frame->layer4);
	bool is_ipv4 = sample_is_ipv4(frame);
	uint64_t sum = (uint64_t)length + ip[is_ipv4 ? 9 : 6];

	sum = checksum_add(sum, ip + (is_ipv4 ? 12 : 8), is_ipv4 ? 8 : 32);
	return checksum_fold(checksum_add(sum, frame->bytes + frame->layer4, length));
}

#endif /* TGEN_TESTS_SAMPLES_H */
