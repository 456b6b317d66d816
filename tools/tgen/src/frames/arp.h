/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ARP_H
#define TGEN_ARP_H

/* What is said on a link about who has which address: ARP (RFC 826), and IPv6 (RFC 4861). */

#include <stdint.h>

#define TYPE_ARP 0x0806
#define ARP_BYTES 28
/* The first eight bytes: Ethernet, IPv4, the lengths of their addresses, and what is said. */
#define ARP_REQUEST UINT64_C(0x0001080006040001)
#define ARP_REPLY UINT64_C(0x0001080006040002)

#define PROTOCOL_ICMPV6 58
#define ND_BYTES 24 /* of a message without options */
#define ND_SOLICITATION 135
#define ND_ADVERTISEMENT 136
#define ND_SOLICITED 0x40 /* somebody asked */
#define ND_OVERRIDE 0x20 /* forget what was known */

struct arp_end {
	const uint8_t *mac, *ip;
};

/* Returns ARP_BYTES. */
uint16_t arp_put(uint8_t *arp, uint64_t begin, struct arp_end sender, struct arp_end target);

/* An IPv6 packet that says which MAC address `who` has; returns its bytes. */
uint16_t arp_put_advertisement(uint8_t *ip, struct arp_end who, const uint8_t *destination,
	uint8_t flags);

/* The sum of an ICMPv6 message of so many bytes, pseudo header included; 0xffff if it is right. */
uint16_t arp_icmpv6_sum(const uint8_t *ip, uint16_t bytes);

#endif /* TGEN_ARP_H */
