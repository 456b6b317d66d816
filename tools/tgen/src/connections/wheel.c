/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "wheel.h"

#define SEEN WHEEL_SLOTS /* the list of those that are being looked at */
#define HEAD UINT32_C(0x80000000) /* in place of a connection before it: the first of a list */
#define UNSET UINT32_MAX /* its timer is in none */

static void
link_in(struct wheel *wheel, uint32_t number, uint32_t slot)
{
	struct connection *connection = &wheel->connection[number];
	uint32_t first = wheel->head[slot];

	connection->timer.next = first;
	connection->timer.previous = HEAD | slot;
	if (first != CONNECTION_NONE)
		wheel->connection[first].timer.previous = number;
	wheel->head[slot] = number;
}

static void
link_out(struct wheel *wheel, uint32_t number)
{
	struct connection *connection = &wheel->connection[number];
	uint32_t previous = connection->timer.previous, next = connection->timer.next;

	if ((previous & HEAD) != 0)
		wheel->head[previous & ~HEAD] = next;
	else
		wheel->connection[previous].timer.next = next;
	if (next != CONNECTION_NONE)
		wheel->connection[next].timer.previous = previous;
	connection->timer.previous = UNSET;
}

void
wheel_init(struct wheel *wheel, struct connection *connection, uint32_t count)
{
	uint32_t i;

	wheel->connection = connection;
	wheel->tick = 0;
	for (i = 0; i <= SEEN; i++)
		wheel->head[i] = CONNECTION_NONE;
	for (i = 0; i < count; i++)
		connection[i].timer.previous = UNSET;
}

void
wheel_set(struct wheel *wheel, uint32_t number, uint32_t tick)
{
	struct connection *connection = &wheel->connection[number];

	wheel_clear(wheel, number);
	if ((int32_t)(tick - wheel->tick) <= 0)
		tick = wheel->tick + 1;
	connection->timer.due = tick;
	link_in(wheel, number, tick % WHEEL_SLOTS);
}

void
wheel_clear(struct wheel *wheel, uint32_t number)
{
	if (wheel->connection[number].timer.previous != UNSET)
		link_out(wheel, number);
}

/* The list of the next tick is the one to look at. */
static void
turn(struct wheel *wheel)
{
	uint32_t slot = ++wheel->tick % WHEEL_SLOTS, first = wheel->head[slot];

	wheel->head[slot] = CONNECTION_NONE;
	wheel->head[SEEN] = first;
	if (first != CONNECTION_NONE)
		wheel->connection[first].timer.previous = HEAD | SEEN;
}

uint32_t
wheel_next(struct wheel *wheel, uint32_t tick)
{
	for (;;) {
		uint32_t number = wheel->head[SEEN];

		if (number == CONNECTION_NONE) {
			if ((int32_t)(tick - wheel->tick) <= 0)
				return CONNECTION_NONE;
			turn(wheel);
			continue;
		}
		link_out(wheel, number);
		if ((int32_t)(wheel->connection[number].timer.due - wheel->tick) <= 0)
			return number;
		link_in(wheel, number, wheel->connection[number].timer.due % WHEEL_SLOTS);
	}
}
