/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "arp.h"
#include "bytes.h"
#include "hosts.h"
#include "layers.h"
#include "neighbours.h"

#define MAC_BYTES 6
#define MOST_TAGS 2
#define SHORTEST 60

static void
add(struct neighbours *neighbours, enum layer3 layer3, const uint8_t *ip, const uint8_t *mac)
{
	struct neighbour *neighbour = &neighbours->neighbour[neighbours->count++];

	neighbour->layer3 = layer3;
	neighbour->count = 1;
	neighbour->step = 1;
	memcpy(neighbour->ip, ip, layer3 == LAYER3_IPV4 ? 4 : 16);
	memcpy(neighbour->mac, mac, MAC_BYTES);
}

/* Of a stream: the inner address, as often as it varies, and that of a tunnel's end. */
static void
add_end(struct neighbours *neighbours, const struct stream *stream, bool is_source,
	const uint8_t *mac, const uint8_t *outer_mac)
{
	const struct headers *headers = &stream->headers;
	const struct outer *outer = &headers->outer;
	enum field field = is_source ? FIELD_SOURCE_IP : FIELD_DESTINATION_IP;
	struct neighbour *inner = &neighbours->neighbour[neighbours->count];
	unsigned int i;

	if (stream->replay[0] != '\0')
		return; /* the addresses in a file belong to nobody here */
	add(neighbours, headers->layer3, is_source ? headers->source_ip : headers->destination_ip,
		mac);
	for (i = 0; i < stream->flows.variations; i++) {
		if (stream->flows.variation[i].field != field)
			continue;
		inner->count = stream->flows.variation[i].count;
		inner->step = stream->flows.variation[i].step;
	}
	if (outer->kind != ENCAPSULATION_NONE)
		add(neighbours, outer->layer3,
			is_source ? outer->source_ip : outer->destination_ip, outer_mac);
}

void
neighbours_fill(struct neighbours *neighbours, uint16_t port, const struct responder *responder,
	const struct traffic *traffic)
{
	uint8_t mac[MAC_BYTES], outer_mac[MAC_BYTES];
	unsigned int i;

	memset(neighbours, 0, sizeof(*neighbours));
	if (!responder->on)
		return;
	for (i = 0; i < responder->hosts; i++) {
		const struct host *host = &responder->host[i];

		if (host->port == port)
			add(neighbours, host->layer3, host->ip, host->mac);
	}
	for (i = 0; i < traffic->streams; i++) {
		const struct stream *stream = &traffic->stream[i];

		if (stream->transmit_port == port)
			add_end(neighbours, stream, true, stream->headers.source_mac,
				stream->headers.outer.source_mac);
	}
	hosts_default_mac(port, false, mac);
	hosts_default_mac(port, true, outer_mac);
	for (i = 0; i < traffic->streams; i++)
		if (traffic->stream[i].receive_port == port)
			add_end(neighbours, &traffic->stream[i], false, mac, outer_mac);
}

/* The last bytes of an address are a number; those before it have to be the same. */
static bool
has_address(const struct neighbour *neighbour, const uint8_t *ip)
{
	size_t network = neighbour->layer3 == LAYER3_IPV4 ? 0 : 8;
	uint64_t first, asked;

	if (memcmp(neighbour->ip, ip, network) != 0)
		return false;
	if (neighbour->layer3 == LAYER3_IPV4) {
		first = bytes_get_32(neighbour->ip);
		asked = bytes_get_32(ip);
	} else {
		first = bytes_get_64(neighbour->ip + network);
		asked = bytes_get_64(ip + network);
	}
	return asked >= first && (asked - first) % neighbour->step == 0 &&
		(asked - first) / neighbour->step < neighbour->count;
}

static const uint8_t *
find_mac(const struct neighbours *neighbours, enum layer3 layer3, const uint8_t *ip)
{
	unsigned int i;

	for (i = 0; i < neighbours->count; i++) {
		const struct neighbour *neighbour = &neighbours->neighbour[i];

		if (neighbour->layer3 == layer3 && has_address(neighbour, ip))
			return neighbour->mac;
	}
	return NULL;
}

/* Where the network layer begins, behind Ethernet and tags; 0 if there are too many, or too few bytes. */
static uint16_t
find_layer3(const uint8_t *frame, uint16_t length, uint16_t *type)
{
	uint16_t at = ETHERNET_BYTES;
	unsigned int tags;

	for (tags = 0; tags <= MOST_TAGS && length >= at; tags++) {
		*type = bytes_get_16(frame + at - 2);
		if (*type != TYPE_VLAN && *type != TYPE_QINQ)
			return at;
		at += VLAN_BYTES;
	}
	return 0;
}

/* To whoever asked, from the MAC address that was asked for, in the same VLANs. */
static void
answer_layer2(uint8_t *answer, const uint8_t *frame, uint16_t layer3, const uint8_t *mac)
{
	memcpy(answer, frame, layer3);
	memcpy(answer, frame + MAC_BYTES, MAC_BYTES);
	memcpy(answer + MAC_BYTES, mac, MAC_BYTES);
}

static uint16_t
answer_arp(const struct neighbours *neighbours, const uint8_t *frame, uint16_t layer3,
	uint8_t *answer)
{
	const uint8_t *asked = frame + layer3;
	const uint8_t *mac;

	if (bytes_get_64(asked) != ARP_REQUEST)
		return 0;
	/* Who tells everybody an address of its own wants no answer. */
	if (memcmp(asked + 14, asked + 24, 4) == 0)
		return 0;
	mac = find_mac(neighbours, LAYER3_IPV4, asked + 24);
	if (mac == NULL)
		return 0;
	answer_layer2(answer, frame, layer3, mac);
	return (uint16_t)(layer3 + arp_put(answer + layer3, ARP_REPLY,
		(struct arp_end){ mac, asked + 24 }, (struct arp_end){ asked + 8, asked + 14 }));
}

/* A solicitation as RFC 4861, section 7.1.1 wants it, of which enough is here to be sure. */
static bool
is_solicitation(const uint8_t *ip, uint16_t length)
{
	uint16_t payload = bytes_get_16(ip + 4);

	return ip[0] >> 4 == 6 && ip[6] == PROTOCOL_ICMPV6 && ip[7] == UINT8_MAX &&
		payload >= ND_BYTES && length >= IPV6_BYTES + payload &&
		ip[IPV6_BYTES] == ND_SOLICITATION && ip[IPV6_BYTES + 1] == 0 &&
		arp_icmpv6_sum(ip, payload) == UINT16_MAX;
}

static uint16_t
answer_solicitation(const struct neighbours *neighbours, const uint8_t *frame, uint16_t length,
	uint16_t layer3, uint8_t *answer)
{
	static const uint8_t nobody[16], all_nodes[16] = { 0xff, 0x02, [15] = 1 };
	static const uint8_t all_nodes_mac[MAC_BYTES] = { 0x33, 0x33, 0, 0, 0, 1 };
	const uint8_t *ip = frame + layer3, *target = ip + IPV6_BYTES + 8, *mac;
	bool is_known;

	if (length < layer3 + IPV6_BYTES + ND_BYTES || !is_solicitation(ip, length - layer3))
		return 0;
	mac = find_mac(neighbours, LAYER3_IPV6, target);
	if (mac == NULL)
		return 0;
	answer_layer2(answer, frame, layer3, mac);
	/* Whoever has no address yet looks for somebody who has the one that it wants. */
	is_known = memcmp(ip + 8, nobody, 16) != 0;
	if (!is_known)
		memcpy(answer, all_nodes_mac, MAC_BYTES);
	return (uint16_t)(layer3 + arp_put_advertisement(answer + layer3,
		(struct arp_end){ mac, target },
		is_known ? ip + 8 : all_nodes, is_known ? ND_SOLICITED | ND_OVERRIDE : ND_OVERRIDE));
}

uint16_t
neighbours_answer(const struct neighbours *neighbours, const uint8_t *frame, uint16_t length,
	uint8_t answer[NEIGHBOURS_ANSWER])
{
	uint16_t type = 0, layer3 = find_layer3(frame, length, &type), written = 0;

	memset(answer, 0, NEIGHBOURS_ANSWER);
	if (layer3 == 0)
		return 0;
	if (type == TYPE_ARP && length >= layer3 + ARP_BYTES)
		written = answer_arp(neighbours, frame, layer3, answer);
	else if (type == TYPE_IPV6)
		written = answer_solicitation(neighbours, frame, length, layer3, answer);
	return written == 0 || written > SHORTEST ? written : SHORTEST;
}
