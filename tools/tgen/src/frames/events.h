/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_EVENTS_H
#define TGEN_EVENTS_H

/* The first events of each kind in a trial, in the order in which they ended, and how many more there were. */

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_MOST 32 /* of each kind */

enum event_kind {
	EVENT_GAP, /* a worker did not run */
	EVENT_FULL, /* a port did not take all frames */
	EVENT_HELD, /* frames on their way held others back */
	EVENT_MISSING, /* sequence numbers were left out */
	EVENT_KINDS,
};

struct event {
	uint64_t tsc; /* when it began; of missing frames, when the next one arrived */
	uint64_t cycles; /* how long it was */
	uint64_t departure; /* of missing frames: when the next one left, in 48 bits */
	uint64_t first; /* their first number, */
	uint64_t span; /* how many numbers were left out, */
	uint64_t frames; /* and how many of these have not come since */
	uint8_t worker; /* number of the worker that saw it */
	uint8_t part; /* of all streams; */
	uint8_t stream; /* in these two, when all is put together: which stream it is a part of, */
	uint16_t index; /* and which part of it */
};

struct event_list {
	uint32_t listed;
	uint64_t more;
	struct event event[EVENTS_MOST];
};

struct events {
	struct event_list of[EVENT_KINDS];
};

static inline void
events_note(struct event_list *list, const struct event *event)
{
	if (list->listed < EVENTS_MOST)
		list->event[list->listed++] = *event;
	else
		list->more++;
}

/* A frame that was missing has come after all: a run of which all have come is none. */
void events_fill(struct event_list *list, uint8_t part, uint64_t sequence);

/* Leave out what a part's receivers cannot know: which numbers are missing, when each sees but some. */
void events_forget_part(struct event_list *list, uint8_t part);

/* Add those of another worker; the first of all stay, since `origin`. */
void events_merge(struct event_list *list, const struct event_list *other, uint64_t origin);

#endif /* TGEN_EVENTS_H */
