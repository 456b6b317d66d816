/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slots.h"
#include "wide.h"

/* A microsecond or less tells nothing apart, and is no power of two that could be nearest. */
#define SHIFT_LEAST 10
#define SHIFT_MOST 46

void
slot_grid_init(struct slot_grid *grid, uint64_t cycles, uint64_t length, bool is_sure)
{
	uint8_t shift = SHIFT_LEAST;

	/* 2^shift is left for the next power when that is nearer: from 1.5 times itself on. */
	while (shift < SHIFT_MOST && cycles >= UINT64_C(3) << (shift - 1))
		shift++;
	while (shift < SHIFT_MOST && length >> shift >= SLOTS_MOST)
		shift++;
	*grid = (struct slot_grid){
		.count = is_sure && length >> shift < SLOTS_MOST ?
			(uint32_t)(length >> shift) + 1 : SLOTS_MOST,
		.shift = shift,
	};
}

void
slots_spread(const struct slot_grid *grid, uint64_t *slot, uint64_t from, uint64_t to)
{
	uint64_t begin, end, index, last = grid->count - 1;

	if ((int64_t)(to - grid->origin) <= 0 || (int64_t)(to - from) <= 0)
		return;
	begin = (int64_t)(from - grid->origin) > 0 ? from - grid->origin : 0;
	end = to - grid->origin;
	for (index = begin >> grid->shift; index < last && end >> grid->shift > index; index++) {
		uint64_t next = (index + 1) << grid->shift;

		slot[index] += next - begin;
		begin = next;
	}
	slot[index < last ? index : last] += end - begin;
}

void
slots_add_refused(uint64_t *refused, const uint64_t *full, uint32_t from, uint32_t to,
	uint64_t distance)
{
	uint64_t sum = 0, before = 0, now;
	uint32_t i;

	if (distance == 0)
		return;
	for (i = from; i < to; i++) {
		sum += full[i];
		now = (uint64_t)(((uint128_t)sum << 16) / distance);
		refused[i] += now - before;
		before = now;
	}
}

int
slots_create(struct slots *slots, const struct slot_grid *grid, uint8_t streams,
	struct error *error)
{
	size_t lanes = (size_t)streams * SLOT_LANES + 2, count = grid->count;
	uint64_t *lane = calloc(lanes * count, sizeof(*lane));
	unsigned int i, kind;

	memset(slots, 0, sizeof(*slots));
	if (lane == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %zu slots of time", count);
	slots->grid = *grid;
	slots->streams = streams;
	slots->away = lane; /* the first: by it all are freed */
	slots->silent = lane += count;
	for (i = 0; i < streams; i++)
		for (kind = 0; kind < SLOT_LANES; kind++)
			slots->stream[i][kind] = lane += count;
	return 0;
}

void
slots_destroy(struct slots *slots)
{
	free(slots->away);
	memset(slots, 0, sizeof(*slots));
}

void
slots_end(struct slots *slots, uint64_t ended_tsc)
{
	slots->used = slot_of(&slots->grid, ended_tsc) + 1;
	slots->shown = slots->used < slots->grid.count ? slots->used + 1 : slots->used;
}

/* Somebody stood still, a port was full, or frames were lost. */
static bool
has_happened(const struct slots *slots, uint32_t index)
{
	bool found = slots->away[index] != 0 || slots->silent[index] != 0;
	unsigned int i;

	for (i = 0; i < slots->streams; i++) {
		uint64_t *const *lane = slots->stream[i];

		found |= lane[SLOT_SENT][index] != lane[SLOT_RECEIVED][index] ||
			lane[SLOT_REFUSED][index] != 0 || lane[SLOT_HELD][index] != 0;
	}
	return found;
}

bool
slots_is_noted(const struct slots *slots, uint32_t index)
{
	return has_happened(slots, index) || (index > 0 && has_happened(slots, index - 1)) ||
		(index + 1 < slots->shown && has_happened(slots, index + 1));
}

uint64_t
slots_sum(const struct slots *slots, const uint64_t *lane)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < slots->shown; i++)
		sum += lane[i];
	return sum;
}
