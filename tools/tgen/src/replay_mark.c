/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Which frames of a file have room for the test payload, and what their checksums then are. */

#include <rte_ether.h>

#include "bytes.h"
#include "checksum.h"
#include "payload.h"
#include "replay.h"

#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define UDP_HEADER 8
#define TCP_HEADER 20
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define FRAGMENT_BITS 0x3fff /* more of them, or not the first one */

/* From the start of the frame. */
struct layers {
	uint16_t layer4, end; /* of the IP packet */
	uint8_t protocol;
};

static bool
find_ipv4(const uint8_t *bytes, uint16_t length, uint16_t ip, struct layers *layers)
{
	uint16_t header, total;

	if (length - ip < IPV4_HEADER || bytes[ip] >> 4 != 4)
		return false;
	header = (bytes[ip] & 0xf) * 4;
	total = bytes_get_16(bytes + ip + 2);
	if (header < IPV4_HEADER || total < header || total > length - ip)
		return false;
	/* The checksum of a fragment is in another frame. */
	if ((bytes_get_16(bytes + ip + 6) & FRAGMENT_BITS) != 0)
		return false;
	layers->protocol = bytes[ip + 9];
	layers->layer4 = ip + header;
	layers->end = ip + total;
	return true;
}

/* Extension headers are not looked behind. */
static bool
find_ipv6(const uint8_t *bytes, uint16_t length, uint16_t ip, struct layers *layers)
{
	uint16_t payload;

	if (length - ip < IPV6_HEADER || bytes[ip] >> 4 != 6)
		return false;
	payload = bytes_get_16(bytes + ip + 4);
	if (payload > length - ip - IPV6_HEADER)
		return false;
	layers->protocol = bytes[ip + 6];
	layers->layer4 = ip + IPV6_HEADER;
	layers->end = layers->layer4 + payload;
	return true;
}

static bool
find_layers(const uint8_t *bytes, uint16_t length, struct layers *layers)
{
	uint16_t offset = 2 * RTE_ETHER_ADDR_LEN, type = bytes_get_16(bytes + offset);

	while ((type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) &&
			length - offset >= 2 + 4) {
		offset += 4;
		type = bytes_get_16(bytes + offset);
	}
	offset += 2;
	if (type == RTE_ETHER_TYPE_IPV4)
		return find_ipv4(bytes, length, offset, layers);
	return type == RTE_ETHER_TYPE_IPV6 && find_ipv6(bytes, length, offset, layers);
}

/* What such a port carries has a frame of its own inside, which a mark would damage. */
static bool
is_tunnel(uint16_t port)
{
	static const uint16_t ports[] = {
		1701 /* L2TP */, 2152 /* GTP-U */, 4500 /* IPsec */, 4754 /* GRE */, 4789 /* VXLAN */,
		4790 /* VXLAN-GPE */, 6081 /* Geneve */, 6635 /* MPLS */, 8472 /* VXLAN, as of Linux */,
	};
	unsigned int i;

	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		if (port == ports[i])
			return true;
	return false;
}

/* Where the payload of UDP or TCP begins; 0 when it is neither, or not one that we may change. */
static uint16_t
find_payload(const uint8_t *bytes, const struct layers *layers)
{
	const uint8_t *header = bytes + layers->layer4;
	uint16_t size = layers->end - layers->layer4;

	if (layers->protocol == PROTOCOL_UDP && size >= UDP_HEADER &&
			bytes_get_16(header + 4) == size && !is_tunnel(bytes_get_16(header)) &&
			!is_tunnel(bytes_get_16(header + 2)))
		return layers->layer4 + UDP_HEADER;
	if (layers->protocol == PROTOCOL_TCP && size >= TCP_HEADER &&
			header[12] >> 4 >= TCP_HEADER / 4 && (header[12] >> 4) * 4 <= size)
		return layers->layer4 + (header[12] >> 4) * 4;
	return 0;
}

/*
 * Any mark adds up to zero, so what is left is to take the bytes out of the checksum that it will
 * stand in place of.
 */
static void
mend_checksum(uint8_t *bytes, const struct layers *layers, uint16_t mark)
{
	bool is_udp = layers->protocol == PROTOCOL_UDP;
	uint8_t *where = bytes + layers->layer4 + (is_udp ? 6 : 16);
	uint16_t checksum = bytes_get_16(where);
	uint16_t sum = checksum_fold(checksum_add(0, bytes + mark, TGEN_PAYLOAD_BYTES));
	uint64_t rest;

	if (is_udp && checksum == 0)
		return; /* there is none */
	if ((mark - layers->layer4) % 2 != 0)
		sum = (uint16_t)(sum << 8 | sum >> 8);
	rest = checksum_without(checksum, sum);
	bytes_put_16(where, is_udp ? checksum_finish_udp(rest) : checksum_finish(rest));
}

uint16_t
replay_mark(uint8_t *bytes, uint16_t length, uint16_t *fill)
{
	uint16_t mark = length - TGEN_PAYLOAD_BYTES, payload = 0;
	struct payload old;
	struct layers layers;

	if (find_layers(bytes, length, &layers))
		payload = find_payload(bytes, &layers);
	if (payload != 0 && layers.end - payload >= TGEN_PAYLOAD_BYTES) {
		mark = layers.end - TGEN_PAYLOAD_BYTES;
		mend_checksum(bytes, &layers, mark);
		memset(bytes + mark, 0, TGEN_PAYLOAD_BYTES);
		*fill = payload;
		return mark;
	}
	/* A frame that tgen once made, in a tunnel: a new mark takes the place of its old one. */
	if (payload_read(bytes + mark, &old) == PAYLOAD_OURS) {
		*fill = mark;
		return mark;
	}
	*fill = length;
	return REPLAY_UNMARKED;
}
