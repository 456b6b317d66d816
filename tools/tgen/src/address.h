/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TGEN_ADDRESS_H
#define TGEN_ADDRESS_H

/* Addresses in requests, and those that streams have when nobody says otherwise. */

#include "message.h"
#include "traffic.h"

/* As text, such as 02:00:00:00:00:01, 198.18.0.1 or 2001:2::1; absent: left as it is. */
void address_mac(struct object *object, const char *key, uint8_t mac[6]);
void address_ip(struct object *object, const char *key, enum layer3 layer3, uint8_t *ip);

/*
 * The default host of a port. Addresses are those set aside for benchmarks: 198.18.0.0/15
 * (RFC 2544, RFC 6815) and 2001:2::/48 (RFC 5180); MACs are locally administered.
 * Outer ones belong to the end of a tunnel on that port.
 */
void address_default_mac(uint16_t port, bool is_outer, uint8_t mac[6]);
void address_default_ip(uint16_t port, bool is_outer, enum layer3 layer3, uint8_t *ip);

#endif /* TGEN_ADDRESS_H */
