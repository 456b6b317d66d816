/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ADDRESS_H
#define TGEN_ADDRESS_H

/* Addresses in requests. */

#include "message.h"
#include "traffic.h"

/* As text, such as 02:00:00:00:00:01, 198.18.0.1 or 2001:2::1; absent: left as it is. */
void address_mac(struct object *object, const char *key, uint8_t mac[6]);
void address_ip(struct object *object, const char *key, enum layer3 layer3, uint8_t *ip);

#endif /* TGEN_ADDRESS_H */
