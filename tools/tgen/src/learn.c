/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Frames that tell switches and neighbours where the addresses of the streams are: the source
 * addresses behind the port that sends, the destination addresses behind the one that receives.
 * A gratuitous ARP request for IPv4, an unsolicited neighbour advertisement for IPv6; of a tunnel
 * it is the outer addresses that the network sees.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "bytes.h"
#include "engine_private.h"

#define LEARN_MOST_ADDRESSES 4096 /* of a stream with varying MAC addresses; tables are finite */
#define LEARN_TRIES 100
#define LEARN_PAUSE_US 100
#define MAC_BYTES RTE_ETHER_ADDR_LEN

/* Whom a frame announces. */
struct announcement {
	uint8_t mac[MAC_BYTES];
	uint8_t ip[16];
	bool ipv6;
	uint8_t vlans;
	uint16_t vlan[2];
};

static uint16_t
put_ethernet(uint8_t *bytes, const struct announcement *who, const uint8_t *to, uint16_t type)
{
	uint16_t offset = 2 * MAC_BYTES;
	unsigned int i;

	memcpy(bytes, to, MAC_BYTES);
	memcpy(bytes + MAC_BYTES, who->mac, MAC_BYTES);
	for (i = 0; i < who->vlans; i++) {
		bool outer = who->vlans == 2 && i == 0;

		bytes_put_16(bytes + offset, outer ? RTE_ETHER_TYPE_QINQ : RTE_ETHER_TYPE_VLAN);
		bytes_put_16(bytes + offset + 2, who->vlan[i]);
		offset += 4;
	}
	bytes_put_16(bytes + offset, type);
	return offset + 2;
}

static uint16_t
write_arp(uint8_t *bytes, const struct announcement *who)
{
	static const uint8_t broadcast[MAC_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint16_t offset = put_ethernet(bytes, who, broadcast, RTE_ETHER_TYPE_ARP);
	uint8_t *arp = bytes + offset;

	bytes_put_16(arp, 1); /* Ethernet */
	bytes_put_16(arp + 2, RTE_ETHER_TYPE_IPV4);
	arp[4] = MAC_BYTES;
	arp[5] = 4;
	bytes_put_16(arp + 6, 1); /* request: answered by nobody, learned from by all */
	memcpy(arp + 8, who->mac, MAC_BYTES);
	memcpy(arp + 14, who->ip, 4);
	memset(arp + 18, 0, MAC_BYTES);
	memcpy(arp + 24, who->ip, 4);
	return offset + 28;
}

static uint16_t
icmpv6_checksum(const uint8_t *ip, uint16_t length)
{
	uint32_t sum = length + 58u; /* pseudo header: length, next header, addresses */
	unsigned int i;

	for (i = 8; i < 40u + length; i += 2)
		sum += bytes_get_16(ip + i);
	while (sum >> 16 != 0)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint16_t
write_advertisement(uint8_t *bytes, const struct announcement *who)
{
	static const uint8_t all_nodes_mac[MAC_BYTES] = { 0x33, 0x33, 0, 0, 0, 1 };
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };
	uint16_t offset = put_ethernet(bytes, who, all_nodes_mac, RTE_ETHER_TYPE_IPV6);
	uint8_t *ip = bytes + offset, *advertisement = ip + 40;

	memset(ip, 0, 72);
	ip[0] = 6 << 4;
	bytes_put_16(ip + 4, 32);
	ip[6] = 58; /* ICMPv6 */
	ip[7] = 255;
	memcpy(ip + 8, who->ip, 16);
	memcpy(ip + 24, all_nodes, 16);
	advertisement[0] = 136; /* neighbour advertisement */
	advertisement[4] = 0x20; /* override what was known */
	memcpy(advertisement + 8, who->ip, 16);
	advertisement[24] = 2; /* option: target link-layer address */
	advertisement[25] = 1;
	memcpy(advertisement + 26, who->mac, MAC_BYTES);
	bytes_put_16(advertisement + 2, icmpv6_checksum(ip, 32));
	return offset + 72;
}

static int
announce(const struct port *port, const struct announcement *who)
{
	struct rte_mbuf *buffer = rte_pktmbuf_alloc(port->receive_pool);
	uint16_t length;
	unsigned int i;

	if (buffer == NULL)
		return -ENOBUFS;
	buffer->hash.usr = 0; /* holds no stream's fill bytes any more */
	memset(rte_pktmbuf_mtod(buffer, void *), 0, TGEN_MIN_FRAME);
	length = who->ipv6 ? write_advertisement(rte_pktmbuf_mtod(buffer, uint8_t *), who) :
		write_arp(rte_pktmbuf_mtod(buffer, uint8_t *), who);
	length = RTE_MAX(length, TGEN_MIN_FRAME - TGEN_FCS);
	buffer->data_len = length;
	buffer->pkt_len = length;
	for (i = 0; i < LEARN_TRIES; i++) {
		if (rte_eth_tx_burst(port->id, 0, &buffer, 1) == 1)
			return 0;
		rte_delay_us_sleep(LEARN_PAUSE_US);
	}
	rte_pktmbuf_free(buffer);
	return -EAGAIN;
}

static void
add_to_mac(uint8_t *mac, uint64_t value)
{
	int i;

	for (i = MAC_BYTES - 1; i >= 0; i--) {
		value += mac[i];
		mac[i] = (uint8_t)value;
		value >>= 8;
	}
}

static uint32_t
mac_variation(const struct flows *flows, enum field field, uint32_t *step)
{
	unsigned int i;

	for (i = 0; i < flows->variations; i++) {
		if (flows->variation[i].field != field)
			continue;
		*step = flows->variation[i].step;
		return RTE_MIN(flows->variation[i].count, (uint32_t)LEARN_MOST_ADDRESSES);
	}
	*step = 0;
	return 1;
}

static int
announce_all(const struct port *port, struct announcement *who, const struct flows *flows,
	enum field field)
{
	uint32_t step, count = mac_variation(flows, field, &step), i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = announce(port, who);
		if (ret != 0)
			return ret;
		add_to_mac(who->mac, step);
		/* A switch learns slower than it forwards. */
		if (i % PORT_BURST == PORT_BURST - 1)
			rte_delay_us_sleep(LEARN_PAUSE_US);
	}
	return 0;
}

static void
describe(struct announcement *who, const struct headers *headers, bool source)
{
	const struct outer *outer = &headers->outer;

	memset(who, 0, sizeof(*who));
	if (outer->kind != ENCAPSULATION_NONE) {
		memcpy(who->mac, source ? outer->source_mac : outer->destination_mac, MAC_BYTES);
		memcpy(who->ip, source ? outer->source_ip : outer->destination_ip, 16);
		who->ipv6 = outer->layer3 == LAYER3_IPV6;
		who->vlans = outer->vlans;
		memcpy(who->vlan, outer->vlan, sizeof(who->vlan));
		return;
	}
	memcpy(who->mac, source ? headers->source_mac : headers->destination_mac, MAC_BYTES);
	memcpy(who->ip, source ? headers->source_ip : headers->destination_ip, 16);
	who->ipv6 = headers->layer3 == LAYER3_IPV6;
	who->vlans = headers->vlans;
	memcpy(who->vlan, headers->vlan, sizeof(who->vlan));
}

static int
learn_stream(const struct engine *engine, const struct stream *stream)
{
	static const struct flows none = { .count = 1 };
	bool in_tunnel = stream->headers.outer.kind != ENCAPSULATION_NONE;
	const struct flows *flows = in_tunnel ? &none : &stream->flows;
	struct announcement who;
	int ret;

	describe(&who, &stream->headers, true);
	ret = announce_all(&engine->port[stream->transmit_port], &who, flows, FIELD_SOURCE_MAC);
	if (ret != 0)
		return ret;
	describe(&who, &stream->headers, false);
	return announce_all(&engine->port[stream->receive_port], &who, flows,
		FIELD_DESTINATION_MAC);
}

int
engine_learn(struct engine *engine, unsigned int rounds, struct error *error)
{
	unsigned int round, i;
	int ret;

	if (engine->state == ENGINE_RUNNING)
		return error_set(error, -EBUSY, "busy", "a trial is running");
	if (engine->traffic.streams == 0)
		return error_set(error, -EINVAL, "not-configured", "no traffic is configured");
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < engine->traffic.streams; i++) {
			ret = learn_stream(engine, &engine->traffic.stream[i]);
			if (ret != 0)
				return error_set(error, ret, "not-sent",
					"learning frames of stream %u were not taken by its port",
					i);
		}
	}
	return 0;
}
