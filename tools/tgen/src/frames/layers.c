/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "layers.h"

#define IPV4_DO_NOT_FRAGMENT 0x4000

uint16_t
layer_ethernet(uint8_t *bytes, uint16_t at, const uint8_t *destination, const uint8_t *source,
	uint16_t type)
{
	memcpy(bytes + at, destination, 6);
	memcpy(bytes + at + 6, source, 6);
	bytes_put_16(bytes + at + 12, type);
	return (uint16_t)(at + ETHERNET_BYTES);
}

uint16_t
layer_vlans(uint8_t *bytes, uint16_t at, unsigned int vlans, const uint16_t *tags, uint16_t type,
	uint16_t *where)
{
	unsigned int i;

	for (i = 0; i < vlans; i++) {
		bytes_put_16(bytes + at - 2, vlans == 2 && i == 0 ? TYPE_QINQ : TYPE_VLAN);
		where[i] = at;
		bytes_put_16(bytes + at, tags[i]);
		bytes_put_16(bytes + at + 2, type);
		at += VLAN_BYTES;
	}
	return at;
}

static void
put_ipv4(uint8_t *where, const struct layer_ip *ip)
{
	memset(where, 0, IPV4_BYTES);
	where[0] = 0x45;
	where[1] = (uint8_t)(ip->dscp << 2);
	bytes_put_16(where + 2, ip->length);
	bytes_put_16(where + 6, ip->may_fragment ? 0 : IPV4_DO_NOT_FRAGMENT);
	where[8] = ip->ttl;
	where[9] = ip->protocol;
	memcpy(where + 12, ip->source, 4);
	memcpy(where + 16, ip->destination, 4);
	bytes_put_16(where + 10, checksum_finish(checksum_add(0, where, IPV4_BYTES)));
}

static void
put_ipv6(uint8_t *where, const struct layer_ip *ip)
{
	bytes_put_32(where, UINT32_C(6) << 28 | (uint32_t)ip->dscp << 22);
	bytes_put_16(where + 4, (uint16_t)(ip->length - IPV6_BYTES));
	where[6] = ip->protocol;
	where[7] = ip->ttl;
	memcpy(where + 8, ip->source, 16);
	memcpy(where + 24, ip->destination, 16);
}

uint16_t
layer_ip(uint8_t *bytes, uint16_t at, const struct layer_ip *ip)
{
	if (ip->layer3 == LAYER3_IPV4)
		put_ipv4(bytes + at, ip);
	else
		put_ipv6(bytes + at, ip);
	return (uint16_t)(at + layer_ip_bytes(ip->layer3));
}

uint64_t
layer_pseudo_sum(const struct layer_ip *ip, uint16_t length)
{
	size_t address = ip->layer3 == LAYER3_IPV4 ? 4 : 16;
	uint64_t sum = (uint64_t)ip->protocol + length;

	sum = checksum_add(sum, ip->source, address);
	return checksum_add(sum, ip->destination, address);
}

uint16_t
layer_udp(uint8_t *bytes, uint16_t at, uint16_t length, uint16_t source, uint16_t destination)
{
	bytes_put_16(bytes + at, source);
	bytes_put_16(bytes + at + 2, destination);
	bytes_put_16(bytes + at + 4, length);
	bytes_put_16(bytes + at + 6, 0);
	return (uint16_t)(at + UDP_BYTES);
}

uint16_t
layer_tcp(uint8_t *bytes, uint16_t at, uint16_t source, uint16_t destination,
	const struct tcp_words *words)
{
	uint8_t *tcp = bytes + at;

	memset(tcp, 0, TCP_BYTES);
	bytes_put_16(tcp, source);
	bytes_put_16(tcp + 2, destination);
	bytes_put_32(tcp + 4, words->sequence);
	bytes_put_32(tcp + 8, words->acknowledgement);
	tcp[12] = (TCP_BYTES / 4) << 4;
	tcp[13] = words->flags;
	bytes_put_16(tcp + 14, words->window);
	return (uint16_t)(at + TCP_BYTES);
}
