/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdlib.h>

#include "unit.h"

#include "arp.h"
#include "layers.h"
#include "neighbours.h"
#include "samples.h"

static const uint8_t asker_mac[6] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t asker_ip[4] = { 198, 18, 0, 254 };
static const uint8_t asker_ipv6[16] = { 0x20, 1, 0, 2, [15] = 0xfe };
static const uint8_t port_mac[6] = { 0x02, 1, 0, 0, 0, 1 };
static const uint8_t everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t nobody[16];

static struct traffic traffic;
static struct responder responder;
static struct neighbours neighbours;
static uint8_t frame[NEIGHBOURS_REQUEST], answer[NEIGHBOURS_ANSWER];

/* One stream from port 0 to port 1, and somebody who answers on this port. */
static void
set_up(uint16_t port, enum layer3 layer3)
{
	memset(&traffic, 0, sizeof(traffic));
	memset(&responder, 0, sizeof(responder));
	traffic.streams = 1;
	traffic.stream[0].receive_port = 1;
	traffic.stream[0].headers = sample_headers();
	traffic.stream[0].headers.layer3 = layer3;
	traffic.stream[0].flows.count = 1;
	responder.on = true;
	neighbours_fill(&neighbours, port, &responder, &traffic);
}

static uint16_t
ask_arp(const uint8_t *ip, unsigned int vlans)
{
	static const uint16_t tags[2] = { 0x2064, 0x0065 };
	uint16_t where[2], at = layer_ethernet(frame, 0, everybody, asker_mac, TYPE_ARP);

	at = layer_vlans(frame, at, vlans, tags, TYPE_ARP, where);
	return (uint16_t)(at + arp_put(frame + at, ARP_REQUEST,
		(struct arp_end){ asker_mac, asker_ip }, (struct arp_end){ nobody, ip }));
}

/* A solicitation, whoever asks, with an option behind it as hosts send it. */
static uint16_t
ask_ipv6(const uint8_t *target, const uint8_t *source)
{
	static const uint8_t group[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 1 };
	const struct layer_ip header = {
		.layer3 = LAYER3_IPV6, .ttl = 255, .protocol = PROTOCOL_ICMPV6,
		.length = IPV6_BYTES + ND_BYTES + 8, .source = source, .destination = group,
	};
	uint16_t at = layer_ethernet(frame, 0, everybody, asker_mac, TYPE_IPV6);
	uint8_t *ip = frame + at, *message = ip + IPV6_BYTES;

	layer_ip(frame, at, &header);
	memset(message, 0, ND_BYTES + 8);
	message[0] = ND_SOLICITATION;
	memcpy(message + 8, target, 16);
	message[ND_BYTES] = 1;
	message[ND_BYTES + 1] = 1;
	memcpy(message + ND_BYTES + 2, asker_mac, 6);
	bytes_put_16(message + 2, (uint16_t)~arp_icmpv6_sum(ip, ND_BYTES + 8));
	return (uint16_t)(at + header.length);
}

static void
the_source_of_a_stream_is_at_its_port(void **state)
{
	const struct headers *headers = &traffic.stream[0].headers;
	unsigned int vlans;

	(void)state;
	set_up(0, LAYER3_IPV4);
	for (vlans = 0; vlans <= 2; vlans++) {
		uint16_t length = ask_arp(headers->source_ip, vlans), at = 14 + 4 * vlans;

		assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 60);
		assert_memory_equal(answer, asker_mac, 6);
		assert_memory_equal(answer + 6, headers->source_mac, 6);
		assert_memory_equal(answer + 12, frame + 12, at - 12u);
		assert_true(bytes_get_64(answer + at) == ARP_REPLY);
		assert_memory_equal(answer + at + 8, headers->source_mac, 6);
		assert_memory_equal(answer + at + 14, headers->source_ip, 4);
		assert_memory_equal(answer + at + 18, asker_mac, 6);
		assert_memory_equal(answer + at + 24, asker_ip, 4);
	}
}

/* Frames to a router have its address; hosts behind it still have that of their port. */
static void
the_destination_is_at_the_port_that_receives(void **state)
{
	const struct headers *headers = &traffic.stream[0].headers;

	(void)state;
	set_up(1, LAYER3_IPV4);
	assert_int_equal(neighbours_answer(&neighbours, frame,
		ask_arp(headers->destination_ip, 0), answer), 60);
	assert_memory_equal(answer + 6, port_mac, 6);
	assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(headers->source_ip, 0),
		answer), 0);
	set_up(0, LAYER3_IPV4);
	assert_int_equal(neighbours_answer(&neighbours, frame,
		ask_arp(headers->destination_ip, 0), answer), 0);
}

static void
each_address_that_varies_is_one_of_us(void **state)
{
	uint8_t ip[4] = { 198, 18, 0, 1 };
	unsigned int by;

	(void)state;
	set_up(0, LAYER3_IPV4);
	traffic.stream[0].flows = sample_flows(FIELD_SOURCE_IP, 600, 3);
	neighbours_fill(&neighbours, 0, &responder, &traffic);
	for (by = 0; by < 2000; by++) {
		bool is_ours = by % 3 == 0 && by < 1800;

		bytes_put_32(ip, (198u << 24 | 18u << 16) + 1 + by);
		assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(ip, 0), answer) != 0,
			is_ours);
	}
	bytes_put_32(ip, 198u << 24 | 18u << 16);
	assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(ip, 0), answer), 0);
}

static void
ipv6_is_answered_to_whoever_asks(void **state)
{
	static const uint8_t all_nodes_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	const struct headers *headers = &traffic.stream[0].headers;
	uint16_t length;

	(void)state;
	set_up(0, LAYER3_IPV6);
	length = ask_ipv6(headers->source_ip, asker_ipv6);
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 86);
	assert_memory_equal(answer, asker_mac, 6);
	assert_memory_equal(answer + 14 + 8, headers->source_ip, 16);
	assert_memory_equal(answer + 14 + 24, asker_ipv6, 16);
	assert_int_equal(answer[14 + 7], 255);
	assert_int_equal(answer[54], ND_ADVERTISEMENT);
	assert_int_equal(answer[58], ND_SOLICITED | ND_OVERRIDE);
	assert_memory_equal(answer + 62, headers->source_ip, 16);
	assert_memory_equal(answer + 80, headers->source_mac, 6);
	assert_int_equal(arp_icmpv6_sum(answer + 14, 32), UINT16_MAX);
	/* Somebody wants to know whether it may have the address. */
	length = ask_ipv6(headers->source_ip, nobody);
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 86);
	assert_memory_equal(answer, all_nodes_mac, 6);
	assert_int_equal(answer[14 + 24], 0xff);
	assert_int_equal(answer[58], ND_OVERRIDE);
}

static void
ends_of_a_tunnel_and_what_is_inside_are_hosts(void **state)
{
	struct headers *headers = &traffic.stream[0].headers;

	(void)state;
	set_up(0, LAYER3_IPV6);
	sample_outer(headers, ENCAPSULATION_GENEVE, LAYER3_IPV4, 7);
	neighbours_fill(&neighbours, 0, &responder, &traffic);
	assert_int_equal(neighbours.count, 2);
	assert_int_equal(neighbours_answer(&neighbours, frame,
		ask_arp(headers->outer.source_ip, 0), answer), 60);
	assert_memory_equal(answer + 6, headers->outer.source_mac, 6);
	assert_int_equal(neighbours_answer(&neighbours, frame,
		ask_ipv6(headers->source_ip, asker_ipv6), answer), 86);
}

static void
hosts_that_were_named_come_first(void **state)
{
	struct host gateway = { .port = 1, .ip = { 198, 19, 0, 1 }, .mac = { 2, 9, 9, 9, 9, 9 } };

	(void)state;
	set_up(1, LAYER3_IPV4);
	responder.hosts = 1;
	responder.host[0] = gateway;
	neighbours_fill(&neighbours, 1, &responder, &traffic);
	assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(gateway.ip, 0), answer), 60);
	assert_memory_equal(answer + 6, gateway.mac, 6);
	responder.host[0].port = 0;
	neighbours_fill(&neighbours, 1, &responder, &traffic);
	neighbours_answer(&neighbours, frame, ask_arp(gateway.ip, 0), answer);
	assert_memory_equal(answer + 6, port_mac, 6);
	responder.on = false;
	neighbours_fill(&neighbours, 1, &responder, &traffic);
	assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(gateway.ip, 0), answer), 0);
}

static void
nothing_else_is_answered(void **state)
{
	const struct headers *headers = &traffic.stream[0].headers;
	uint16_t length;
	uint8_t told[4];

	(void)state;
	set_up(0, LAYER3_IPV4);
	length = ask_arp(headers->source_ip, 0);
	frame[21] = 2; /* an answer is no question */
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 0);
	ask_arp(headers->source_ip, 0);
	memcpy(frame + 28, headers->source_ip, 4); /* somebody says that it is theirs */
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 0);
	ask_arp(headers->source_ip, 0);
	assert_int_equal(neighbours_answer(&neighbours, frame, length - 1, answer), 0);
	memcpy(told, headers->destination_ip, 4);
	assert_int_equal(neighbours_answer(&neighbours, frame, ask_arp(told, 0), answer), 0);
	set_up(0, LAYER3_IPV6);
	length = ask_ipv6(headers->source_ip, asker_ipv6);
	frame[14 + 7] = 254; /* from beyond this link */
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 0);
	ask_ipv6(headers->source_ip, asker_ipv6);
	frame[80] ^= 1; /* damaged */
	assert_int_equal(neighbours_answer(&neighbours, frame, length, answer), 0);
}

/* Whatever a frame says and wherever it ends: the sanitizers are the judges. */
static void
any_bytes_can_be_looked_at(void **state)
{
	uint64_t seed = 23;
	unsigned int i, answered = 0;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint16_t length = (uint16_t)(unit_random(&seed) % (NEIGHBOURS_REQUEST + 1));
		uint8_t *exact = malloc(length + (length == 0));
		unsigned int damages = unit_random(&seed) % 4;

		if (i % 1000 == 0)
			set_up(0, i % 2000 == 0 ? LAYER3_IPV4 : LAYER3_IPV6);
		if (i % 2000 < 1000)
			ask_arp(traffic.stream[0].headers.source_ip, i % 3);
		else
			ask_ipv6(traffic.stream[0].headers.source_ip, asker_ipv6);
		while (damages-- > 0)
			frame[unit_random(&seed) % sizeof(frame)] = (uint8_t)unit_random(&seed);
		memcpy(exact, frame, length);
		answered += neighbours_answer(&neighbours, exact, length, answer) != 0;
		free(exact);
	}
	assert_true(answered > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_source_of_a_stream_is_at_its_port),
		cmocka_unit_test(the_destination_is_at_the_port_that_receives),
		cmocka_unit_test(each_address_that_varies_is_one_of_us),
		cmocka_unit_test(ipv6_is_answered_to_whoever_asks),
		cmocka_unit_test(ends_of_a_tunnel_and_what_is_inside_are_hosts),
		cmocka_unit_test(hosts_that_were_named_come_first),
		cmocka_unit_test(nothing_else_is_answered),
		cmocka_unit_test(any_bytes_can_be_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
