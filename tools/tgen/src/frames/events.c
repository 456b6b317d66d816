/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include "events.h"

static void
take_out(struct event_list *list, uint32_t index)
{
	list->listed--;
	memmove(&list->event[index], &list->event[index + 1],
		(list->listed - index) * sizeof(list->event[0]));
}

void
events_fill(struct event_list *list, uint8_t part, uint64_t sequence)
{
	uint32_t i;

	for (i = 0; i < list->listed; i++) {
		struct event *event = &list->event[i];

		if (event->part != part || sequence - event->first >= event->span)
			continue;
		if (--event->frames == 0)
			take_out(list, i);
		return;
	}
}

void
events_forget_part(struct event_list *list, uint8_t part)
{
	uint32_t i;

	for (i = list->listed; i > 0; i--)
		if (list->event[i - 1].part == part)
			take_out(list, i - 1);
	list->more = 0; /* whose these were nobody knows */
}

void
events_merge(struct event_list *list, const struct event_list *other, uint64_t origin)
{
	struct event_list merged = { .more = list->more + other->more };
	uint32_t i = 0, j = 0;

	while (i < list->listed || j < other->listed) {
		bool ours = j == other->listed || (i < list->listed && (int64_t)(
			list->event[i].tsc - origin) <= (int64_t)(other->event[j].tsc - origin));

		events_note(&merged, ours ? &list->event[i++] : &other->event[j++]);
	}
	*list = merged;
}
