/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* From files to what is sent of them. */

#include <errno.h>
#include <string.h>

#include "engine_private.h"

void
prepare_free_replays(struct engine *engine)
{
	unsigned int i, j;

	for (i = 0; i < TGEN_MAX_STREAMS; i++) {
		for (j = i + 1; j < TGEN_MAX_STREAMS; j++)
			if (engine->replay[j] == engine->replay[i])
				engine->replay[j] = NULL;
		replay_free(engine->replay[i]);
		engine->replay[i] = NULL;
	}
	engine->replay_bytes = 0;
	for (i = 0; i < engine->receivers && engine->receiver != NULL; i++)
		engine->receiver[i].unmarked = 0;
}

/* Of a stream before, if that sends the same file. */
static struct replay *
find_replay(const struct engine *engine, const struct traffic *traffic, unsigned int index)
{
	unsigned int i;

	for (i = 0; i < index; i++)
		if (engine->replay[i] != NULL &&
				strcmp(traffic->stream[i].replay, traffic->stream[index].replay) == 0)
			return engine->replay[i];
	return NULL;
}

/* What has no mark is counted where it should arrive, so only one stream may send such there. */
static int
expect_unmarked(struct engine *engine, const struct stream *stream, struct error *error)
{
	unsigned int i;

	for (i = 0; i < engine->receivers; i++) {
		struct receiver *receiver = &engine->receiver[i];

		if (receiver->port != stream->receive_port)
			continue;
		if (receiver->unmarked != 0)
			return error_set(error, -EINVAL, "bad-value",
				"streams %u and %u both send frames to port %u that have no room "
				"for a mark, and nobody could tell whose they are",
				engine->sender[receiver->unmarked - 1].part.stream, stream->id,
				stream->receive_port);
		receiver->unmarked = (uint8_t)(engine->senders + 1); /* which is built next */
	}
	return 0;
}

int
prepare_replay(struct engine *engine, const struct traffic *traffic, unsigned int index,
	struct error *error)
{
	const struct stream *stream = &traffic->stream[index];
	struct replay *replay = find_replay(engine, traffic, index);
	uint64_t size;

	if (replay == NULL) {
		replay = replay_read(stream->replay, engine->port[stream->receive_port].max_frame,
			REPLAY_MOST_BYTES - engine->replay_bytes, &size, error);
		if (replay == NULL)
			return -EINVAL;
		engine->replay_bytes += size;
	}
	engine->replay[index] = replay;
	return replay->unmarked == 0 ? 0 : expect_unmarked(engine, stream, error);
}

const struct replay *
engine_replay(const struct engine *engine, unsigned int stream)
{
	return engine->replay[stream];
}
