/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

/* How many frames a reorder lets pass at most, and how far from the end a bit is flipped. */
#define MAX_DISTANCE 64
#define MAX_FLIP 9000

static const char *const names[ACTION_KINDS] = {
	[ACTION_FORWARD] = "forward",
	[ACTION_DROP] = "drop",
	[ACTION_DUPLICATE] = "duplicate",
	[ACTION_REORDER] = "reorder",
	[ACTION_CORRUPT] = "corrupt",
	[ACTION_MISROUTE] = "misroute",
	[ACTION_FOREIGN] = "foreign",
};

const char *
action_name(enum action action)
{
	return names[action];
}

static uint32_t
longest_argument(enum action action)
{
	switch (action) {
	case ACTION_REORDER:
		return MAX_DISTANCE;
	case ACTION_CORRUPT:
		return MAX_FLIP;
	default:
		return 0;
	}
}

int
rules_add(struct rules *rules, const char *text)
{
	struct rule rule = { 0 };
	char name[16], rest;
	unsigned int action;
	int found;

	if (rules->count == DUT_MAX_RULES)
		return -EINVAL;
	found = sscanf(text, "%15[a-z]=%u:%u%c", name, &rule.offset, &rule.argument, &rest);
	if (found != 2 && found != 3)
		return -EINVAL;
	for (action = ACTION_DROP; action < ACTION_KINDS; action++)
		if (strcmp(name, names[action]) == 0)
			break;
	if (action == ACTION_KINDS)
		return -EINVAL;
	rule.action = (enum action)action;
	if (rule.argument > longest_argument(rule.action) ||
			(longest_argument(rule.action) != 0 && rule.argument == 0))
		return -EINVAL;
	rules->rule[rules->count++] = rule;
	return 0;
}

/* A frame that is held back must find sound frames to let pass, in its own period. */
static int
has_room(const struct rules *rules, const struct rule *rule)
{
	uint32_t n;

	for (n = 1; n <= rule->argument; n++)
		if (rule->offset + n >= rules->period || rules->at[rule->offset + n] != 0)
			return 0;
	return 1;
}

int
rules_prepare(struct rules *rules)
{
	unsigned int n;

	if (rules->period == 0 || rules->period > DUT_MAX_PERIOD)
		return -EINVAL;
	rules->at = calloc(rules->period, sizeof(*rules->at));
	if (rules->at == NULL)
		return -ENOMEM;
	for (n = 0; n < rules->count; n++) {
		uint32_t offset = rules->rule[n].offset;

		if (offset >= rules->period || rules->at[offset] != 0)
			return -EINVAL;
		rules->at[offset] = (uint8_t)(n + 1);
	}
	for (n = 0; n < rules->count; n++)
		if (rules->rule[n].action == ACTION_REORDER && !has_room(rules, &rules->rule[n]))
			return -EINVAL;
	return 0;
}

void
rules_free(struct rules *rules)
{
	free(rules->at);
	rules->at = NULL;
}
