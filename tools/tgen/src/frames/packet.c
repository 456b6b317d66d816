/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "bytes.h"
#include "checksum.h"
#include "layers.h"
#include "packet.h"

#define TTL 64
#define IP_BEGIN ETHERNET_BYTES
#define VERSION 4
#define PIECE 0x3fff /* more fragments follow, or come before */

enum packet_seen
packet_read(const uint8_t *frame, uint16_t length, struct packet *packet)
{
	const uint8_t *ip = frame + IP_BEGIN;
	uint16_t header, whole;

	if (length < IP_BEGIN + IPV4_BYTES || bytes_get_16(frame + IP_BEGIN - 2) != TYPE_IPV4 ||
			ip[0] >> 4 != VERSION)
		return PACKET_FOREIGN;
	header = (uint16_t)((ip[0] & 0xf) * 4);
	whole = bytes_get_16(ip + 2);
	if (header < IPV4_BYTES || whole < header || length < IP_BEGIN + whole ||
			checksum_fold(checksum_add(0, ip, header)) != UINT16_MAX)
		return PACKET_DAMAGED;
	if ((bytes_get_16(ip + 6) & PIECE) != 0)
		return PACKET_FOREIGN;
	*packet = (struct packet){
		.ip = ip, .header = header, .protocol = ip[9],
		.bytes = (uint16_t)(whole - header), .data = ip + header,
	};
	return PACKET_READ;
}

uint16_t
packet_begin(uint8_t *frame, const struct packet_macs *macs, uint8_t protocol, uint32_t source,
	uint32_t destination, uint16_t bytes)
{
	uint8_t from[4], to[4];
	const struct layer_ip ip = {
		.layer3 = LAYER3_IPV4, .ttl = TTL, .protocol = protocol,
		.length = (uint16_t)(IPV4_BYTES + bytes), .source = from, .destination = to,
	};

	bytes_put_32(from, source);
	bytes_put_32(to, destination);
	return layer_ip(frame, layer_ethernet(frame, 0, macs->destination, macs->source, TYPE_IPV4),
		&ip);
}

