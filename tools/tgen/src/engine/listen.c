/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "engine_private.h"
#include "listen.h"

/* Begin with a tape, or take it away. A worker that is adding to it is waited for. */
static struct tape *
swap(struct engine *engine, struct listening *listening, struct tape *tape)
{
	struct tape *before;
	unsigned int i;

	rte_spinlock_lock(&listening->lock);
	before = listening->tape;
	listening->tape = tape;
	rte_spinlock_unlock(&listening->lock);
	rte_atomic_store_explicit(&listening->on, tape != NULL, rte_memory_order_relaxed);
	for (i = 0; i < engine->receivers; i++)
		if (engine->receiver[i].listening == listening)
			receiver_tell_copies(&engine->receiver[i]);
	return before;
}

static void
forget(struct engine *engine, struct listening *listening)
{
	if (listening->path == NULL)
		return;
	tape_destroy(swap(engine, listening, NULL));
	if (listening->file >= 0)
		close(listening->file);
	free(listening->path);
	listening->path = NULL;
}

void
listen_forget(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->ports; i++)
		forget(engine, &engine->listening[i]);
}

/* Refuse now what could not be written at the end. */
static int
prepare(struct listening *listening, const char *path, const struct tape_room *room,
	struct tape **tape, struct error *error)
{
	listening->file = capture_open(path, error);
	if (listening->file < 0)
		return listening->file;
	*tape = tape_create(room, error);
	listening->path = *tape != NULL ? strdup(path) : NULL;
	if (listening->path != NULL)
		return 0;
	if (*tape != NULL)
		error_set(error, -ENOMEM, "no-memory", "no memory for the name of a file");
	tape_destroy(*tape);
	close(listening->file);
	return -ENOMEM;
}

int
engine_listen(struct engine *engine, uint16_t port, const char *path,
	const struct tape_room *room, struct error *error)
{
	struct listening *listening = &engine->listening[port];
	struct timespec now;
	struct tape *tape;
	int ret;

	if (listening->path != NULL)
		return error_set(error, -EBUSY, "busy", "port %u is listened to already", port);
	ret = prepare(listening, path, room, &tape, error);
	if (ret != 0)
		return ret;
	clock_gettime(CLOCK_REALTIME, &now);
	listening->clock = (struct capture_clock){
		.tsc = rte_rdtsc(),
		.tsc_hz = engine->tsc_hz,
		.unix_ns = (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec,
	};
	respond_idle(engine); /* what waits there came before */
	swap(engine, listening, tape);
	return 0;
}

static bool
write_tape(FILE *file, const struct tape *tape, const struct capture_clock *clock)
{
	uint8_t bytes[TGEN_MAX_FRAME];
	bool written = ftruncate(fileno(file), 0) == 0 && capture_write_head(file);
	uint32_t i;

	for (i = 0; i < tape->count && written; i++) {
		const struct taped *frame = tape_frame(tape, i, bytes);

		written = capture_write_frame(file, clock, frame->tsc, frame->length, bytes,
			frame->kept);
	}
	return written && fflush(file) == 0;
}

static int
write_file(struct listening *listening, const struct tape *tape, struct error *error)
{
	FILE *file = fdopen(listening->file, "wb");
	bool written = false;
	int why = errno;

	if (file == NULL) {
		close(listening->file);
	} else {
		errno = 0;
		written = write_tape(file, tape, &listening->clock);
		why = errno;
		written = fclose(file) == 0 && written;
	}
	listening->file = -1;
	if (written)
		return 0;
	return error_set(error, -EIO, "file", "%s could not be written completely: %s",
		listening->path, strerror(why));
}

int
engine_listen_end(struct engine *engine, uint16_t port, struct listened *listened,
	struct error *error)
{
	struct listening *listening = &engine->listening[port];
	struct tape *tape;
	int ret;

	if (listening->path == NULL)
		return error_set(error, -EINVAL, "idle", "nobody listens to port %u", port);
	respond_idle(engine); /* and this came before the end */
	tape = swap(engine, listening, NULL);
	*listened = (struct listened){ .frames = tape->count, .heard = tape->heard };
	ret = write_file(listening, tape, error);
	tape_destroy(tape);
	forget(engine, listening);
	return ret;
}
