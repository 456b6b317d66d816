/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "datagram.h"
#include "layers.h"

#define ICMP_BYTES 8
#define UNREACHABLE 3
#define PORT_UNREACHABLE 3
#define TOO_LONG 4 /* to go on whole: that says nothing of who is there */
#define VERSION 4

uint16_t
datagram_frame_bytes(const struct datagram *datagram)
{
	return packet_frame_bytes((uint16_t)(UDP_BYTES + datagram->bytes));
}

uint16_t
datagram_write(uint8_t *frame, const struct packet_macs *macs, const struct datagram *datagram)
{
	uint16_t length = (uint16_t)(UDP_BYTES + datagram->bytes);
	uint16_t at = packet_begin(frame, macs, PROTOCOL_UDP, datagram->source.ip,
		datagram->destination.ip, length);
	uint8_t *udp = frame + at, *data = udp + UDP_BYTES;

	layer_udp(frame, at, length, datagram->source.port, datagram->destination.port);
	if (datagram->bytes != 0) {
		bytes_put_32(data, datagram->number);
		memcpy(data + DATAGRAM_NUMBER, datagram->data + DATAGRAM_NUMBER,
			datagram->bytes - (size_t)DATAGRAM_NUMBER);
	}
	bytes_put_16(udp + 6,
		checksum_finish_udp(checksum_add(packet_sum(frame + ETHERNET_BYTES, length), udp, length)));
	return packet_end_frame(frame, (uint16_t)(at + length));
}

uint16_t
datagram_refusal_bytes(const struct datagram *datagram)
{
	return packet_frame_bytes((uint16_t)(ICMP_BYTES + datagram->quoted));
}

uint16_t
datagram_refuse(uint8_t *frame, const struct packet_macs *macs, const struct datagram *datagram)
{
	uint16_t length = (uint16_t)(ICMP_BYTES + datagram->quoted);
	uint16_t at = packet_begin(frame, macs, PROTOCOL_ICMP, datagram->destination.ip,
		datagram->source.ip, length);
	uint8_t *icmp = frame + at;

	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = UNREACHABLE;
	icmp[1] = PORT_UNREACHABLE;
	memcpy(icmp + ICMP_BYTES, datagram->ip, datagram->quoted);
	bytes_put_16(icmp + 2, checksum_finish(checksum_add(0, icmp, length)));
	return packet_end_frame(frame, (uint16_t)(at + length));
}

static struct datagram
between(const uint8_t *ip, const uint8_t *udp)
{
	return (struct datagram){
		.source = { bytes_get_32(ip + 12), bytes_get_16(udp) },
		.destination = { bytes_get_32(ip + 16), bytes_get_16(udp + 2) },
	};
}

/* Its checksum may be none: 0 (RFC 768). */
static enum packet_seen
read_udp(const struct packet *packet, struct datagram *datagram)
{
	const uint8_t *udp = packet->data;

	if (packet->bytes < UDP_BYTES || bytes_get_16(udp + 4) != packet->bytes ||
			(bytes_get_16(udp + 6) != 0 && checksum_fold(checksum_add(
			packet_sum(packet->ip, packet->bytes), udp, packet->bytes)) != UINT16_MAX))
		return PACKET_DAMAGED;
	*datagram = between(packet->ip, udp);
	datagram->bytes = (uint16_t)(packet->bytes - UDP_BYTES);
	datagram->data = udp + UDP_BYTES;
	if (datagram->bytes >= DATAGRAM_NUMBER)
		datagram->number = bytes_get_32(datagram->data);
	datagram->ip = packet->ip;
	datagram->quoted = (uint16_t)(packet->header + UDP_BYTES);
	return PACKET_READ;
}

/* It has the begin of the packet that did not arrive. */
static enum packet_seen
read_icmp(const struct packet *packet, struct datagram *datagram)
{
	const uint8_t *icmp = packet->data, *ip = icmp + ICMP_BYTES;
	uint16_t header;

	if (packet->bytes < ICMP_BYTES ||
			checksum_fold(checksum_add(0, icmp, packet->bytes)) != UINT16_MAX)
		return PACKET_DAMAGED;
	if (icmp[0] != UNREACHABLE || icmp[1] == TOO_LONG ||
			packet->bytes < ICMP_BYTES + IPV4_BYTES || ip[0] >> 4 != VERSION)
		return PACKET_FOREIGN;
	header = (uint16_t)((ip[0] & 0xf) * 4);
	if (header < IPV4_BYTES || packet->bytes < ICMP_BYTES + header + UDP_BYTES ||
			ip[9] != PROTOCOL_UDP)
		return PACKET_FOREIGN;
	*datagram = between(ip, ip + header);
	datagram->is_unreachable = true;
	return PACKET_READ;
}

enum packet_seen
datagram_read(const uint8_t *frame, uint16_t length, struct datagram *datagram)
{
	struct packet packet;
	enum packet_seen seen = packet_read(frame, length, &packet);

	if (seen != PACKET_READ)
		return seen;
	if (packet.protocol == PROTOCOL_UDP)
		return read_udp(&packet, datagram);
	return packet.protocol == PROTOCOL_ICMP ? read_icmp(&packet, datagram) : PACKET_FOREIGN;
}
