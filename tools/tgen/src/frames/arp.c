/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "arp.h"
#include "bytes.h"
#include "checksum.h"
#include "layers.h"

#define MAC_BYTES 6
#define OPTION_BYTES 8
#define OPTION_TARGET_MAC 2

uint16_t
arp_put(uint8_t *arp, uint64_t begin, struct arp_end sender, struct arp_end target)
{
	bytes_put_64(arp, begin);
	memcpy(arp + 8, sender.mac, MAC_BYTES);
	memcpy(arp + 14, sender.ip, 4);
	memcpy(arp + 18, target.mac, MAC_BYTES);
	memcpy(arp + 24, target.ip, 4);
	return ARP_BYTES;
}

uint16_t
arp_icmpv6_sum(const uint8_t *ip, uint16_t bytes)
{
	const struct layer_ip pseudo = {
		.layer3 = LAYER3_IPV6,
		.protocol = PROTOCOL_ICMPV6,
		.source = ip + 8,
		.destination = ip + 24,
	};

	return checksum_fold(checksum_add(layer_pseudo_sum(&pseudo, bytes), ip + IPV6_BYTES, bytes));
}

uint16_t
arp_put_advertisement(uint8_t *ip, struct arp_end who, const uint8_t *destination, uint8_t flags)
{
	const struct layer_ip header = {
		.layer3 = LAYER3_IPV6,
		.ttl = UINT8_MAX,
		.protocol = PROTOCOL_ICMPV6,
		.length = IPV6_BYTES + ND_BYTES + OPTION_BYTES,
		.source = who.ip,
		.destination = destination,
	};
	uint8_t *message = ip + layer_ip(ip, 0, &header), *option = message + ND_BYTES;

	memset(message, 0, ND_BYTES);
	message[0] = ND_ADVERTISEMENT;
	message[4] = flags;
	memcpy(message + 8, who.ip, 16);
	option[0] = OPTION_TARGET_MAC;
	option[1] = 1; /* times eight bytes */
	memcpy(option + 2, who.mac, MAC_BYTES);
	bytes_put_16(message + 2, (uint16_t)~arp_icmpv6_sum(ip, ND_BYTES + OPTION_BYTES));
	return header.length;
}
