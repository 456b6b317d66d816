/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_LAYERS_H
#define TGEN_LAYERS_H

/*
 * Headers, one by one, written where a frame has them; each returns where the next one begins.
 * Frames and what carries them are put together from these.
 */

#include <stdint.h>

#include "traffic.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define MPLS_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define TCP_BYTES 20

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8
#define TYPE_MPLS 0x8847
#define TYPE_ETHERNET 0x6558 /* a whole frame, inside of a tunnel */

#define PROTOCOL_ICMP 1
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_GRE 47

static inline uint16_t
layer_type_of(enum layer3 layer3)
{
	return layer3 == LAYER3_IPV4 ? TYPE_IPV4 : TYPE_IPV6;
}

static inline uint16_t
layer_ip_bytes(enum layer3 layer3)
{
	return layer3 == LAYER3_IPV4 ? IPV4_BYTES : IPV6_BYTES;
}

uint16_t layer_ethernet(uint8_t *bytes, uint16_t at, const uint8_t *destination,
	const uint8_t *source, uint16_t type);

/* Behind an Ethernet header, whose type becomes that of a tag. `where` takes the tags' offsets. */
uint16_t layer_vlans(uint8_t *bytes, uint16_t at, unsigned int vlans, const uint16_t *tags,
	uint16_t type, uint16_t *where);

/* An IP header; `length` counts from its first byte to the end of the frame. */
struct layer_ip {
	enum layer3 layer3;
	uint8_t dscp, ttl, protocol;
	bool may_fragment; /* IPv4 */
	uint16_t length;
	const uint8_t *source, *destination;
};
uint16_t layer_ip(uint8_t *bytes, uint16_t at, const struct layer_ip *ip);

/* The sum of the pseudo header that UDP and TCP checksums cover. */
uint64_t layer_pseudo_sum(const struct layer_ip *ip, uint16_t length);

/* Without a checksum. */
uint16_t layer_udp(uint8_t *bytes, uint16_t at, uint16_t length, uint16_t source,
	uint16_t destination);

/* A segment without options. Without a checksum. */
uint16_t layer_tcp(uint8_t *bytes, uint16_t at, uint16_t source, uint16_t destination,
	const struct tcp_words *words);

#endif /* TGEN_LAYERS_H */
