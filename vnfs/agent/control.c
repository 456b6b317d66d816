/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "files.h"
#include "port.h"

#define PORT "vsperf.control"
#define FINISH_MS 200
#define HAND_ON_MS 10

bool
control_open(struct control *control)
{
	control->length = 0;
	control->too_long = false;
	text_init(&control->outgoing, control->waiting, sizeof(control->waiting));
	control->fd = port_open(PORT);
	return control->fd >= 0;
}

static void
split(struct control *control, void (*line)(void *context, char *text), void *context)
{
	char *start = control->incoming;
	char *end = start + control->length;
	char *newline;

	while ((newline = memchr(start, '\n', (size_t)(end - start))) != NULL) {
		*newline = '\0';
		/* A text with a zero in it would be read in part. */
		if (!control->too_long && newline > start)
			line(context, strlen(start) == (size_t)(newline - start) ? start : NULL);
		else if (control->too_long)
			line(context, NULL);
		control->too_long = false;
		start = newline + 1;
	}
	control->length = (size_t)(end - start);
	memmove(control->incoming, start, control->length);
	if (control->length == sizeof(control->incoming)) {
		control->too_long = true;
		control->length = 0;
	}
}

void
control_read(struct control *control, void (*line)(void *context, char *text), void *context)
{
	ssize_t got;

	while ((got = read(control->fd, control->incoming + control->length,
			sizeof(control->incoming) - control->length)) > 0) {
		control->length += (size_t)got;
		split(control, line, context);
	}
	if (got == 0) {
		/* The host hung up: half a line has no other half. */
		control->length = 0;
		control->too_long = false;
	}
}

void
control_flush(struct control *control)
{
	struct text *outgoing = &control->outgoing;

	while (outgoing->length > 0) {
		ssize_t sent = write(control->fd, outgoing->bytes, outgoing->length);

		if (sent <= 0)
			return;
		outgoing->length -= (size_t)sent;
		memmove(outgoing->bytes, outgoing->bytes + sent, outgoing->length);
	}
}

void
control_send(struct control *control, const struct text *line)
{
	struct text *outgoing = &control->outgoing;

	if (outgoing->room - outgoing->length > line->length + 2) {
		text_add(outgoing, line->bytes, line->length);
		text_add(outgoing, "\n", 1);
	}
	control_flush(control);
}

void
control_finish(struct control *control)
{
	struct pollfd room = {.fd = control->fd, .events = POLLOUT};
	int64_t deadline = now_ms() + FINISH_MS;

	control_flush(control);
	while (control->outgoing.length > 0 && now_ms() < deadline) {
		/* Without a host the port is ready at once, for nothing. */
		if (poll(&room, 1, (int)(deadline - now_ms())) != 1 || (room.revents & POLLOUT) == 0)
			break;
		control_flush(control);
	}
	/* What the port took is the machine's to hand on, which it does soon. */
	wait_ms(HAND_ON_MS);
}
