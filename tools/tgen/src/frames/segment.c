/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "layers.h"
#include "segment.h"

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
	return packet_frame_bytes((uint16_t)(header_bytes(segment) + segment->bytes));
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
segment_write(uint8_t *frame, const struct packet_macs *macs, const struct segment *segment)
{
	const struct tcp_words words = {
		.sequence = segment->sequence, .acknowledgement = segment->acknowledgement,
		.flags = segment->flags, .window = segment->window,
	};
	uint16_t header = header_bytes(segment), length = (uint16_t)(header + segment->bytes);
	uint16_t at = packet_begin(frame, macs, PROTOCOL_TCP, segment->source.ip,
		segment->destination.ip, length);
	uint8_t *tcp = frame + at;

	layer_tcp(frame, at, segment->source.port, segment->destination.port, &words);
	if (segment->most != 0)
		put_option(tcp, segment->most);
	if (segment->bytes != 0)
		memcpy(tcp + header, segment->data, segment->bytes);
	bytes_put_16(tcp + 16,
		checksum_finish(checksum_add(packet_sum(frame + ETHERNET_BYTES, length), tcp, length)));
	return packet_end_frame(frame, (uint16_t)(at + length));
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

enum packet_seen
segment_read(const uint8_t *frame, uint16_t length, struct segment *segment)
{
	struct packet packet;
	enum packet_seen seen = packet_read(frame, length, &packet);
	const uint8_t *tcp;
	unsigned int header;

	if (seen != PACKET_READ)
		return seen;
	tcp = packet.data;
	if (packet.protocol != PROTOCOL_TCP)
		return PACKET_FOREIGN;
	if (packet.bytes < TCP_BYTES)
		return PACKET_DAMAGED;
	header = (unsigned int)(tcp[12] >> 4) * 4;
	if (header < TCP_BYTES || header > packet.bytes ||
			checksum_fold(checksum_add(packet_sum(packet.ip, packet.bytes), tcp,
			packet.bytes)) != UINT16_MAX)
		return PACKET_DAMAGED;
	*segment = (struct segment){
		.source = { bytes_get_32(packet.ip + 12), bytes_get_16(tcp) },
		.destination = { bytes_get_32(packet.ip + 16), bytes_get_16(tcp + 2) },
		.sequence = bytes_get_32(tcp + 4), .acknowledgement = bytes_get_32(tcp + 8),
		.flags = tcp[13] & FLAGS, .window = bytes_get_16(tcp + 14),
		.bytes = (uint16_t)(packet.bytes - header), .data = tcp + header,
	};
	return read_options(tcp + TCP_BYTES, header - TCP_BYTES, segment) ? PACKET_READ :
		PACKET_DAMAGED;
}
