/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The control port: lines in, lines out, never waiting for the host. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>

#include "text.h"

#define CONTROL_LINE 16384

struct control {
	int fd;
	char incoming[CONTROL_LINE];
	size_t length; /* of incoming */
	bool too_long; /* the rest of a line that does not fit is passed over */
	char waiting[4 * CONTROL_LINE];
	struct text outgoing;
};

bool control_open(struct control *control);

/* Takes what came, and calls `line` for each whole one; the text is its own until it returns. */
void control_read(struct control *control, void (*line)(void *context, char *text),
	void *context);

/* Adds a newline. A host that never reads loses what does not fit any more. */
void control_send(struct control *control, const struct text *line);

void control_flush(struct control *control);

/* Gives the host a moment to take the rest: one that does not read loses it. */
void control_finish(struct control *control);

#endif
