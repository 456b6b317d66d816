/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_HOSTS_H
#define TGEN_HOSTS_H

/* The addresses that streams have when nobody says otherwise. */

#include <stdbool.h>

#include "traffic.h"

/*
 * The default host of a port. Addresses are those set aside for benchmarks: 198.18.0.0/15
 * (RFC 2544, RFC 6815) and 2001:2::/48 (RFC 5180); MACs are locally administered.
 * Outer ones belong to the end of a tunnel on that port.
 */
void hosts_default_mac(uint16_t port, bool is_outer, uint8_t mac[6]);
void hosts_default_ip(uint16_t port, bool is_outer, enum layer3 layer3, uint8_t *ip);

#endif /* TGEN_HOSTS_H */
