/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "window.h"

int
window_create(struct window *window, uint64_t size, struct error *error)
{
	memset(window, 0, sizeof(*window));
	if (size < 64 || (size & (size - 1)) != 0)
		return error_set(error, -EINVAL, "bad-value",
			"a sequence window of %" PRIu64 " is no power of two from 64", size);
	/* Written through, so that the first arrivals meet no page faults. */
	window->bits = malloc(size / 8);
	window->late = calloc(WINDOW_LATE_FLOWS, sizeof(*window->late));
	if (window->bits == NULL || window->late == NULL) {
		window_destroy(window);
		return error_set(error, -ENOMEM, "no-memory",
			"no memory for a window of %" PRIu64 " sequence numbers", size);
	}
	memset(window->bits, 0xff, size / 8);
	window->mask = size - 1;
	return 0;
}

void
window_destroy(struct window *window)
{
	free(window->bits);
	free(window->late);
	memset(window, 0, sizeof(*window));
}

void
window_clear(struct window *window)
{
	window->next = 0;
	memset(window->late, 0, WINDOW_LATE_FLOWS * sizeof(*window->late));
}

/* Mark `count` numbers from `first` as missing; at most the whole window. */
static void
forget(struct window *window, uint64_t first, uint64_t count)
{
	uint64_t position = first & window->mask;

	while (count > 0) {
		uint64_t bit = position & 63;
		uint64_t part = count < 64 - bit ? count : 64 - bit;
		uint64_t ones = part == 64 ? UINT64_MAX : (UINT64_C(1) << part) - 1;

		window->bits[position >> 6] &= ~(ones << bit);
		position = (position + part) & window->mask;
		count -= part;
	}
}

enum window_seen
window_see_other(struct window *window, uint64_t sequence)
{
	uint64_t *word = &window->bits[(sequence & window->mask) >> 6];
	uint64_t bit = UINT64_C(1) << (sequence & 63);

	if (sequence >= window->next) {
		uint64_t gap = sequence - window->next;

		forget(window, window->next, gap <= window->mask ? gap : window->mask + 1);
		*word |= bit;
		window->next = sequence + 1;
		return WINDOW_NEW;
	}
	if (window->next - sequence > window->mask + 1)
		return WINDOW_BEYOND;
	if ((*word & bit) != 0)
		return WINDOW_DUPLICATE;
	*word |= bit;
	return WINDOW_LATE;
}

uint64_t
window_size(uint64_t rate_mfps, uint64_t frames, unsigned int streams)
{
	uint64_t rate = rate_mfps != 0 ? rate_mfps : WINDOW_FASTEST_MFPS / streams;
	uint64_t wanted = rate / 1000 * (WINDOW_NS / 1000000) / 1000, size = WINDOW_LEAST;

	if (wanted > frames)
		wanted = frames;
	while (size < wanted && size < WINDOW_MOST)
		size *= 2;
	return size;
}

static bool
has_arrived(const struct window *window, uint64_t sequence)
{
	return (window->bits[(sequence & window->mask) >> 6] >> (sequence & 63) & 1) != 0;
}

uint64_t
window_extent_in_flow(struct window *window, uint64_t sequence, uint32_t flows)
{
	uint64_t extent = window_extent(window, sequence);
	uint64_t number = window->next - 1 - extent % flows; /* the last one that could be the flow's */
	struct window_late unknown = { 0 }, *late = &unknown;

	if (flows == 1)
		return extent;
	/* Of many flows each has few numbers. */
	if (flows <= WINDOW_LATE_FLOWS)
		late = &window->late[sequence % flows];
	if (late->flows != flows)
		*late = (struct window_late){ .flows = flows };
	while (number > sequence && number >= late->looked && !has_arrived(window, number))
		number -= flows;
	if (number > sequence && number >= late->looked)
		late->highest = number;
	else if (late->highest < sequence)
		late->highest = sequence;
	late->looked = window->next;
	return (late->highest - sequence) / flows;
}
