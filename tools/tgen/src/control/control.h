/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONTROL_H
#define TGEN_CONTROL_H

/*
 * Where a controller comes in: a Unix socket, or standard input and output. One at a time; when it
 * goes, whatever runs is stopped.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "session.h"

#define CONTROL_CHUNK 65536

/* Bytes that wait for the controller to take them. */
struct outgoing {
	char *bytes;
	size_t begin, end, room;
};

enum control_end {
	CONTROL_QUIT, /* the controller asked for it, or left when nothing ran */
	CONTROL_LOST, /* it left in mid-trial */
	CONTROL_NOBODY, /* none came in time */
	CONTROL_SIGNAL,
};

struct control {
	int listener; /* -1 with standard input */
	int input, output; /* of the controller; -1 as long as there is none */
	bool heard; /* it has said something */
	char path[108]; /* of the socket */
	dev_t device; /* which file the socket is: */
	ino_t inode; /* only that one is removed */
	struct outgoing outgoing;
	struct session *session;
	uint64_t published_ns;
	const char *published_activity;
};

/* Listen at once, so that a controller may connect while ports are still being set up. */
int control_listen(struct control *control, const char *path, struct error *error);
/* Speak on standard input and output. From then on, what others print goes to standard error. */
int control_stdin(struct control *control, struct error *error);

/*
 * Serve until the end. `signals` becomes readable when the process shall end. A session without
 * any controller lasts `patience_ms`; negative: forever.
 */
enum control_end control_run(struct control *control, struct engine *engine,
	const struct process_facts *facts, int signals, int patience_ms);
void control_close(struct control *control);

#endif /* TGEN_CONTROL_H */
