/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <arpa/inet.h>
#include <string.h>

#include "address.h"

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Six times two digits, a colon between. */
static bool
read_mac(const char *text, uint8_t mac[6])
{
	unsigned int i;

	if (strlen(text) != 17)
		return false;
	for (i = 0; i < 6; i++, text += 3) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0 || (i < 5 && text[2] != ':'))
			return false;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void
address_mac(struct object *object, const char *key, uint8_t mac[6])
{
	char path[MESSAGE_PATH];
	const char *text;
	uint8_t read[6];

	if (!object_text(object, key, &text))
		return;
	object_path(object, key, path);
	if (read_mac(text, read))
		memcpy(mac, read, sizeof(read));
	else
		problem_set(object->problem, path, "bad-value",
			"%.40s is no MAC address such as 02:00:00:00:00:01", text);
}

void
address_ip(struct object *object, const char *key, enum layer3 layer3, uint8_t *ip)
{
	bool is_ipv4 = layer3 == LAYER3_IPV4;
	char path[MESSAGE_PATH];
	const char *text;
	uint8_t read[16];

	if (!object_text(object, key, &text))
		return;
	object_path(object, key, path);
	if (inet_pton(is_ipv4 ? AF_INET : AF_INET6, text, read) == 1)
		memcpy(ip, read, is_ipv4 ? 4 : 16);
	else
		problem_set(object->problem, path, "bad-value", "%.60s is no %s address", text,
			is_ipv4 ? "IPv4" : "IPv6");
}
