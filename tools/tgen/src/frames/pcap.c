/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Capture files: pcap, whose frames follow each other, and pcapng, which is a row of blocks. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_byteorder.h>

#include "pcap.h"
#include "wide.h"

#define FILE_HEADER 24
#define FRAME_HEADER 16
#define MAGIC_MICROSECONDS UINT32_C(0xa1b2c3d4)
#define MAGIC_NANOSECONDS UINT32_C(0xa1b23c4d)
#define MAGIC_PATCHED UINT32_C(0xa1b2cd34) /* of Alexey Kuznetzov: longer headers of frames */
#define SECOND_NS UINT64_C(1000000000)
#define LINK_TYPE UINT32_C(0xffff) /* above it: whether there is an FCS */
#define PCAP_ETHERNET 1
#define PCAPNG_SECTION UINT32_C(0x0a0d0d0a) /* the same in both byte orders */
#define BYTE_ORDER_MAGIC UINT32_C(0x1a2b3c4d)
#define BLOCK_LEAST 12 /* type, and the length at both ends */
#define BLOCK_INTERFACE 1
#define BLOCK_PACKET 2 /* as it was before 2004 */
#define BLOCK_SIMPLE 3
#define BLOCK_ENHANCED 6
#define OPTION_END 0
#define OPTION_RESOLUTION 9
#define OPTION_FCS 13
#define OPTION_OFFSET 14
#define MICROSECONDS 6 /* the exponent unless told */
#define MOST_BINARY 63
#define MOST_DECIMAL 19

static uint32_t
pcap_32(const struct pcap *pcap, size_t offset)
{
	uint32_t value;

	memcpy(&value, pcap->bytes + offset, sizeof(value));
	return pcap->swapped ? rte_bswap32(value) : value;
}

static uint16_t
pcap_16(const struct pcap *pcap, size_t offset)
{
	uint16_t value;

	memcpy(&value, pcap->bytes + offset, sizeof(value));
	return pcap->swapped ? rte_bswap16(value) : value;
}

static int
pcap_cut(const struct pcap *pcap, struct error *error)
{
	return error_set(error, -EINVAL, "bad-file", "the file ends within frame %" PRIu32,
		pcap->frame + 1);
}

static int
pcap_check_link(uint32_t link, struct error *error)
{
	if ((link & LINK_TYPE) != PCAP_ETHERNET)
		return error_set(error, -EINVAL, "bad-file",
			"its frames are of link type %" PRIu32 ", not of Ethernet (1)",
			link & LINK_TYPE);
	if (link != PCAP_ETHERNET)
		return error_set(error, -EINVAL, "bad-file",
			"its frames have an FCS; take it off with editcap -C -4");
	return 0;
}

static int
pcap_check_captured(const struct pcap *pcap, uint32_t captured, struct error *error)
{
	if (captured <= PCAP_MOST_CAPTURED)
		return 0;
	return error_set(error, -EINVAL, "bad-file",
		"frame %" PRIu32 " is said to have %" PRIu32 " bytes: the file is damaged",
		pcap->frame + 1, captured);
}

struct block {
	uint32_t type;
	size_t body; /* offset in the file */
	size_t length; /* of the body */
};

static int
damaged(const struct pcap *pcap, struct error *error)
{
	return error_set(error, -EINVAL, "bad-file",
		"behind frame %" PRIu32 " there is a block of pcapng that cannot be: "
		"the file is damaged or cut", pcap->frame);
}

/* A section's header is read before its length can be: it tells the byte order. */
static int
next_block(struct pcap *pcap, struct block *block, struct error *error)
{
	size_t left = pcap->length - pcap->offset;
	uint32_t length, magic;

	if (left < BLOCK_LEAST)
		return damaged(pcap, error);
	block->type = pcap_32(pcap, pcap->offset);
	if (block->type == PCAPNG_SECTION) {
		memcpy(&magic, pcap->bytes + pcap->offset + 8, sizeof(magic));
		if (magic != BYTE_ORDER_MAGIC && magic != rte_bswap32(BYTE_ORDER_MAGIC))
			return damaged(pcap, error);
		pcap->swapped = magic != BYTE_ORDER_MAGIC;
		pcap->interfaces = 0;
	}
	length = pcap_32(pcap, pcap->offset + 4);
	if (length < BLOCK_LEAST || length % 4 != 0 || length > left)
		return damaged(pcap, error);
	block->body = pcap->offset + 8;
	block->length = length - BLOCK_LEAST;
	pcap->offset += length;
	return 0;
}

static int
read_option(const struct pcap *pcap, struct pcap_interface *interface, uint16_t code, size_t value,
	uint16_t length, struct error *error)
{
	uint8_t byte = pcap->bytes[value];
	uint64_t offset;

	if (code == OPTION_RESOLUTION && length == 1) {
		interface->binary = byte >> 7 != 0;
		interface->exponent = byte & 0x7f;
		if (interface->exponent > (interface->binary ? MOST_BINARY : MOST_DECIMAL))
			return damaged(pcap, error);
	} else if (code == OPTION_OFFSET && length == 8) {
		memcpy(&offset, pcap->bytes + value, sizeof(offset));
		interface->offset_s = (int64_t)(pcap->swapped ? rte_bswap64(offset) : offset);
	} else if (code == OPTION_FCS && length == 1 && byte != 0) {
		return error_set(error, -EINVAL, "bad-file",
			"its frames have an FCS; take it off with editcap -C -4");
	}
	return 0;
}

static int
read_interface(struct pcap *pcap, const struct block *block, struct error *error)
{
	struct pcap_interface *interface = &pcap->interface[pcap->interfaces];
	size_t offset = block->body + 8, end = block->body + block->length;
	int ret;

	if (block->length < 8)
		return damaged(pcap, error);
	if (pcap->interfaces == PCAP_MOST_INTERFACES)
		return error_set(error, -EINVAL, "bad-file", "more than %u interfaces",
			PCAP_MOST_INTERFACES);
	ret = pcap_check_link(pcap_16(pcap, block->body), error);
	if (ret != 0)
		return ret;
	*interface = (struct pcap_interface){ .exponent = MICROSECONDS };
	while (end - offset >= 4) {
		uint16_t code = pcap_16(pcap, offset), length = pcap_16(pcap, offset + 2);
		size_t padded = (length + (size_t)3) / 4 * 4;

		offset += 4;
		if (code == OPTION_END)
			break;
		if (padded > end - offset)
			return damaged(pcap, error);
		if (length != 0) {
			ret = read_option(pcap, interface, code, offset, length, error);
			if (ret != 0)
				return ret;
		}
		offset += padded;
	}
	pcap->interfaces++;
	return 0;
}

/* False when it is no time that 64 bits of nanoseconds hold. */
static bool
to_ns(const struct pcap_interface *interface, uint64_t ticks, uint64_t *ns)
{
	uint64_t per_second = 1;
	uint128_t whole;
	uint8_t i;

	if (interface->binary) {
		whole = (uint128_t)ticks * SECOND_NS >> interface->exponent;
	} else {
		for (i = 0; i < interface->exponent; i++)
			per_second *= 10;
		whole = (uint128_t)ticks * SECOND_NS / per_second;
	}
	if (interface->offset_s > (int64_t)UINT32_MAX || interface->offset_s < -(int64_t)UINT32_MAX)
		return false;
	/* Below zero it becomes very great, and is refused as such. */
	whole += (uint128_t)interface->offset_s * SECOND_NS;
	*ns = (uint64_t)whole;
	return whole >> 63 == 0;
}

static int
read_enhanced(struct pcap *pcap, const struct block *block, struct pcap_frame *frame,
	struct error *error)
{
	uint32_t number;
	uint64_t ticks;
	int ret;

	if (block->length < 20)
		return damaged(pcap, error);
	number = pcap_32(pcap, block->body);
	if (number >= pcap->interfaces)
		return damaged(pcap, error);
	ticks = (uint64_t)pcap_32(pcap, block->body + 4) << 32 | pcap_32(pcap, block->body + 8);
	frame->captured = pcap_32(pcap, block->body + 12);
	frame->length = pcap_32(pcap, block->body + 16);
	frame->bytes = pcap->bytes + block->body + 20;
	ret = pcap_check_captured(pcap, frame->captured, error);
	if (ret != 0)
		return ret;
	if (frame->captured > block->length - 20)
		return pcap_cut(pcap, error);
	if (!to_ns(&pcap->interface[number], ticks, &frame->when_ns))
		return error_set(error, -EINVAL, "bad-file",
			"the time of frame %" PRIu32 " cannot be", pcap->frame + 1);
	pcap->frame++;
	return 1;
}

static int
pcap_next_of_blocks(struct pcap *pcap, struct pcap_frame *frame, struct error *error)
{
	struct block block = { 0 };
	int ret;

	while (pcap->offset < pcap->length) {
		ret = next_block(pcap, &block, error);
		if (ret == 0 && block.type == BLOCK_INTERFACE)
			ret = read_interface(pcap, &block, error);
		if (ret != 0)
			return ret;
		if (block.type == BLOCK_ENHANCED)
			return read_enhanced(pcap, &block, frame, error);
		if (block.type == BLOCK_SIMPLE || block.type == BLOCK_PACKET)
			return error_set(error, -EINVAL, "bad-file",
				"frame %" PRIu32 " is a block of pcapng without a time, or an old "
				"one; editcap -F pcap makes an ordinary file of it",
				pcap->frame + 1);
	}
	return 0;
}

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
