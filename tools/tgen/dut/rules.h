/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef DUT_RULES_H
#define DUT_RULES_H

/*
 * Which frame is done what to: in every period of sequence numbers, the frame at a rule's offset.
 * One offset has one rule at most, so what happens to a frame is known from its number alone.
 */

#include <stdint.h>

#define DUT_MAX_RULES 32
#define DUT_MAX_PERIOD (UINT32_C(1) << 20)

enum action {
	ACTION_FORWARD, /* nothing, as a sound switch does */
	ACTION_DROP,
	ACTION_DUPLICATE,
	ACTION_REORDER, /* let `argument` later frames pass first */
	ACTION_CORRUPT, /* flip a bit in the byte that lies `argument` bytes before the end */
	ACTION_MISROUTE, /* send it back where it came from */
	ACTION_FOREIGN, /* forward it, and a frame of somebody else behind it */
	ACTION_KINDS,
};

struct rule {
	enum action action;
	uint32_t offset;
	uint32_t argument;
};

struct rules {
	uint32_t period;
	unsigned int count;
	struct rule rule[DUT_MAX_RULES];
	uint8_t *at; /* by offset: 0, or number of the rule + 1 */
};

/* Read one rule such as "reorder=500:3"; -EINVAL when it is none. */
int rules_add(struct rules *rules, const char *text);
/* Lay out the table; -EINVAL when rules overlap or lie outside the period. */
int rules_prepare(struct rules *rules);
void rules_free(struct rules *rules);
const char *action_name(enum action action);

static inline struct rule
rules_find(const struct rules *rules, uint64_t sequence)
{
	static const struct rule sound = { .action = ACTION_FORWARD };
	uint8_t number = rules->at[sequence % rules->period];

	return number == 0 ? sound : rules->rule[number - 1];
}

#endif /* DUT_RULES_H */
