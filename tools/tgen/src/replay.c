/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcap_read.h"
#include "replay.h"

#define LEAST (TGEN_MIN_FRAME - TGEN_FCS)
#define ETHERNET_HEADER 14

/* What is wrong with this very frame, if anything. */
static int
check_frame(const struct pcap *pcap, const struct pcap_frame *frame, uint16_t longest,
	struct error *error)
{
	uint32_t number = pcap->frame;

	if (frame->captured < frame->length)
		return error_set(error, -EINVAL, "bad-file",
			"of frame %" PRIu32 " there are %" PRIu32 " of %" PRIu32 " bytes: it was cut "
			"when it was captured; capture whole frames (tcpdump -s 0)",
			number, frame->captured, frame->length);
	if (frame->captured > frame->length)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " is said to have %" PRIu32 " bytes, and %" PRIu32
			" were captured: the file is damaged", number, frame->length,
			frame->captured);
	if (frame->captured < ETHERNET_HEADER)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " has %" PRIu32 " bytes, too few for Ethernet", number,
			frame->captured);
	if (frame->captured + TGEN_FCS > longest)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " has %" PRIu32 " bytes with its FCS, and the port takes "
			"%u (--max-frame)", number, frame->captured + TGEN_FCS, longest);
	if (number > REPLAY_MOST_FRAMES)
		return error_set(error, -E2BIG, "bad-file", "it has more than %" PRIu32 " frames",
			REPLAY_MOST_FRAMES);
	return 0;
}

/* Look at every frame: how many there are, and how many bytes they take. */
static int
measure(const void *bytes, size_t length, uint16_t longest, uint32_t *frames, size_t *total,
	struct error *error)
{
	struct pcap_frame frame;
	struct pcap pcap;
	int ret = pcap_begin(&pcap, bytes, length, error);

	if (ret != 0)
		return ret;
	*total = 0;
	while ((ret = pcap_next(&pcap, &frame, error)) > 0) {
		ret = check_frame(&pcap, &frame, longest, error);
		if (ret != 0)
			return ret;
		*total += frame.captured > LEAST ? frame.captured : LEAST;
	}
	*frames = pcap.frame;
	if (ret == 0 && *frames == 0)
		return error_set(error, -EINVAL, "bad-file", "there is no frame in it");
	return ret;
}

static void
take_frame(struct replay *replay, const struct pcap_frame *from, struct replay_frame *frame)
{
	uint8_t *bytes = replay->bytes + frame->offset;

	frame->length = (uint16_t)(from->captured > LEAST ? from->captured : LEAST);
	memcpy(bytes, from->bytes, from->captured);
	memset(bytes + from->captured, 0, frame->length - from->captured);
	replay->padded += from->captured < LEAST;
	frame->mark = replay_mark(bytes, frame->length, &frame->fill);
	replay->unmarked += frame->mark == REPLAY_UNMARKED;
	replay->sum += frame->length + TGEN_FCS;
	if (frame->length > replay->longest)
		replay->longest = frame->length;
	if (frame->length < replay->shortest)
		replay->shortest = frame->length;
}

/* The clock of a capture may step back: such a frame follows the one before it at once. */
static void
take_all(struct replay *replay, const void *bytes, size_t length)
{
	uint64_t first_ns = 0, last_ns = 0;
	struct pcap_frame frame = { 0 };
	struct error error;
	struct pcap pcap;
	uint32_t offset = 0, i;

	pcap_begin(&pcap, bytes, length, &error);
	replay->shortest = UINT16_MAX;
	for (i = 0; i < replay->frames; i++) {
		pcap_next(&pcap, &frame, &error);
		if (i == 0)
			first_ns = frame.when_ns;
		if (frame.when_ns > first_ns && frame.when_ns - first_ns > last_ns)
			last_ns = frame.when_ns - first_ns;
		replay->frame[i].when_ns = last_ns;
		replay->frame[i].offset = offset;
		take_frame(replay, &frame, &replay->frame[i]);
		offset += replay->frame[i].length;
	}
	/* The next round begins after the mean distance of two frames. */
	if (last_ns != 0)
		replay->period_ns = last_ns + last_ns / (replay->frames - 1);
}

struct replay *
replay_parse(const void *bytes, size_t length, uint16_t longest, struct error *error)
{
	struct replay *replay;
	uint32_t frames;
	size_t total;

	if (measure(bytes, length, longest, &frames, &total, error) != 0)
		return NULL;
	replay = calloc(1, sizeof(*replay));
	if (replay != NULL) {
		replay->frames = frames;
		replay->frame = calloc(frames, sizeof(*replay->frame));
		replay->bytes = malloc(total);
	}
	if (replay == NULL || replay->frame == NULL || replay->bytes == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory for its %" PRIu32 " frames", frames);
		replay_free(replay);
		return NULL;
	}
	take_all(replay, bytes, length);
	if (replay->frame[frames - 1].when_ns > REPLAY_MOST_NS) {
		error_set(error, -EINVAL, "bad-file",
			"its last frame comes more than 30 days after its first one");
		replay_free(replay);
		return NULL;
	}
	return replay;
}

void
replay_free(struct replay *replay)
{
	if (replay == NULL)
		return;
	free(replay->frame);
	free(replay->bytes);
	free(replay);
}

/* Not of a pipe or a device, whose end may never come; NULL with an error's text. */
static void *
read_file(int file, uint64_t room, uint64_t *size, struct error *error)
{
	struct stat facts;
	size_t done = 0;
	ssize_t got;
	char *bytes;

	if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
		error_set(error, -EINVAL, "bad-file", "it is no regular file");
		return NULL;
	}
	if ((uint64_t)facts.st_size > room) {
		error_set(error, -E2BIG, "bad-file",
			"it has %" PRIu64 " bytes; all files together may have %" PRIu64,
			(uint64_t)facts.st_size, (uint64_t)REPLAY_MOST_BYTES);
		return NULL;
	}
	*size = (uint64_t)facts.st_size;
	bytes = malloc(*size + 1);
	if (bytes == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory for its %" PRIu64 " bytes", *size);
		return NULL;
	}
	while (done < *size) {
		got = read(file, bytes + done, *size - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			error_set(error, -EIO, "bad-file", "%s",
				got < 0 ? strerror(errno) : "it became shorter while it was read");
			free(bytes);
			return NULL;
		}
		done += (size_t)got;
	}
	return bytes;
}

struct replay *
replay_read(const char *path, uint16_t longest, uint64_t room, uint64_t *size,
	struct error *error)
{
	/* Without waiting for the other end, should it be a pipe. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct replay *replay = NULL;
	struct error why = { 0 };
	void *bytes = NULL;

	if (file < 0)
		error_set(&why, -errno, "bad-file", "%s", strerror(errno));
	else
		bytes = read_file(file, room, size, &why);
	if (file >= 0)
		close(file);
	if (bytes != NULL)
		replay = replay_parse(bytes, *size, longest, &why);
	free(bytes);
	if (replay == NULL)
		error_set(error, -EINVAL, why.code, "%s: %s", path, why.text);
	return replay;
}

uint64_t
replay_count_unmarked(const struct replay *replay, uint64_t frames)
{
	uint64_t count = frames / replay->frames * replay->unmarked;
	uint32_t i, rest = (uint32_t)(frames % replay->frames);

	for (i = 0; i < rest; i++)
		count += replay->frame[i].mark == REPLAY_UNMARKED;
	return count;
}
