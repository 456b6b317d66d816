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
#include "learn.h"
#include "workers.h"

#define LEARN_MOST_ADDRESSES 4096 /* of a stream with varying MAC addresses; tables are finite */
#define LEARN_TRIES 100
#define LEARN_PAUSE_US 100
#define LEARN_SLICES 1000 /* of a second: the controller is heard after each */
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

/* False when there is no buffer, or the port does not take it. */
static bool
announce(struct port *port, const struct announcement *who)
{
	struct error ignored;
	struct rte_mempool *pool = port_transmit_pool(port, PORT_SHORT, &ignored);
	struct rte_mbuf *buffer = pool != NULL ? rte_pktmbuf_alloc(pool) : NULL;
	uint16_t length;

	if (buffer == NULL)
		return false;
	buffer->hash.usr = 0; /* holds no stream's fill bytes any more */
	memset(rte_pktmbuf_mtod(buffer, void *), 0, TGEN_MIN_FRAME);
	length = who->ipv6 ? write_advertisement(rte_pktmbuf_mtod(buffer, uint8_t *), who) :
		write_arp(rte_pktmbuf_mtod(buffer, uint8_t *), who);
	length = RTE_MAX(length, TGEN_MIN_FRAME - TGEN_FCS);
	buffer->data_len = length;
	buffer->pkt_len = length;
	if (rte_eth_tx_burst(port->id, 0, &buffer, 1) == 1)
		return true;
	rte_pktmbuf_free(buffer);
	return false;
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

/* How many MAC addresses one end of a stream has, and how far apart; outside of a tunnel only one. */
static uint32_t
count_macs(const struct stream *stream, bool is_source, uint32_t *step)
{
	enum field field = is_source ? FIELD_SOURCE_MAC : FIELD_DESTINATION_MAC;
	const struct flows *flows = &stream->flows;
	unsigned int i;

	*step = 0;
	if (stream->headers.outer.kind != ENCAPSULATION_NONE)
		return 1;
	for (i = 0; i < flows->variations; i++) {
		if (flows->variation[i].field != field)
			continue;
		*step = flows->variation[i].step;
		return RTE_MIN(flows->variation[i].count, (uint32_t)LEARN_MOST_ADDRESSES);
	}
	return 1;
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

/* One address is announced: go to the next one, end, stream, or round. */
static void
advance(struct engine *engine, uint32_t addresses)
{
	struct learning *learning = &engine->learning;

	learning->refusals = 0;
	/* A switch learns slower than it forwards. */
	if (++learning->address % PORT_BURST == 0)
		rte_delay_us_sleep(LEARN_PAUSE_US);
	if (learning->address < addresses)
		return;
	learning->address = 0;
	learning->is_destination = !learning->is_destination;
	if (learning->is_destination || ++learning->stream < engine->traffic.streams)
		return;
	learning->stream = 0;
	learning->round++;
}

/* Announce the next address; false when there is none, or its port takes nothing. */
static bool
learn_next(struct engine *engine)
{
	struct learning *learning = &engine->learning;
	const struct stream *stream = &engine->traffic.stream[learning->stream];
	bool is_source = !learning->is_destination;
	uint32_t step, addresses = count_macs(stream, is_source, &step);
	struct announcement who;

	if (learning->round == learning->rounds)
		return false;
	if (engine->replay[learning->stream] != NULL) {
		advance(engine, 1); /* the addresses in a file are nobody's here */
		return true;
	}
	describe(&who, &stream->headers, is_source);
	add_to_mac(who.mac, (uint64_t)learning->address * step);
	if (announce(&engine->port[is_source ? stream->transmit_port : stream->receive_port], &who)) {
		advance(engine, addresses);
		return true;
	}
	rte_delay_us_sleep(LEARN_PAUSE_US);
	return ++learning->refusals < LEARN_TRIES;
}

void
learn_poll(struct engine *engine)
{
	uint64_t begin = rte_rdtsc();

	while (rte_rdtsc() - begin < engine->tsc_hz / LEARN_SLICES) {
		if (learn_next(engine))
			continue;
		engine->phase = PHASE_NONE;
		engine->state = ENGINE_DONE;
		return;
	}
}

int
engine_learn(struct engine *engine, unsigned int rounds, struct error *error)
{
	int ret = engine_check_idle(engine, error);

	if (ret != 0)
		return ret;
	if (engine->traffic.streams == 0)
		return error_set(error, -EINVAL, "not-configured", "no traffic is configured");
	engine->learning = (struct learning){ .rounds = rounds };
	engine->state = ENGINE_RUNNING;
	engine->phase = PHASE_LEARNING;
	return 0;
}

int
engine_learned(const struct engine *engine, unsigned int *rounds, struct error *error)
{
	const struct learning *learning = &engine->learning;

	*rounds = learning->round;
	if (learning->refusals == LEARN_TRIES)
		return error_set(error, -EAGAIN, "not-sent",
			"learning frames of stream %u were not taken by its port",
			learning->stream);
	return 0;
}
