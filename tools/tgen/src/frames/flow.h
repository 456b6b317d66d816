/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_FLOW_H
#define TGEN_FLOW_H

/*
 * Flows: which flow the n-th frame belongs to (struct flow_plan, one for a stream), and what that
 * flow writes into a frame's headers (struct flow_edits, one for each frame template of it).
 *
 * Everything is worked out from the flow's number and values prepared beforehand, never from the
 * bytes of the frame before: applying a flow only writes. The fields that vary are left out of the
 * prepared sums, so a checksum is those sums, the words of the new values, and a fold.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "bytes.h"
#include "checksum.h"
#include "error.h"
#include "frame.h"
#include "traffic.h"
#include "tunnel.h"
#include "wide.h"

/* The whole part of value / divisor, or one less: high half of value * (2^64 - 1) / divisor. */
static inline uint64_t
flow_about(uint64_t value, uint64_t reciprocal)
{
	return (uint64_t)(((uint128_t)value * reciprocal) >> 64);
}

struct flow_plan {
	uint32_t count;
	enum flow_plan_kind { PLAN_ONE, PLAN_PLAIN, PLAN_SHUFFLED } kind;
	uint64_t reciprocal; /* of count */
	uint32_t mask; /* the least 2^k - 1 that holds every flow number */
	uint8_t shift; /* half of k, from 1 */
	bool walks; /* often past the count */
	uint32_t factor[2]; /* odd: multiplying modulo 2^k loses nothing */
	uint32_t addend;
};

struct flow_edit {
	uint16_t offset;
	uint8_t width; /* bytes: 2, 4, 6 or 8 */
	uint32_t count;
	uint64_t reciprocal; /* of count */
	uint64_t first, step; /* value and its steps, in their places within the bytes written */
	uint64_t ip_mask, layer4_mask; /* all ones if the checksum covers the field */
};

struct flow_edits {
	uint8_t edits;
	uint16_t ip_checksum; /* offset, or FRAME_ABSENT when nothing that it covers varies */
	uint16_t layer4_checksum; /* likewise */
	uint16_t zero; /* what a layer 4 checksum of 0 becomes */
	uint64_t ip_sum, layer4_sum; /* of everything that does not vary */
	struct flow_edit edit[TGEN_MAX_VARIATIONS];
	struct tunnel tunnel;
};

/* Check the flows of a stream against its headers; the errors name the variation. */
int flow_check(const struct flows *flows, const struct headers *headers, struct error *error);

/* Of flows that have been checked. */
void flow_plan_init(struct flow_plan *plan, const struct flows *flows);
void flow_edits_init(struct flow_edits *edits, const struct flows *flows,
	const struct headers *headers, const struct frame *frame);

/* A full-period permutation of 0 .. mask: each of its steps can be undone. */
static inline uint32_t
flow_mix(const struct flow_plan *plan, uint32_t value)
{
	value = (value * plan->factor[0] + plan->addend) & plan->mask;
	value ^= value >> plan->shift;
	value = (value * plan->factor[1]) & plan->mask;
	value ^= value >> plan->shift;
	return value;
}

/* The flow of frame n of a stream, n from 0. */
static inline uint32_t
flow_number(const struct flow_plan *plan, uint64_t n)
{
	uint32_t value;

	if (plan->kind == PLAN_ONE)
		return 0;
	n -= flow_about(n, plan->reciprocal) * plan->count;
	value = (uint32_t)(n < plan->count ? n : n - plan->count);
	if (plan->kind == PLAN_PLAIN)
		return value;
	/* Walk the cycle past the numbers between count and mask, of which there are fewer. */
	value = flow_mix(plan, value);
	if (plan->walks) {
		/* Two steps ahead, chosen by masks: a branch here would often be guessed wrong. */
		uint32_t second = flow_mix(plan, value), third = flow_mix(plan, second);

		second ^= (second ^ third) & -(uint32_t)(second >= plan->count);
		value ^= (value ^ second) & -(uint32_t)(value >= plan->count);
	}
	while (unlikely(value >= plan->count))
		value = flow_mix(plan, value);
	return value;
}

static inline void
flow_write(uint8_t *where, unsigned int width, uint64_t value)
{
	switch (width) {
	case 2:
		bytes_put_16(where, (uint16_t)value);
		break;
	case 4:
		bytes_put_32(where, (uint32_t)value);
		break;
	case 6:
		bytes_put_32(where, (uint32_t)(value >> 16));
		bytes_put_16(where + 4, (uint16_t)value);
		break;
	default:
		bytes_put_64(where, value);
		break;
	}
}

/* Make a copy of the template's headers those of a flow. */
static inline void
flow_apply(const struct flow_edits *edits, uint8_t *bytes, uint32_t flow)
{
	uint64_t ip_sum = edits->ip_sum, layer4_sum = edits->layer4_sum;
	unsigned int i;

	for (i = 0; i < edits->edits; i++) {
		const struct flow_edit *edit = &edits->edit[i];
		uint32_t digit = flow;
		uint64_t value, words;

		/* The last digit is what is left. */
		if (i + 1u < edits->edits) {
			flow = (uint32_t)flow_about(flow, edit->reciprocal);
			digit -= flow * edit->count;
		}
		value = edit->first + digit * edit->step;
		flow_write(bytes + edit->offset, edit->width, value);
		words = checksum_words(value);
		ip_sum += words & edit->ip_mask;
		layer4_sum += words & edit->layer4_mask;
	}
	if (edits->ip_checksum != FRAME_ABSENT)
		bytes_put_16(bytes + edits->ip_checksum, checksum_finish(ip_sum));
	if (edits->layer4_checksum != FRAME_ABSENT) {
		uint16_t checksum = checksum_finish(layer4_sum);

		bytes_put_16(bytes + edits->layer4_checksum,
			checksum != 0 ? checksum : edits->zero);
	}
	if (edits->tunnel.outer_udp != FRAME_ABSENT)
		tunnel_write(&edits->tunnel, bytes);
}

#endif /* TGEN_FLOW_H */
