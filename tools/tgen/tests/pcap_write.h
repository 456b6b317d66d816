/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_PCAP_WRITE_H
#define TGEN_TESTS_PCAP_WRITE_H

/* Capture files in memory, byte by byte, in either byte order, right or wrong. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define MICROSECONDS UINT32_C(0xa1b2c3d4)
#define NANOSECONDS UINT32_C(0xa1b23c4d)

struct written {
	uint8_t bytes[16384];
	size_t length;
	bool swapped;
};

static inline void
put_bytes(struct written *file, const void *bytes, size_t length)
{
	memcpy(file->bytes + file->length, bytes, length);
	file->length += length;
}

static inline void
put_32(struct written *file, uint32_t value)
{
	value = file->swapped ? rte_bswap32(value) : value;
	put_bytes(file, &value, sizeof(value));
}

static inline void
put_16(struct written *file, uint16_t value)
{
	value = file->swapped ? rte_bswap16(value) : value;
	put_bytes(file, &value, sizeof(value));
}

static inline void
put_header(struct written *file, uint32_t magic, uint32_t link)
{
	put_32(file, magic);
	put_16(file, 2);
	put_16(file, 4);
	put_32(file, 0);
	put_32(file, 0);
	put_32(file, 65535);
	put_32(file, link);
}

static inline void
put_frame(struct written *file, uint32_t seconds, uint32_t fraction, const void *bytes,
	uint32_t captured, uint32_t length)
{
	put_32(file, seconds);
	put_32(file, fraction);
	put_32(file, captured);
	put_32(file, length);
	put_bytes(file, bytes, captured);
}

/* A block of pcapng; its body has a multiple of four bytes. */
static inline void
put_block(struct written *file, uint32_t type, const struct written *body)
{
	put_32(file, type);
	put_32(file, (uint32_t)body->length + 12);
	put_bytes(file, body->bytes, body->length);
	put_32(file, (uint32_t)body->length + 12);
}

static inline void
put_section(struct written *file)
{
	struct written body = { .swapped = file->swapped };

	put_32(&body, 0x1a2b3c4d);
	put_16(&body, 1);
	put_16(&body, 0);
	put_32(&body, UINT32_MAX);
	put_32(&body, UINT32_MAX);
	put_block(file, 0x0a0d0d0a, &body);
}

/* `resolution` as the option has it; 0: the option is not there. */
static inline void
put_interface(struct written *file, uint16_t link, uint8_t resolution)
{
	const uint8_t value[4] = { resolution };
	struct written body = { .swapped = file->swapped };

	put_16(&body, link);
	put_16(&body, 0);
	put_32(&body, 0);
	if (resolution != 0) {
		put_16(&body, 9);
		put_16(&body, 1);
		put_bytes(&body, value, sizeof(value));
		put_32(&body, 0);
	}
	put_block(file, 1, &body);
}

static inline void
put_packet(struct written *file, uint32_t interface, uint64_t ticks, const void *bytes,
	uint32_t length)
{
	struct written body = { .swapped = file->swapped };

	put_32(&body, interface);
	put_32(&body, (uint32_t)(ticks >> 32));
	put_32(&body, (uint32_t)ticks);
	put_32(&body, length);
	put_32(&body, length);
	put_bytes(&body, bytes, length);
	body.length = (body.length + 3) / 4 * 4;
	put_block(file, 6, &body);
}

#endif /* TGEN_TESTS_PCAP_WRITE_H */
