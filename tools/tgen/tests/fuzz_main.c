/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * A fuzzer that needs nothing but a compiler: requests that are almost right, changed as JSON
 * trees and as bytes. Every input follows from the seed and its number alone, so a failure is seen
 * again with `fuzz_session SECONDS SEED FROM`.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "fuzz_session.h"

#define MOST_BYTES (3u << 20)
#define MOST_LINES 8

static const char *const requests[] = {
	"{\"id\":1,\"verb\":\"hello\"}",
	"{\"id\":2,\"verb\":\"ports\"}",
	"{\"id\":3,\"verb\":\"configure\",\"streams\":[{\"transmit_port\":0,\"size\":64}]}",
	"{\"id\":3,\"verb\":\"configure\",\"streams\":[{\"transmit_port\":0,\"size\":64,"
		"\"broadcast_every\":100},"
		"{\"transmit_port\":1,\"genome\":\"aaaddg\",\"flows\":{\"vary\":["
		"{\"field\":\"source_ip\",\"count\":4096},{\"field\":\"source_port\",\"count\":9,"
		"\"step\":3}],\"order\":\"shuffled\",\"seed\":1}}]}",
	"{\"id\":3,\"verb\":\"configure\",\"streams\":[{\"transmit_port\":1,\"receive_port\":0,"
		"\"sizes\":[200,1518,9216],\"source_mac\":\"02:00:00:00:00:01\","
		"\"destination_mac\":\"02:00:00:00:00:02\",\"vlans\":[7,{\"id\":5,\"priority\":3}],"
		"\"mpls\":[16,17,18],\"layer3\":\"ipv6\",\"source_ip\":\"2001:2::1\","
		"\"destination_ip\":\"2001:2::2\",\"dscp\":46,\"ttl\":9,\"layer4\":\"tcp\","
		"\"source_port\":1,\"destination_port\":2,\"vxlan\":{\"vni\":77,"
		"\"source_mac\":\"02:00:00:00:00:03\",\"destination_mac\":\"02:00:00:00:00:04\","
		"\"source_ip\":\"198.18.0.9\",\"destination_ip\":\"198.18.0.8\"}}]}",
	"{\"id\":3,\"verb\":\"configure\",\"streams\":[{\"size\":300,\"geneve\":{\"vni\":9,"
		"\"layer3\":\"ipv6\",\"source_ip\":\"2001:2::9\",\"vlans\":[5,{\"id\":6}]}},"
		"{\"size\":200,\"gre\":{\"key\":4294967295,\"carries\":\"ip\"},\"flows\":{\"vary\":["
		"{\"field\":\"key\",\"count\":1}]}},{\"size\":128,\"gtpu\":{\"teid\":7},"
		"\"flows\":{\"vary\":[{\"field\":\"teid\",\"count\":99}]}}]}",
	"{\"id\":4,\"verb\":\"trial\",\"duration_ns\":1000000000,\"rate_fps\":[1000.5,10],"
		"\"burst\":4,\"drain_ns\":1,\"quiet_ns\":1,\"linger_ns\":1,\"latency\":true,\"variation\":true,"
		"\"check_fill\":true,\"slot_ns\":10000000,\"wait\":false,\"number\":9}",
	"{\"id\":4,\"verb\":\"trial\",\"frames\":1000}",
	"{\"id\":4,\"verb\":\"trial\",\"steps\":[{\"rate_fps\":[110,5.5],\"duration_ns\":2000000000,"
		"\"frames\":[220,11]},{\"rate_fps\":50,\"duration_ns\":1000000000}],\"grace_ns\":7,"
		"\"latency_after_ns\":9,\"latency_ranges\":[[0,9],[90,99]]}",
	"{\"id\":3,\"verb\":\"configure\",\"streams\":[{\"replay\":\"/x.pcap\"}]}",
	"{\"id\":4,\"verb\":\"trial\",\"rhythm\":\"file\",\"duration_ns\":100000,"
		"\"grace_ns\":100,\"rate_fps\":1000000}",
	"{\"id\":4,\"verb\":\"trial\",\"frames\":[10,20],\"duration_ns\":5}",
	"{\"id\":5,\"verb\":\"burst\",\"frames\":100,\"rate_fps\":7,\"timeout_ns\":1000}",
	"{\"id\":5,\"verb\":\"burst\",\"frames\":[4,281474976710],\"bursts\":9,\"gap_ns\":100}",
	"{\"id\":6,\"verb\":\"probe\",\"frames\":3}",
	"{\"id\":6,\"verb\":\"turns\",\"sides\":[{\"streams\":[0],\"processes\":[7,8]},"
		"{\"streams\":[1]}],\"order\":[0,1,1,0],\"turn_ns\":10000000,\"guard_ns\":2000000,"
		"\"silent_ns\":50000,\"latency\":true,\"rate_fps\":[1000,0],\"burst\":8,"
		"\"quiet_ns\":9}",
	"{\"id\":6,\"verb\":\"connections\",\"client\":{\"port\":0,\"ip\":\"198.18.0.9\",\"addresses\":4,"
		"\"first_port\":2000,\"port_count\":100,\"begin_port\":2050,"
		"\"target_ip\":\"198.19.0.9\",\"targets\":2,"
		"\"target_port\":8080,\"source_mac\":\"02:00:00:00:00:01\"},\"server\":{\"port\":1,"
		"\"ip\":\"198.19.0.9\",\"addresses\":2,\"service_port\":8080,\"connections\":1000,"
		"\"destination_mac\":\"02:00:00:00:00:02\"},\"rate_cps\":1000.5,"
		"\"duration_ns\":1000000,\"connections\":9,\"burst\":4,\"content\":\"bytes\","
		"\"request_bytes\":7,\"response_bytes\":9,\"requests\":3,\"pause_ns\":8,"
		"\"hold_ns\":9,\"segment_bytes\":500,\"attempts\":2,\"repeat_ns\":1000000,"
		"\"patience_ns\":2000000,\"idle_ns\":3000000,\"quiet_ns\":4,\"drain_ns\":5,"
		"\"slot_ns\":10000000}",
	"{\"id\":6,\"verb\":\"connections\",\"server\":{},\"duration_ns\":1000000}",
	"{\"id\":6,\"verb\":\"connections\",\"client\":{},\"server\":{},\"protocol\":\"udp\","
		"\"rate_cps\":1000,\"connections\":9,\"request_bytes\":4,\"response_bytes\":1460,"
		"\"hold_ns\":9}",
	"{\"id\":6,\"verb\":\"connections\",\"client\":{},\"server\":{},\"rate_cps\":1000,"
		"\"connections\":9,\"slot_ns\":10000000,\"asking\":{\"rate_rps\":1000.5,"
		"\"requests\":9,\"duration_ns\":1000000},\"flood\":{\"rate_fps\":100,"
		"\"ip\":\"198.18.128.0\",\"addresses\":7,\"answered\":true}}",
	"{\"id\":7,\"verb\":\"learn\",\"rounds\":2}",
	"{\"id\":7,\"verb\":\"respond\",\"on\":true,\"hosts\":[{\"port\":1,"
		"\"ip\":\"198.19.0.254\",\"mac\":\"02:00:00:00:00:fe\"},"
		"{\"layer3\":\"ipv6\",\"ip\":\"2001:2::fe\"}]}",
	"{\"id\":8,\"verb\":\"capture\",\"port\":1,\"path\":\"/x.pcap\",\"frames\":10}",
	"{\"id\":8,\"verb\":\"listen\",\"port\":1,\"path\":\"/x.pcap\",\"keep\":\"last\"}",
	"{\"id\":8,\"verb\":\"listen\",\"port\":1,\"on\":false}",
	"{\"id\":9,\"verb\":\"stalls\",\"duration_ns\":1000,\"threshold_ns\":10}",
	"{\"id\":10,\"verb\":\"live\"}",
	"{\"id\":11,\"verb\":\"stop\"}",
	"{\"id\":12,\"verb\":\"quit\"}",
};

static const char *const words[] = {
	"", "id", "verb", "size", "sizes", "flows", "vary", "field", "count", "streams", "workers", "trial",
	"hello", "vlan", "vni", "geneve", "gre", "gtpu", "key", "teid", "carries", "ip", "source_mac", "source_ip", "ipv4", "ipv6", "udp", "::", "0.0.0.0",
	"198.18.0.1", "ff:ff:ff:ff:ff:ff", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"i", "\xc3\xa4\xe2\x82\xac", "%s%n", "shuffled", "/", "/tmp/x",
	"replay", "rhythm", "file", "even", "turns", "sides", "processes", "order",
	"connections", "client", "server", "http", "bytes", "target_ip", "hold_ns",
	"protocol", "tcp", "begin_port",
	"asking", "requests", "rate_rps", "flood", "answered", "rate_fps",
};

static const json_int_t numbers[] = {
	0, 1, -1, 2, 13, 63, 64, 255, 256, 666, 4095, 4096, 9216, 9217, 65535, 65536, 1 << 24,
	(1 << 24) + 1, UINT32_MAX, INT64_C(1) << 40, (INT64_C(1) << 48) - 2, INT64_MAX, INT64_MIN,
};

static const char *const tokens[] = {
	"\n", "{", "}", "[", "]", ",", ":", "\"", "\\u0000", "\\ud800", "1e999", "-", "null",
	"true", "0.0001", "\r\n", "\"id\":", "18446744073709551616", "\xff",
	"{\"id\":1,\"verb\":\"",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static uint64_t
draw(uint64_t *state, uint64_t below)
{
	uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return (word ^ word >> 31) % below;
}

static json_t *
any_value(uint64_t *state)
{
	switch (draw(state, 8)) {
	case 0:
		return json_string(words[draw(state, COUNT(words))]);
	case 1:
		return json_real((double)draw(state, 100000) / 1000);
	case 2:
		return json_boolean(draw(state, 2));
	case 3:
		return json_null();
	case 4:
		return json_array();
	case 5:
		return json_object();
	default:
		return json_integer(numbers[draw(state, COUNT(numbers))]);
	}
}

/* A tree like the given one, with a few values, keys and elements changed. */
static json_t *
vary(json_t *json, uint64_t *state, unsigned int one_in)
{
	json_t *copy, *value;
	const char *key;
	size_t i;

	if (draw(state, one_in) == 0)
		return any_value(state);
	if (json_is_object(json)) {
		copy = json_object();
		json_object_foreach(json, key, value) {
			const char *name = draw(state, one_in) == 0 ?
				words[draw(state, COUNT(words))] : key;

			if (draw(state, one_in) != 0)
				json_object_set_new(copy, name, vary(value, state, one_in));
		}
		return copy;
	}
	if (json_is_array(json)) {
		copy = json_array();
		json_array_foreach(json, i, value) {
			uint64_t times = draw(state, one_in) == 0 ? draw(state, 40) : 1;

			while (times-- > 0)
				json_array_append_new(copy, vary(value, state, one_in));
		}
		return copy;
	}
	return json_incref(json);
}

static size_t
put(char *bytes, size_t used, const char *text, size_t length)
{
	if (length > MOST_BYTES - used)
		length = MOST_BYTES - used;
	memcpy(bytes + used, text, length);
	return used + length;
}

static size_t
put_request(char *bytes, size_t used, uint64_t *state, unsigned int one_in)
{
	json_t *json = json_loads(requests[draw(state, COUNT(requests))], 0, NULL);
	json_t *changed = vary(json, state, one_in);
	char *text = json_dumps(changed, JSON_COMPACT | JSON_ENCODE_ANY);

	used = put(bytes, used, text, strlen(text));
	free(text);
	json_decref(changed);
	json_decref(json);
	return put(bytes, used, "\n", 1);
}

/* Damage as it comes from broken senders: bytes changed, cut out, doubled, put in. */
static size_t
damage(char *bytes, size_t used, uint64_t *state)
{
	size_t at = draw(state, used), length = draw(state, used - at) + 1;
	const char *token = tokens[draw(state, COUNT(tokens))];

	switch (draw(state, 6)) {
	case 0:
		bytes[at] = (char)draw(state, 256);
		return used;
	case 1:
		bytes[at] = (char)(bytes[at] ^ 1 << draw(state, 8));
		return used;
	case 2:
		memmove(bytes + at, bytes + at + length, used - at - length);
		return used - length;
	case 3:
		return put(bytes, used, bytes + at, length);
	case 4:
		length = strlen(token);
		length = length < used - at ? length : used - at;
		memcpy(bytes + at, token, length);
		return used;
	default:
		return at;
	}
}

/* Now and then something too long or too deep. */
static size_t
put_huge(char *bytes, size_t used, uint64_t *state)
{
	size_t length = draw(state, 2u << 20);
	char with = "[{\"a \xff"[draw(state, 6)];

	if (length > MOST_BYTES - used)
		length = MOST_BYTES - used;
	memset(bytes + used, with, length);
	return used + length;
}

static size_t
make_input(char *bytes, uint64_t *state)
{
	unsigned int one_in = 4u << draw(state, 6);
	uint64_t lines = 1 + draw(state, MOST_LINES), damages = 0;
	size_t used = 0;

	while (lines-- > 0)
		used = put_request(bytes, used, state, one_in);
	if (draw(state, 2) == 0)
		damages = draw(state, 6);
	while (damages-- > 0 && used > 0)
		used = damage(bytes, used, state);
	if (draw(state, 5000) == 0)
		used = put_huge(bytes, used, state);
	return used;
}

static void
run_one(char *bytes, uint64_t seed, uint64_t number)
{
	uint64_t state = seed ^ number * UINT64_C(0xd1342543de82ef95);
	size_t used = make_input(bytes, &state);
	char *exact = malloc(used + (used == 0)); /* so that reading past the end is noticed */

	memcpy(exact, bytes, used);
	LLVMFuzzerTestOneInput((const uint8_t *)exact, used);
	free(exact);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 0) : 0, first = number;
	char *bytes = malloc(MOST_BYTES);
	time_t end = time(NULL) + (time_t)seconds;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	for (; time(NULL) < end; number++) {
		/* A crash is among the inputs that follow this number. */
		if (number % 10000 == 0)
			printf("from %llu\n", (unsigned long long)number);
		run_one(bytes, seed, number);
	}
	printf("%llu inputs, %llu answers, of these %llu refusals\n",
		(unsigned long long)(number - first),
		(unsigned long long)fuzz_answers, (unsigned long long)fuzz_refusals);
	free(bytes);
	return 0;
}
