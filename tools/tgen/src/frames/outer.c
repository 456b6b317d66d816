/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>

#include "bytes.h"
#include "layers.h"
#include "outer.h"

#define TUNNEL_BYTES 8
#define GRE_BARE_BYTES 4 /* without a key */
#define GRE_HAS_KEY 0x2000
#define VXLAN_HAS_VNI 0x08000000
#define GTPU_VERSION_1 0x30
#define GTPU_PACKET 0xff /* a packet of a user */

const struct outer_kind outer_kinds[] = {
	[ENCAPSULATION_NONE] = { "none", "none", 0, 0 },
	[ENCAPSULATION_VXLAN] = { "VXLAN", "VNI", 24, 4789 },
	[ENCAPSULATION_GENEVE] = { "Geneve", "VNI", 24, 6081 },
	[ENCAPSULATION_GRE] = { "GRE", "key", 32, 0 },
	[ENCAPSULATION_GTPU] = { "GTP-U", "TEID", 32, 2152 },
};

static uint16_t
tunnel_bytes(const struct outer *outer)
{
	if (outer->kind == ENCAPSULATION_GRE)
		return outer->has_id ? TUNNEL_BYTES : GRE_BARE_BYTES;
	return UDP_BYTES + TUNNEL_BYTES;
}

uint16_t
outer_bytes(const struct outer *outer)
{
	if (outer->kind == ENCAPSULATION_NONE)
		return 0;
	return (uint16_t)(ETHERNET_BYTES + VLAN_BYTES * outer->vlans +
		layer_ip_bytes(outer->layer3) + tunnel_bytes(outer));
}

int
outer_check(const struct headers *headers, struct error *error)
{
	const struct outer *outer = &headers->outer;
	const struct outer_kind *kind;

	if (outer->kind == ENCAPSULATION_NONE)
		return 0;
	if ((unsigned int)outer->kind >= OUTER_KINDS)
		return error_set(error, -EINVAL, "bad-value", "there is no encapsulation %d",
			(int)outer->kind);
	kind = &outer_kinds[outer->kind];
	if (outer->layer3 != LAYER3_IPV4 && outer->layer3 != LAYER3_IPV6)
		return error_set(error, -EINVAL, "bad-value",
			"the outer layer 3 is neither IPv4 nor IPv6");
	if ((outer->source_mac[0] & 1) != 0)
		return error_set(error, -EINVAL, "bad-value",
			"the outer source MAC is a group address");
	if (outer->vlans > 2)
		return error_set(error, -EINVAL, "bad-value",
			"%u outer VLAN tags: there can be 0 to 2", outer->vlans);
	if ((uint64_t)outer->id >> kind->id_bits != 0)
		return error_set(error, -EINVAL, "bad-value", "%s %u does not fit in %u bits",
			kind->id, outer->id, kind->id_bits);
	if (outer->carries_ip && (headers->vlans != 0 || headers->mpls_labels != 0))
		return error_set(error, -EINVAL, "bad-value",
			"%s carries IP without Ethernet here: no VLAN tag or MPLS label fits inside",
			kind->name);
	return 0;
}

/* The tunnel's own header; where it has an id, that is in its second four bytes. */
static uint16_t
put_tunnel(const struct headers *headers, uint8_t *bytes, uint16_t at, uint16_t length)
{
	const struct outer *outer = &headers->outer;
	uint16_t inside = outer->carries_ip ? layer_type_of(headers->layer3) : TYPE_ETHERNET;
	uint8_t *tunnel = bytes + at;

	switch (outer->kind) {
	case ENCAPSULATION_NONE:
		return at;
	case ENCAPSULATION_VXLAN:
		bytes_put_32(tunnel, VXLAN_HAS_VNI);
		bytes_put_32(tunnel + 4, outer->id << 8);
		break;
	case ENCAPSULATION_GENEVE:
		bytes_put_32(tunnel, inside);
		bytes_put_32(tunnel + 4, outer->id << 8);
		break;
	case ENCAPSULATION_GRE:
		bytes_put_16(tunnel, outer->has_id ? GRE_HAS_KEY : 0);
		bytes_put_16(tunnel + 2, inside);
		if (!outer->has_id)
			return (uint16_t)(at + GRE_BARE_BYTES);
		bytes_put_32(tunnel + 4, outer->id);
		break;
	case ENCAPSULATION_GTPU:
		tunnel[0] = GTPU_VERSION_1;
		tunnel[1] = GTPU_PACKET;
		bytes_put_16(tunnel + 2, (uint16_t)(length - TUNNEL_BYTES));
		bytes_put_32(tunnel + 4, outer->id);
		break;
	}
	return (uint16_t)(at + TUNNEL_BYTES);
}

uint16_t
outer_put(const struct headers *headers, struct frame *frame)
{
	const struct outer *outer = &headers->outer;
	uint16_t udp_port = outer_kinds[outer->kind].udp_port;
	uint16_t where[2], at;
	struct layer_ip ip = {
		.layer3 = outer->layer3,
		.dscp = headers->dscp,
		.ttl = headers->ttl,
		.protocol = udp_port != 0 ? PROTOCOL_UDP : PROTOCOL_GRE,
		.source = outer->source_ip,
		.destination = outer->destination_ip,
	};

	if (outer->kind == ENCAPSULATION_NONE)
		return 0;
	frame->outer_ethernet = 0;
	at = layer_ethernet(frame->bytes, 0, outer->destination_mac, outer->source_mac,
		layer_type_of(outer->layer3));
	at = layer_vlans(frame->bytes, at, outer->vlans, outer->vlan,
		layer_type_of(outer->layer3), where);
	frame->outer_ip = at;
	ip.length = (uint16_t)(frame->length - at);
	at = layer_ip(frame->bytes, at, &ip);
	if (udp_port != 0) {
		frame->outer_udp = at;
		at = layer_udp(frame->bytes, at, (uint16_t)(frame->length - at), 0, udp_port);
	}
	frame->tunnel = at;
	return put_tunnel(headers, frame->bytes, at, (uint16_t)(frame->length - at));
}
