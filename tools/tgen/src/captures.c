/* SPDX-License-Identifier: Apache-2.0 */

/* Captures asked for: armed for the next trial, written at its end. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"

static void
forget(struct capture_request *request)
{
	capture_destroy(request->sent);
	capture_destroy(request->received);
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

int
captures_finish(struct engine *engine, struct error *error)
{
	const struct capture_clock clock = {
		.tsc = engine->result.started_tsc,
		.tsc_hz = engine->result.tsc_hz,
		.unix_ns = engine->result.started_unix_ns,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < engine->ports; i++) {
		const struct capture_request *request = &engine->capture[i];

		if (request->path != NULL && ret == 0)
			ret = capture_write(request->path, request->sent, request->received,
				&clock, error);
	}
	captures_forget(engine);
	return ret;
}

int
engine_capture(struct engine *engine, uint16_t port, const char *path, uint32_t frames,
	struct error *error)
{
	struct capture_request *request;
	FILE *file;

	if (engine->state == ENGINE_RUNNING)
		return error_set(error, -EBUSY, "busy", "a trial is running");
	if (port >= engine->ports)
		return error_set(error, -EINVAL, "bad-value", "port %u; there are %u ports", port,
			engine->ports);
	/* Refuse now what could not be written after the trial. */
	file = fopen(path, "wbe");
	if (file == NULL)
		return error_set(error, -errno, "file", "%s cannot be written: %s", path,
			strerror(errno));
	fclose(file);
	request = &engine->capture[port];
	forget(request);
	request->sent = capture_create(frames, error);
	request->received = request->sent != NULL ? capture_create(frames, error) : NULL;
	request->path = strdup(path);
	if (request->path == NULL)
		error_set(error, -ENOMEM, "no-memory", "no memory for the name of a file");
	if (request->sent == NULL || request->received == NULL || request->path == NULL) {
		forget(request);
		return -ENOMEM;
	}
	return 0;
}
