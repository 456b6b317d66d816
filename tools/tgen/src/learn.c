/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

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

#include "arp.h"
#include "engine_private.h"
#include "layers.h"

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
	uint16_t where[2], offset = layer_ethernet(bytes, 0, to, who->mac, type);

	return layer_vlans(bytes, offset, who->vlans, who->vlan, type, where);
}

static uint16_t
write_arp(uint8_t *bytes, const struct announcement *who)
{
	static const uint8_t broadcast[MAC_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t nobody[MAC_BYTES];
	uint16_t offset = put_ethernet(bytes, who, broadcast, TYPE_ARP);

	/* A request that nobody answers, and all learn from. */
	return offset + arp_put(bytes + offset, ARP_REQUEST, (struct arp_end){ who->mac, who->ip },
		(struct arp_end){ nobody, who->ip });
}

static uint16_t
write_advertisement(uint8_t *bytes, const struct announcement *who)
{
	static const uint8_t all_nodes_mac[MAC_BYTES] = { 0x33, 0x33, 0, 0, 0, 1 };
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };
	uint16_t offset = put_ethernet(bytes, who, all_nodes_mac, TYPE_IPV6);

	return offset + arp_put_advertisement(bytes + offset,
		(struct arp_end){ who->mac, who->ip }, all_nodes, ND_OVERRIDE);
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
