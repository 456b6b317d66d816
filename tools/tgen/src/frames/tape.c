/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tape.h"

struct tape *
tape_create(const struct tape_room *room, struct error *error)
{
	struct tape *tape = calloc(1, sizeof(*tape));

	if (tape != NULL) {
		size_t frames = room->frames * sizeof(*tape->frame);

		tape->room = *room;
		if (tape->room.bytes < room->longest)
			tape->room.bytes = room->longest;
		tape->frame = malloc(frames);
		tape->byte = malloc(tape->room.bytes);
		if (tape->frame != NULL && tape->byte != NULL) {
			/* Touch every page now: who adds to it must not. */
			memset(tape->frame, 0, frames);
			memset(tape->byte, 0, tape->room.bytes);
			return tape;
		}
	}
	tape_destroy(tape);
	error_set(error, -ENOMEM, "no-memory", "no memory for %u frames of %u bytes together",
		room->frames, room->bytes);
	return NULL;
}

void
tape_destroy(struct tape *tape)
{
	if (tape == NULL)
		return;
	free(tape->frame);
	free(tape->byte);
	free(tape);
}

static bool
has_room(const struct tape *tape, uint32_t bytes)
{
	return tape->count < tape->room.frames && bytes <= tape->room.bytes - tape->used;
}

static void
forget_first(struct tape *tape)
{
	uint32_t kept = tape->frame[tape->first].kept;

	tape->first = (tape->first + 1) % tape->room.frames;
	tape->count--;
	tape->begin = (tape->begin + kept) % tape->room.bytes;
	tape->used -= kept;
}

/* Both parts of what lies around the end of the circle; returns where it begins. */
static uint32_t
put(struct tape *tape, const uint8_t *bytes, uint32_t count)
{
	uint32_t at = (uint32_t)(((uint64_t)tape->begin + tape->used) % tape->room.bytes);
	uint32_t part = count < tape->room.bytes - at ? count : tape->room.bytes - at;

	memcpy(tape->byte + at, bytes, part);
	memcpy(tape->byte, bytes + part, count - part);
	tape->used += count;
	return at;
}

void
tape_add(struct tape *tape, uint64_t tsc, const uint8_t *bytes, uint32_t length)
{
	uint32_t kept = length < tape->room.longest ? length : tape->room.longest;
	/* Once the first frames are on it, none of the later ones follows, however short. */
	bool whole = tape->heard == tape->count;

	tape->heard++;
	if (!tape->room.last && !(whole && has_room(tape, kept)))
		return;
	while (!has_room(tape, kept))
		forget_first(tape);
	tape->frame[(tape->first + tape->count) % tape->room.frames] = (struct taped){
		.tsc = tsc, .length = length, .kept = kept, .at = put(tape, bytes, kept),
	};
	tape->count++;
}

const struct taped *
tape_frame(const struct tape *tape, uint32_t number, uint8_t *bytes)
{
	const struct taped *frame = &tape->frame[(tape->first + number) % tape->room.frames];
	uint32_t part = tape->room.bytes - frame->at;

	if (part > frame->kept)
		part = frame->kept;
	memcpy(bytes, tape->byte + frame->at, part);
	memcpy(bytes + part, tape->byte, frame->kept - part);
	return frame;
}
