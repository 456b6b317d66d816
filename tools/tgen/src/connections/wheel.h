/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WHEEL_H
#define TGEN_WHEEL_H

/*
 * Timers of connections: each has one at most, and setting it anew is all that usually happens to it. A
 * timer lies in the list of its tick, modulo the wheel; whoever comes by and is not due yet lies down
 * again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "error.h"

#define WHEEL_SLOTS 8192

struct wheel {
	struct connection *connection; /* of all timers, by their numbers */
	uint32_t tick; /* whose list was looked at last */
	uint32_t head[WHEEL_SLOTS + 1]; /* the last one is of those that are being looked at */
};

/* No timer of these connections is set. */
void wheel_init(struct wheel *wheel, struct connection *connection, uint32_t count);

/* It goes off at a tick, or at the next one if that has gone by. */
void wheel_set(struct wheel *wheel, uint32_t number, uint32_t tick);
void wheel_clear(struct wheel *wheel, uint32_t number);

/* Which one goes off next, by this tick; its timer is no longer set. CONNECTION_NONE: there is none. */
uint32_t wheel_next(struct wheel *wheel, uint32_t tick);

#endif /* TGEN_WHEEL_H */
