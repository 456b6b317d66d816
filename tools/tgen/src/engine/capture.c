/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"

#define SECOND_NS UINT64_C(1000000000)

/* A pcap file with times in nanoseconds, in the byte order of this machine. */
struct pcap_file {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy;
	uint32_t longest;
	uint32_t link; /* 1: Ethernet */
};

struct pcap_frame {
	uint32_t seconds, nanoseconds;
	uint32_t captured, length;
};

struct capture *
capture_create(uint32_t frames, struct error *error)
{
	struct capture *capture;
	size_t size;

	size = sizeof(*capture) + frames * sizeof(struct captured);
	capture = malloc(size);
	if (capture == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory to capture %u frames", frames);
		return NULL;
	}
	/* Touch every page now: the data path must not. */
	memset(capture, 0, size);
	capture->room = frames;
	return capture;
}

void
capture_destroy(struct capture *capture)
{
	free(capture);
}

void
capture_offer(struct capture *capture, struct rte_mbuf *const *buffer, unsigned int count,
	uint64_t tsc)
{
	struct captured *frame = &capture->frame[capture->count];
	struct captured *end = &capture->frame[capture->room];
	unsigned int i;

	for (i = 0; i < count && frame != end; i++, frame++) {
		const void *bytes;

		frame->tsc = tsc;
		frame->length = buffer[i]->pkt_len;
		bytes = rte_pktmbuf_read(buffer[i], 0,
			RTE_MIN(frame->length, sizeof(frame->bytes)), frame->bytes);
		if (bytes != NULL && bytes != frame->bytes)
			memcpy(frame->bytes, bytes, RTE_MIN(frame->length, sizeof(frame->bytes)));
	}
}

void
capture_commit(struct capture *capture, unsigned int taken)
{
	capture->count += RTE_MIN(taken, capture->room - capture->count);
}

bool
capture_write_head(FILE *file)
{
	const struct pcap_file head = {
		.magic = 0xa1b23c4d, .major = 2, .minor = 4, .longest = TGEN_MAX_FRAME, .link = 1,
	};

	return fwrite(&head, sizeof(head), 1, file) == 1;
}

bool
capture_write_frame(FILE *file, const struct capture_clock *clock, uint64_t tsc, uint32_t length,
	const uint8_t *bytes, uint32_t kept)
{
	int64_t cycles = (int64_t)(tsc - clock->tsc);
	int64_t hz = (int64_t)clock->tsc_hz;
	uint64_t unix_ns = clock->unix_ns +
		(uint64_t)(cycles / hz * (int64_t)SECOND_NS + cycles % hz * (int64_t)SECOND_NS / hz);
	struct pcap_frame head = {
		.seconds = (uint32_t)(unix_ns / SECOND_NS),
		.nanoseconds = (uint32_t)(unix_ns % SECOND_NS),
		.captured = kept,
		.length = length,
	};

	return fwrite(&head, sizeof(head), 1, file) == 1 &&
		(kept == 0 || fwrite(bytes, kept, 1, file) == 1);
}

static bool
write_all(FILE *file, const struct capture *sent, const struct capture *received,
	const struct capture_clock *clock)
{
	uint32_t i = 0, j = 0, sents = sent != NULL ? sent->count : 0;
	uint32_t receiveds = received != NULL ? received->count : 0;
	bool written = capture_write_head(file);

	while (written && (i < sents || j < receiveds)) {
		const struct captured *frame;

		if (j == receiveds || (i < sents && sent->frame[i].tsc <= received->frame[j].tsc))
			frame = &sent->frame[i++];
		else
			frame = &received->frame[j++];
		written = capture_write_frame(file, clock, frame->tsc, frame->length, frame->bytes,
			RTE_MIN(frame->length, (uint32_t)sizeof(frame->bytes)));
	}
	return written;
}

int
capture_open(const char *path, struct error *error)
{
	/* Not blocking, for a pipe that nobody reads would. */
	int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat found;

	if (file < 0)
		return error_set(error, -errno, "file", "%s cannot be written: %s", path,
			errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
		close(file);
		return error_set(error, -EINVAL, "file", "%s cannot be written: it is no file",
			path);
	}
	return file;
}

int
capture_write(int file, const char *path, const struct capture *sent,
	const struct capture *received, const struct capture_clock *clock, struct error *error)
{
	FILE *stream = fdopen(file, "wb");
	bool written;
	int why;

	if (stream == NULL) {
		why = errno;
		close(file);
	} else {
		errno = 0;
		written = ftruncate(file, 0) == 0 && write_all(stream, sent, received, clock) &&
			fflush(stream) == 0;
		why = errno;
		if (fclose(stream) == 0 && written)
			return 0;
	}
	return error_set(error, -EIO, "file", "%s could not be written completely: %s", path,
		strerror(why));
}
