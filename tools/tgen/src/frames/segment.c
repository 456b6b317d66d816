/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "layers.h"
#include "segment.h"

#define TTL 64
#define IP_BEGIN ETHERNET_BYTES
#define IPV4_VERSION 4
#define IPV4_PIECE 0x3fff /* more fragments follow, or come before */
#define OPTION_END 0
#define OPTION_NOTHING 1
#define OPTION_MOST 2
#define OPTION_MOST_BYTES 4
#define FLAGS (SEGMENT_FIN | SEGMENT_SYN | SEGMENT_RST | SEGMENT_PSH | SEGMENT_ACK)

static uint16_t
header_bytes(const struct segment *segment)
{
	return segment->most != 0 ? TCP_BYTES + OPTION_MOST_BYTES : TCP_BYTES;
}

uint16_t
segment_frame_bytes(const struct segment *segment)
{
	uint16_t length = (uint16_t)(IP_BEGIN + IPV4_BYTES + header_bytes(segment) + segment->bytes);

	return length < SEGMENT_SHORTEST ? SEGMENT_SHORTEST : length;
}

static void
put_option(uint8_t *tcp, uint16_t most)
{
	tcp[12] = (TCP_BYTES + OPTION_MOST_BYTES) / 4 << 4;
	tcp[TCP_BYTES] = OPTION_MOST;
	tcp[TCP_BYTES + 1] = OPTION_MOST_BYTES;
	bytes_put_16(tcp + TCP_BYTES + 2, most);
}

uint16_t
segment_write(uint8_t *frame, const struct segment_macs *macs, const struct segment *segment)
{
	const struct tcp_words words = {
		.sequence = segment->sequence, .acknowledgement = segment->acknowledgement,
		.flags = segment->flags, .window = segment->window,
	};
	uint16_t header = header_bytes(segment), length = (uint16_t)(header + segment->bytes);
	uint8_t source[4], destination[4], *tcp;
	const struct layer_ip ip = {
		.layer3 = LAYER3_IPV4, .ttl = TTL, .protocol = PROTOCOL_TCP,
		.length = (uint16_t)(IPV4_BYTES + length),
		.source = source, .destination = destination,
	};
	uint16_t at, end;

	bytes_put_32(source, segment->source.ip);
	bytes_put_32(destination, segment->destination.ip);
	at = layer_ethernet(frame, 0, macs->destination, macs->source, TYPE_IPV4);
	at = layer_ip(frame, at, &ip);
	tcp = frame + at;
	layer_tcp(frame, at, segment->source.port, segment->destination.port, &words);
	if (segment->most != 0)
		put_option(tcp, segment->most);
	if (segment->bytes != 0)
		memcpy(tcp + header, segment->data, segment->bytes);
	bytes_put_16(tcp + 16,
		checksum_finish(checksum_add(layer_pseudo_sum(&ip, length), tcp, length)));
	end = (uint16_t)(at + length);
	if (end >= SEGMENT_SHORTEST)
		return end;
	memset(frame + end, 0, SEGMENT_SHORTEST - end);
	return SEGMENT_SHORTEST;
}

/* All options are looked at, so none of them can say that it is longer than all. */
static bool
read_options(const uint8_t *option, unsigned int left, struct segment *segment)
{
	while (left != 0 && option[0] != OPTION_END) {
		unsigned int length = 1;

		if (option[0] != OPTION_NOTHING) {
			if (left < 2 || option[1] < 2 || option[1] > left)
				return false;
			length = option[1];
		}
		if (option[0] == OPTION_MOST && length == OPTION_MOST_BYTES)
			segment->most = bytes_get_16(option + 2);
		option += length;
		left -= length;
	}
	return true;
}

static enum segment_seen
read_tcp(const uint8_t *ip, const uint8_t *tcp, uint16_t length, struct segment *segment)
{
	const struct layer_ip pseudo = {
		.layer3 = LAYER3_IPV4, .protocol = PROTOCOL_TCP,
		.source = ip + 12, .destination = ip + 16,
	};
	unsigned int header;

	if (length < TCP_BYTES)
		return SEGMENT_DAMAGED;
	header = (unsigned int)(tcp[12] >> 4) * 4;
	if (header < TCP_BYTES || header > length ||
			checksum_fold(checksum_add(layer_pseudo_sum(&pseudo, length), tcp,
			length)) != UINT16_MAX)
		return SEGMENT_DAMAGED;
	*segment = (struct segment){
		.source = { bytes_get_32(ip + 12), bytes_get_16(tcp) },
		.destination = { bytes_get_32(ip + 16), bytes_get_16(tcp + 2) },
		.sequence = bytes_get_32(tcp + 4), .acknowledgement = bytes_get_32(tcp + 8),
		.flags = tcp[13] & FLAGS, .window = bytes_get_16(tcp + 14),
		.bytes = (uint16_t)(length - header), .data = tcp + header,
	};
	return read_options(tcp + TCP_BYTES, header - TCP_BYTES, segment) ? SEGMENT_READ :
		SEGMENT_DAMAGED;
}

enum segment_seen
segment_read(const uint8_t *frame, uint16_t length, struct segment *segment)
{
	const uint8_t *ip = frame + IP_BEGIN;
	uint16_t header, whole;

	if (length < IP_BEGIN + IPV4_BYTES || bytes_get_16(frame + IP_BEGIN - 2) != TYPE_IPV4 ||
			ip[0] >> 4 != IPV4_VERSION)
		return SEGMENT_FOREIGN;
	header = (uint16_t)((ip[0] & 0xf) * 4);
	whole = bytes_get_16(ip + 2);
	if (header < IPV4_BYTES || whole < header || length < IP_BEGIN + whole ||
			checksum_fold(checksum_add(0, ip, header)) != UINT16_MAX)
		return SEGMENT_DAMAGED;
	if (ip[9] != PROTOCOL_TCP || (bytes_get_16(ip + 6) & IPV4_PIECE) != 0)
		return SEGMENT_FOREIGN;
	return read_tcp(ip, ip + header, (uint16_t)(whole - header), segment);
}
