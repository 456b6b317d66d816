/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>

#include "pcap_blocks.h"

#define FILE_HEADER 24
#define FRAME_HEADER 16
#define MAGIC_MICROSECONDS UINT32_C(0xa1b2c3d4)
#define MAGIC_NANOSECONDS UINT32_C(0xa1b23c4d)
#define MAGIC_PATCHED UINT32_C(0xa1b2cd34) /* of Alexey Kuznetzov: longer headers of frames */
#define SECOND_NS UINT64_C(1000000000)

static bool
is_magic(const struct pcap *pcap, uint32_t magic)
{
	return pcap_32(pcap, 0) == magic;
}

/* Find the byte order, and what times are counted in. */
static int
read_magic(struct pcap *pcap, struct error *error)
{
	int order;

	for (order = 0; order < 2; order++) {
		pcap->swapped = order == 1;
		pcap->nanoseconds = is_magic(pcap, MAGIC_NANOSECONDS);
		if (pcap->nanoseconds || is_magic(pcap, MAGIC_MICROSECONDS))
			return 0;
		if (is_magic(pcap, MAGIC_PATCHED))
			return error_set(error, -EINVAL, "bad-file",
				"a pcap file of a patched libpcap; editcap -F pcap makes an "
				"ordinary one of it");
	}
	return error_set(error, -EINVAL, "bad-file", "neither a pcap nor a pcapng file");
}

int
pcap_begin(struct pcap *pcap, const void *bytes, size_t length, struct error *error)
{
	int ret;

	memset(pcap, 0, sizeof(*pcap));
	pcap->bytes = bytes;
	pcap->length = length;
	if (length == 0)
		return error_set(error, -EINVAL, "bad-file", "the file is empty");
	if (length >= sizeof(uint32_t) && is_magic(pcap, PCAPNG_SECTION)) {
		pcap->blocks = true;
		return 0;
	}
	if (length < FILE_HEADER)
		return error_set(error, -EINVAL, "bad-file",
			"%zu bytes are too few for a pcap file", length);
	ret = read_magic(pcap, error);
	if (ret != 0)
		return ret;
	pcap->offset = FILE_HEADER;
	return pcap_check_link(pcap_32(pcap, 20), error);
}

static int
next_of_pcap(struct pcap *pcap, struct pcap_frame *frame, struct error *error)
{
	size_t left = pcap->length - pcap->offset, where = pcap->offset;
	uint32_t fraction;
	int ret;

	if (left == 0)
		return 0;
	if (left < FRAME_HEADER)
		return pcap_cut(pcap, error);
	fraction = pcap_32(pcap, where + 4);
	frame->captured = pcap_32(pcap, where + 8);
	frame->length = pcap_32(pcap, where + 12);
	ret = pcap_check_captured(pcap, frame->captured, error);
	if (ret != 0)
		return ret;
	if (frame->captured > left - FRAME_HEADER)
		return pcap_cut(pcap, error);
	frame->when_ns = pcap_32(pcap, where) * SECOND_NS +
		(uint64_t)fraction * (pcap->nanoseconds ? 1 : 1000);
	frame->bytes = pcap->bytes + where + FRAME_HEADER;
	pcap->offset = where + FRAME_HEADER + frame->captured;
	pcap->frame++;
	return 1;
}

int
pcap_next(struct pcap *pcap, struct pcap_frame *frame, struct error *error)
{
	return pcap->blocks ? pcap_next_of_blocks(pcap, frame, error) :
		next_of_pcap(pcap, frame, error);
}
