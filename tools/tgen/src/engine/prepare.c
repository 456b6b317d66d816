/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* From traffic, as it was asked for, to what the data path works with. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mempool.h>

#include "collect_latency.h"
#include "collect_slots.h"
#include "engine_private.h"
#include "prepare.h"
#include "workers.h"

static void
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

static int
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

void
prepare_free(struct engine *engine)
{
	unsigned int i, j;

	collect_free_slots(engine);
	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		for (j = 0; worker->watch != NULL && j < engine->senders; j++) {
			window_destroy(&worker->watch[j].window);
			rte_free(worker->watch[j].latency);
			collect_free_details(&worker->watch[j]);
		}
		rte_free(worker->watch);
		rte_free(worker->missing);
		worker->watch = NULL;
		worker->missing = NULL;
		worker->senders = 0;
		worker->streams = 0;
	}
	rte_free(engine->sender);
	rte_free(engine->template);
	free(engine->frame);
	free(engine->pattern);
	prepare_free_replays(engine);
	engine->sender = NULL;
	engine->template = NULL;
	engine->frame = NULL;
	engine->pattern = NULL;
	engine->senders = 0;
	engine->templates = 0;
	engine->patterns = 0;
	engine->traffic.streams = 0;
}

static int
check_workers(const struct engine *engine, const struct stream *stream, unsigned int index,
	struct error *error)
{
	uint16_t queues = engine->port[stream->transmit_port].transmit_queues;

	if (stream->workers == 0 || stream->workers > engine_transmitters(engine))
		return error_set(error, -EINVAL, "bad-value",
			"stream %u is for %u workers, and %u of %u send: give EAL more lcores", index,
			stream->workers, engine_transmitters(engine), engine->workers);
	if (stream->workers > queues)
		return error_set(error, -EINVAL, "bad-value",
			"stream %u is for %u workers, each with a queue of its own, and port %u has %u: "
			"--queues %u gives it as many if its device has them", index,
			stream->workers, stream->transmit_port, queues, stream->workers);
	return 0;
}

static int
check_stream(const struct engine *engine, const struct stream *stream, unsigned int index,
	struct error *error)
{
	unsigned int i;
	int ret;

	if (stream->transmit_port >= engine->ports || stream->receive_port >= engine->ports)
		return error_set(error, -EINVAL, "bad-value",
			"stream %u uses port %u; there are %u ports", index,
			RTE_MAX(stream->transmit_port, stream->receive_port), engine->ports);
	if (stream->replay[0] != '\0')
		return 0;
	if (stream->sizes == 0 || stream->sizes > TGEN_MAX_SIZES)
		return error_set(error, -EINVAL, "bad-value", "stream %u has %u sizes; 1 to %u",
			index, stream->sizes, TGEN_MAX_SIZES);
	for (i = 0; i < stream->sizes; i++)
		if (stream->size[i] > engine->port[stream->receive_port].max_frame)
			return error_set(error, -EINVAL, "bad-value",
				"stream %u has frames of %u bytes; tgen was started with --max-frame %u",
				index, stream->size[i],
				engine->port[stream->receive_port].max_frame);
	ret = check_workers(engine, stream, index, error);
	return ret != 0 ? ret : flow_check(&stream->flows, &stream->headers, error);
}

static int
check_traffic(const struct engine *engine, const struct traffic *traffic, struct error *error)
{
	unsigned int parts = 0, i;
	int ret;

	if (traffic->streams == 0 || traffic->streams > TGEN_MAX_STREAMS)
		return error_set(error, -EINVAL, "bad-value", "%u streams; 1 to %u",
			traffic->streams, TGEN_MAX_STREAMS);
	for (i = 0; i < traffic->streams; i++) {
		ret = check_stream(engine, &traffic->stream[i], i, error);
		if (ret != 0)
			return ret;
		parts += traffic->stream[i].workers;
	}
	if (parts > TGEN_MAX_PARTS)
		return error_set(error, -EINVAL, "bad-value",
			"the workers of all streams add up to %u; %u are the most", parts,
			TGEN_MAX_PARTS);
	return 0;
}

static int
allocate(struct engine *engine, const struct traffic *traffic, struct error *error)
{
	/* One to spare: streams that send files have none. */
	unsigned int sizes = 1, patterns = 1, parts = 0, i;

	for (i = 0; i < traffic->streams; i++) {
		const struct stream *stream = &traffic->stream[i];

		sizes += stream->sizes;
		parts += stream->workers;
		patterns += stream->workers * stream->sizes;
	}
	engine->sender = rte_zmalloc("senders", parts * sizeof(*engine->sender),
		RTE_CACHE_LINE_SIZE);
	engine->template = rte_zmalloc("templates", sizes * sizeof(*engine->template),
		RTE_CACHE_LINE_SIZE);
	engine->frame = calloc(sizes, sizeof(*engine->frame));
	engine->pattern = calloc(patterns, sizeof(*engine->pattern));
	if (engine->sender == NULL || engine->template == NULL || engine->frame == NULL ||
			engine->pattern == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u frames", sizes);
	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		worker->watch = rte_zmalloc("watches", parts * sizeof(*worker->watch),
			RTE_CACHE_LINE_SIZE);
		worker->missing = rte_zmalloc("gaps", parts * sizeof(*worker->missing),
			RTE_CACHE_LINE_SIZE);
		if (worker->watch == NULL || worker->missing == NULL)
			return error_set(error, -ENOMEM, "no-memory", "no memory for %u streams",
				traffic->streams);
	}
	return 0;
}

static void
fill_template(struct template *template, const struct frame *frame, const struct stream *stream)
{
	template->frame = frame;
	template->length = frame->length;
	template->payload = frame->payload;
	template->header = frame->header;
	template->copy = (frame->header + TEMPLATE_COPY - 1) / TEMPLATE_COPY * TEMPLATE_COPY;
	memcpy(template->headers, frame->bytes, RTE_MIN(template->copy, frame->length));
	flow_edits_init(&template->edits, &stream->flows, &stream->headers, frame);
}

/* One template for each size that occurs, the pattern of them, and the longest frame. */
static int
build_frames(struct engine *engine, const struct stream *stream,
	const struct template **pattern, const struct frame **longest, struct error *error)
{
	unsigned int first = engine->templates, i, j;
	int ret;

	*longest = NULL;
	for (i = 0; i < stream->sizes; i++) {
		for (j = first; j < engine->templates; j++)
			if (engine->template[j].length + TGEN_FCS == stream->size[i])
				break;
		if (j == engine->templates) {
			struct frame *frame = &engine->frame[j];

			ret = frame_build(&stream->headers, stream->size[i], frame, error);
			if (ret != 0)
				return ret;
			fill_template(&engine->template[j], frame, stream);
			if (*longest == NULL || frame->length > (*longest)->length)
				*longest = frame;
			engine->templates++;
		}
		pattern[i] = &engine->template[j];
	}
	return 0;
}

static unsigned int
queue_number(const struct engine *engine, unsigned int port, unsigned int queue)
{
	unsigned int i;

	for (i = 0; i < port; i++)
		queue += engine->port[i].transmit_queues;
	return queue;
}

static void
watch_part(struct engine *engine, const struct stream *stream, const struct sender *sender)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++) {
		struct watch *watch = &engine->worker[i]->watch[sender->number];

		watch->gaps = &engine->worker[i]->missing[sender->number];
		watch->port = stream->receive_port;
		watch->flows = part_flows(&sender->part, stream->flows.count);
		watch->sizes = sender->sizes;
		watch->pattern = sender->pattern;
		watch->replay = sender->replay;
		watch->length = sender->sizes == 1 ? sender->pattern[0]->length : 0;
	}
}

/* A part of a stream: its sender, with the sizes in the order that they have in it. */
static int
build_part(struct engine *engine, const struct stream *stream, const struct part *part,
	const struct template *const *sizes, const struct frame *longest, uint16_t queue,
	struct error *error)
{
	struct port *port = &engine->port[stream->transmit_port];
	struct sender *sender = &engine->sender[engine->senders];
	const struct template **pattern = &engine->pattern[engine->patterns];
	struct worker *worker = engine_transmitter(engine,
		queue_number(engine, stream->transmit_port, queue));
	unsigned int i;

	for (i = 0; i < stream->sizes; i++)
		pattern[i] = sizes[part_frame(part, i) % stream->sizes];
	sender->pattern = pattern;
	sender->sizes = stream->sizes;
	sender->fill = longest;
	sender->replay = engine->replay[part->stream];
	sender->port = port->id;
	sender->queue = queue;
	sender->part = *part;
	sender->number = (uint8_t)engine->senders;
	sender->varies = stream->flows.variations != 0;
	sender->tag = (part->stream + UINT32_C(1)) << 16;
	sender->pool = port_transmit_pool(port,
		longest != NULL ? longest->length : sender->replay->longest, error);
	if (sender->pool == NULL)
		return -ENOMEM;
	sender->shares_buffers = port->shares_buffers || sender->pool == port->receive_pool;
	flow_plan_init(&sender->plan, &stream->flows);
	broadcast_init(&sender->broadcast, part, stream->broadcast_every);
	worker->sender[worker->senders++] = sender;
	engine->patterns += stream->sizes;
	engine->senders++;
	watch_part(engine, stream, sender);
	return 0;
}

/* The streams of a port take its queues in turn, each as many as it has workers. */
static int
build_stream(struct engine *engine, const struct traffic *traffic, unsigned int index,
	struct error *error)
{
	const struct stream *stream = &traffic->stream[index];
	const struct template *sizes[TGEN_MAX_SIZES];
	struct part part = { .stream = (uint8_t)index, .of = stream->workers };
	unsigned int before = 0, i;
	const struct frame *longest = NULL;
	uint16_t queue;
	int ret;

	if (stream->replay[0] != '\0')
		ret = prepare_replay(engine, traffic, index, error);
	else
		ret = build_frames(engine, stream, sizes, &longest, error);
	for (i = 0; i < index; i++)
		if (traffic->stream[i].transmit_port == stream->transmit_port)
			before += traffic->stream[i].workers;
	queue = part_first_queue(part.of, before,
		engine->port[stream->transmit_port].transmit_queues);
	for (; ret == 0 && part.index < part.of; part.index++)
		ret = build_part(engine, stream, &part, sizes, longest,
			(uint16_t)(queue + part.index), error);
	return ret;
}

static void
forget_contents(struct rte_mempool *pool, void *argument, void *object, unsigned int index)
{
	struct rte_mbuf *buffer = object;

	(void)pool;
	(void)argument;
	(void)index;
	buffer->hash.usr = 0;
}

static int
build(struct engine *engine, const struct traffic *traffic, struct error *error)
{
	unsigned int i, j;
	int ret;

	for (i = 0; i < traffic->streams; i++) {
		ret = build_stream(engine, traffic, i, error);
		if (ret != 0)
			return ret;
	}
	/* Buffers hold the fill bytes of the traffic before. */
	for (i = 0; i < engine->ports; i++)
		for (j = 0; j < PORT_POOLS; j++)
			if (engine->port[i].transmit_pool[j] != NULL)
				rte_mempool_obj_iter(engine->port[i].transmit_pool[j],
					forget_contents, NULL);
	return 0;
}

int
prepare_traffic(struct engine *engine, const struct traffic *traffic, struct error *error)
{
	unsigned int i;
	int ret = check_traffic(engine, traffic, error);

	if (ret != 0)
		return ret;
	prepare_free(engine);
	ret = allocate(engine, traffic, error);
	if (ret == 0)
		ret = build(engine, traffic, error);
	if (ret != 0)
		return ret;
	engine->traffic = *traffic;
	for (i = 0; i < engine->workers; i++)
		engine->worker[i]->streams = (uint8_t)engine->senders;
	return 0;
}
