/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * Builds frames for tests in other languages. Each line on standard input is one frame, as
 * name=value words; each line on standard output is its bytes in hexadecimal digits, or "error",
 * its code and text. Names are those of struct headers; addresses are hexadecimal digits. Besides:
 *
 *   size=64                                  with FCS
 *   vary=FIELD:COUNT:STEP, flow=NUMBER       apply a flow; fields as numbers of enum field
 *   payload=TRIAL:STREAM:SEQUENCE:DEPARTURE  write a test payload
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "frame.h"
#include "payload.h"

struct order {
	struct headers headers;
	struct flows flows;
	uint16_t size;
	uint32_t flow;
	bool has_payload;
	struct payload payload;
};

static bool
read_bytes(const char *text, uint8_t *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length && text[2 * i] != '\0'; i++)
		if (sscanf(text + 2 * i, "%2" SCNx8, &bytes[i]) != 1)
			return false;
	return text[2 * i] == '\0';
}

static unsigned int
read_list(char *text, uint32_t *numbers, unsigned int room)
{
	unsigned int count = 0;
	char *rest = NULL, *word;

	for (word = strtok_r(text, ",", &rest); word != NULL && count < room;
	     word = strtok_r(NULL, ",", &rest))
		numbers[count++] = (uint32_t)strtoul(word, NULL, 0);
	return count;
}

static uint8_t
read_tags(char *text, uint16_t *tags)
{
	uint32_t numbers[2] = { 0, 0 };
	unsigned int count = read_list(text, numbers, 2);

	tags[0] = (uint16_t)numbers[0];
	tags[1] = (uint16_t)numbers[1];
	return (uint8_t)count;
}

static bool
read_address(struct headers *headers, const char *name, const char *value)
{
	const struct {
		const char *name;
		uint8_t *bytes;
		size_t length;
	} addresses[] = {
		{ "source_mac", headers->source_mac, 6 },
		{ "destination_mac", headers->destination_mac, 6 },
		{ "source_ip", headers->source_ip, 16 },
		{ "destination_ip", headers->destination_ip, 16 },
		{ "outer_source_mac", headers->outer.source_mac, 6 },
		{ "outer_destination_mac", headers->outer.destination_mac, 6 },
		{ "outer_source_ip", headers->outer.source_ip, 16 },
		{ "outer_destination_ip", headers->outer.destination_ip, 16 },
	};
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (strcmp(name, addresses[i].name) == 0)
			return read_bytes(value, addresses[i].bytes, addresses[i].length);
	return false;
}

static bool
read_outer_number(struct outer *outer, const char *name, unsigned long number)
{
	if (strcmp(name, "outer") == 0) {
		outer->kind = (enum encapsulation)number;
	} else if (strcmp(name, "outer_layer3") == 0) {
		outer->layer3 = (enum layer3)number;
	} else if (strcmp(name, "carries_ip") == 0) {
		outer->carries_ip = number != 0;
	} else if (strcmp(name, "id") == 0) {
		outer->has_id = true;
		outer->id = (uint32_t)number;
	} else {
		return false;
	}
	return true;
}

static bool
read_number(struct order *order, const char *name, const char *value)
{
	struct headers *headers = &order->headers;
	unsigned long number = strtoul(value, NULL, 0);

	if (strcmp(name, "size") == 0)
		order->size = (uint16_t)number;
	else if (strcmp(name, "flow") == 0)
		order->flow = (uint32_t)number;
	else if (strcmp(name, "layer3") == 0)
		headers->layer3 = (enum layer3)number;
	else if (strcmp(name, "layer4") == 0)
		headers->layer4 = (enum layer4)number;
	else if (strcmp(name, "dscp") == 0)
		headers->dscp = (uint8_t)number;
	else if (strcmp(name, "ttl") == 0)
		headers->ttl = (uint8_t)number;
	else if (strcmp(name, "source_port") == 0)
		headers->source_port = (uint16_t)number;
	else if (strcmp(name, "destination_port") == 0)
		headers->destination_port = (uint16_t)number;
	else
		return read_outer_number(&headers->outer, name, number);
	return true;
}

static bool
read_group(struct order *order, const char *name, char *value)
{
	struct headers *headers = &order->headers;
	struct payload *payload = &order->payload;
	struct flows *flows = &order->flows;

	if (strcmp(name, "vlan") == 0) {
		headers->vlans = read_tags(value, headers->vlan);
		return true;
	}
	if (strcmp(name, "outer_vlan") == 0) {
		headers->outer.vlans = read_tags(value, headers->outer.vlan);
		return true;
	}
	if (strcmp(name, "mpls") == 0) {
		headers->mpls_labels = (uint8_t)read_list(value, headers->mpls, 3);
		return true;
	}
	if (strcmp(name, "vary") == 0 && flows->variations < TGEN_MAX_VARIATIONS) {
		struct variation *variation = &flows->variation[flows->variations++];
		unsigned int field;

		if (sscanf(value, "%u:%" SCNu32 ":%" SCNu32, &field, &variation->count,
				&variation->step) != 3)
			return false;
		variation->field = (enum field)field;
		flows->count *= variation->count;
		return true;
	}
	if (strcmp(name, "payload") == 0) {
		order->has_payload = true;
		return sscanf(value, "%" SCNu8 ":%" SCNu8 ":%" SCNu64 ":%" SCNu64,
			&payload->trial, &payload->stream, &payload->sequence,
			&payload->departure) == 4;
	}
	return false;
}

static bool
read_order(struct order *order, char *line)
{
	char *rest = NULL, *word;

	memset(order, 0, sizeof(*order));
	order->flows.count = 1;
	order->headers.tcp = (struct tcp_words)TCP_IN_THE_MIDDLE;
	for (word = strtok_r(line, " \n", &rest); word != NULL;
	     word = strtok_r(NULL, " \n", &rest)) {
		char *value = strchr(word, '=');

		if (value == NULL)
			return false;
		*value++ = '\0';
		if (!read_number(order, word, value) &&
		    !read_address(&order->headers, word, value) &&
		    !read_group(order, word, value))
			return false;
	}
	return true;
}

static int
answer(const struct order *order)
{
	static struct frame frame;
	struct flow_edits edits;
	struct error error;
	uint16_t at;

	if (frame_build(&order->headers, order->size, &frame, &error) != 0 ||
	    flow_check(&order->flows, &order->headers, &error) != 0)
		return printf("error %s %s\n", error.code, error.text);
	flow_edits_init(&edits, &order->flows, &order->headers, &frame);
	flow_apply(&edits, frame.bytes, order->flow);
	if (order->has_payload)
		payload_write(frame.bytes + frame.payload, &order->payload);
	for (at = 0; at < frame.length; at++)
		printf("%02x", frame.bytes[at]);
	return printf("\n");
}

int
main(void)
{
	static struct order order;
	char line[1024];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (!read_order(&order, line)) {
			fprintf(stderr, "frame-dump: cannot read the line with \"%s\"\n", line);
			return 2;
		}
		if (answer(&order) < 0)
			return 1;
	}
	return 0;
}
