/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Captures asked for: armed for the next trial, written at its end. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captures.h"
#include "engine_private.h"

static void
forget(struct capture_request *request)
{
	capture_destroy(request->sent);
	capture_destroy(request->received);
	if (request->path != NULL && request->file >= 0)
		close(request->file);
	free(request->path);
	memset(request, 0, sizeof(*request));
}

void
captures_forget(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->ports; i++)
		forget(&engine->capture[i]);
}

void
captures_attach(struct engine *engine)
{
	unsigned int i, port;

	for (i = 0; i < engine->receivers; i++) {
		struct receiver *receiver = &engine->receiver[i];

		receiver->capture = NULL;
		for (port = 0; port < engine->ports; port++)
			if (port == receiver->port && receiver->queue == 0)
				receiver->capture = engine->capture[port].received;
		receiver_tell_copies(receiver);
	}
	for (i = 0; i < engine->senders; i++) {
		struct sender *sender = &engine->sender[i];

		port = engine->traffic.stream[sender->part.stream].transmit_port;
		sender->capture = sender->queue == 0 ? engine->capture[port].sent : NULL;
	}
}

void
captures_finish(struct engine *engine)
{
	const struct capture_clock clock = {
		.tsc = engine->result.started_tsc,
		.tsc_hz = engine->result.tsc_hz,
		.unix_ns = engine->result.started_unix_ns,
	};
	struct error *failure = &engine->result.capture_failure, ignored;
	unsigned int i;

	for (i = 0; i < engine->ports; i++) {
		struct capture_request *request = &engine->capture[i];

		if (request->path == NULL)
			continue;
		/* One reason is enough. */
		capture_write(request->file, request->path, request->sent, request->received,
			&clock, failure->code == NULL ? failure : &ignored);
		request->file = -1;
	}
	captures_forget(engine);
}

int
engine_capture(struct engine *engine, uint16_t port, const char *path, uint32_t frames,
	struct error *error)
{
	struct capture_request *request;
	int file;

	if (engine->state == ENGINE_RUNNING)
		return error_set(error, -EBUSY, "busy", "a trial is running");
	if (port >= engine->ports)
		return error_set(error, -EINVAL, "bad-value", "port %u; there are %u ports", port,
			engine->ports);
	if (frames == 0 || frames > TGEN_MAX_CAPTURE)
		return error_set(error, -EINVAL, "bad-value", "%u frames; a capture has 1 to %u",
			frames, TGEN_MAX_CAPTURE);
	/* Refuse now what could not be written after the trial. */
	file = capture_open(path, error);
	if (file < 0)
		return file;
	request = &engine->capture[port];
	forget(request);
	request->sent = capture_create(frames, error);
	request->received = request->sent != NULL ? capture_create(frames, error) : NULL;
	request->path = strdup(path);
	request->file = file;
	if (request->path == NULL) {
		close(file);
		error_set(error, -ENOMEM, "no-memory", "no memory for the name of a file");
	}
	if (request->sent == NULL || request->received == NULL || request->path == NULL) {
		forget(request);
		return -ENOMEM;
	}
	return 0;
}
