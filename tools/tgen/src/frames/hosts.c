/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include "bytes.h"
#include "hosts.h"

void
hosts_default_mac(uint16_t port, bool is_outer, uint8_t mac[6])
{
	const uint8_t host[6] = { 0x02, (uint8_t)port, 0, 0, is_outer, 1 };

	memcpy(mac, host, sizeof(host));
}

/*
 * The bits of the port's number, mirrored, are the highest of the host: two ports have a /16 each,
 * four a /17, and so on, so flows that vary addresses stay apart for as long as possible.
 */
static uint32_t
default_ipv4(uint16_t port, bool is_outer)
{
	uint32_t address = 198u << 24 | 18u << 16;
	unsigned int bit;

	for (bit = 0; bit < 4; bit++)
		address |= (uint32_t)(port >> bit & 1) << (16 - bit);
	return address + (is_outer ? 0x1ffe : 1);
}

void
hosts_default_ip(uint16_t port, bool is_outer, enum layer3 layer3, uint8_t *ip)
{
	uint32_t ipv4 = default_ipv4(port, is_outer);
	const uint8_t ipv6[16] = {
		0x20, 0x01, 0, 0x02, 0, 0, 0, (uint8_t)port, 0, 0, 0, 0, 0, 0, is_outer, 1,
	};

	if (layer3 == LAYER3_IPV6) {
		memcpy(ip, ipv6, sizeof(ipv6));
		return;
	}
	bytes_put_32(ip, ipv4);
}
