/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include <stdlib.h>

#include "flow.h"
#include "samples.h"

static struct frame frame, rebuilt;

/* Each flow number below the count comes once a round, for counts of every kind. */
static void
each_flow_comes_once_a_round(void **state)
{
	static const uint32_t counts[] = { 1, 2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257, 1000, 4095,
		4096, 4097, 65536, 65537, 1000000, 1u << 20 };
	uint8_t *seen = malloc(1u << 20);
	size_t c;

	(void)state;
	for (c = 0; c < 2 * sizeof(counts) / sizeof(counts[0]); c++) {
		uint32_t count = counts[c / 2];
		struct flows flows = { .count = count, .seed = c,
			.order = c % 2 == 0 ? FLOWS_IN_ORDER : FLOWS_SHUFFLED };
		struct flow_plan plan;
		uint64_t n;

		flow_plan_init(&plan, &flows);
		memset(seen, 0, count);
		for (n = 0; n < count; n++) {
			uint32_t flow = flow_number(&plan, n);

			assert_true(flow < count);
			assert_int_equal(seen[flow], 0);
			seen[flow] = 1;
			/* The same in a round near the end of all numbers. */
			assert_int_equal(flow, flow_number(&plan,
				n + TGEN_48_BITS / count * count));
			if (c % 2 == 0)
				assert_int_equal(flow, n);
		}
	}
	free(seen);
}

static void
in_order_is_the_remainder(void **state)
{
	uint64_t seed = 12;
	int i;

	(void)state;
	for (i = 0; i < 1000000; i++) {
		struct flows flows = { .count = 1 + unit_random(&seed) % TGEN_MAX_FLOWS };
		uint64_t n = unit_magnitude(&seed);
		struct flow_plan plan;

		flow_plan_init(&plan, &flows);
		assert_int_equal(flow_number(&plan, n), n % flows.count);
	}
}

/* Neighbours are far apart, and another seed is another order. */
static void
shuffling_shuffles(void **state)
{
	struct flows flows = { .count = 1u << 20, .order = FLOWS_SHUFFLED, .seed = 1 };
	struct flow_plan one, two;
	uint64_t distance = 0;
	uint32_t n, same = 0, steps[16] = { 0 };

	(void)state;
	flow_plan_init(&one, &flows);
	flows.seed = 2;
	flow_plan_init(&two, &flows);
	for (n = 1; n < flows.count; n++) {
		uint32_t before = flow_number(&one, n - 1), now = flow_number(&one, n);

		distance += now > before ? now - before : before - now;
		steps[((now - before) & (flows.count - 1)) >> 16]++;
		same += now == flow_number(&two, n);
	}
	/* A third of the range apart on the average; a sixteenth of the steps in each sixteenth. */
	assert_uint_in_range(distance / flows.count, flows.count / 4, flows.count / 2);
	assert_true(same < 100);
	for (n = 0; n < 16; n++)
		assert_uint_in_range(steps[n], flows.count / 16 / 4, flows.count / 16 * 4);
}

/* Read back from real frames, and counted. */
static void
sixteen_million_distinct_flows(void **state)
{
	struct flows flows = sample_flows(FIELD_SOURCE_IP, 256, 1);
	struct headers headers = sample_headers();
	struct flow_edits edits;
	struct flow_plan plan;
	struct error error;
	uint32_t n, distinct = 0;
	uint8_t *seen;

	(void)state;
	sample_vary(&flows, FIELD_DESTINATION_PORT, 4096, 3);
	sample_vary(&flows, FIELD_DESTINATION_IP, 16, 256);
	flows.order = FLOWS_SHUFFLED;
	assert_int_equal(flows.count, TGEN_MAX_FLOWS);
	assert_int_equal(flow_check(&flows, &headers, &error), 0);
	assert_int_equal(frame_build(&headers, 64, &frame, &error), 0);
	flow_plan_init(&plan, &flows);
	flow_edits_init(&edits, &flows, &headers, &frame);
	seen = calloc(flows.count, 1);
	assert_non_null(seen);
	for (n = 0; n < flows.count; n++) {
		uint32_t source, destination, port;

		flow_apply(&edits, frame.bytes, flow_number(&plan, n));
		source = bytes_get_32(frame.bytes + frame.ip + 12) -
			bytes_get_32(headers.source_ip);
		destination = bytes_get_32(frame.bytes + frame.ip + 16) -
			bytes_get_32(headers.destination_ip);
		port = bytes_get_16(frame.bytes + frame.layer4 + 2) - 2048u;
		assert_true(source < 256 && port / 3 < 4096 && port % 3 == 0);
		assert_true(destination / 256 < 16 && destination % 256 == 0);
		distinct += !seen[source | (port / 3) << 8 | (destination / 256) << 20]++;
		if (n % 64 == 0) {
			assert_int_equal(sample_ip_sum(&frame), UINT16_MAX);
			assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
		}
	}
	free(seen);
	assert_int_equal(distinct, 16777216);
}

/* Add to a field of the headers, the slow way. */
static void
move_field(struct headers *headers, enum field field, uint64_t by)
{
	bool is_ipv6 = headers->layer3 == LAYER3_IPV6;
	uint8_t *mac = field == FIELD_SOURCE_MAC ? headers->source_mac : headers->destination_mac;
	uint8_t *ip = field == FIELD_SOURCE_IP ? headers->source_ip : headers->destination_ip;
	unsigned int last = field <= FIELD_DESTINATION_MAC ? 5 : is_ipv6 ? 15 : 3;
	uint8_t *bytes = field <= FIELD_DESTINATION_MAC ? mac : ip;

	switch (field) {
	case FIELD_SOURCE_PORT:
		headers->source_port = (uint16_t)(headers->source_port + by);
		return;
	case FIELD_DESTINATION_PORT:
		headers->destination_port = (uint16_t)(headers->destination_port + by);
		return;
	case FIELD_VLAN:
		headers->vlan[0] = (uint16_t)(headers->vlan[0] + by);
		return;
	case FIELD_VNI:
	case FIELD_KEY:
	case FIELD_TEID:
		headers->outer.id += (uint32_t)by;
		return;
	default:
		break;
	}
	for (; by != 0; by >>= 8) {
		unsigned int at = last--;
		unsigned int sum = bytes[at] + (unsigned int)(by & 0xff);

		bytes[at] = (uint8_t)sum;
		by += (uint64_t)(sum >> 8) << 8;
	}
}

static struct headers
random_headers(uint64_t *seed)
{
	struct headers headers = sample_headers();
	uint64_t bits = unit_random(seed);
	unsigned int i;

	headers.layer3 = bits & 1 ? LAYER3_IPV6 : LAYER3_IPV4;
	headers.layer4 = bits & 2 ? LAYER4_TCP : LAYER4_UDP;
	sample_outer(&headers, (enum encapsulation)(unit_random(seed) % (ENCAPSULATION_GTPU + 1)),
		bits & 4 ? LAYER3_IPV6 : LAYER3_IPV4, (uint32_t)(bits >> 24 & 0x7fffff));
	if (headers.outer.kind == ENCAPSULATION_GRE) {
		headers.outer.has_id = bits >> 8 & 3;
		headers.outer.carries_ip = bits >> 10 & 1;
	}
	headers.outer.vlans = (bits >> 12) % 3;
	if (frame_has_ethernet(&headers)) {
		headers.vlans = (bits >> 3) % 3;
		headers.mpls_labels = (bits >> 5) & 3;
	}
	headers.vlan[0] = (uint16_t)(bits >> 16 & 0xf0ff);
	headers.source_port = (uint16_t)(bits >> 32 & 0x7fff);
	headers.destination_port = (uint16_t)(bits >> 47 & 0x7fff);
	for (i = 0; i < 16; i++) {
		headers.source_ip[i] = (uint8_t)(unit_random(seed) & 0x7f);
		headers.destination_ip[i] = (uint8_t)(unit_random(seed) & 0x7f);
		headers.outer.source_ip[i] = (uint8_t)unit_random(seed);
	}
	return headers;
}

static struct flows
random_flows(uint64_t *seed)
{
	static const uint32_t most[] = { 1u << 20, 1u << 20, 1u << 20, 1u << 20, 4096, 4096, 4096,
		1u << 20, 1u << 20, 1u << 20 };
	unsigned int wanted = unit_random(seed) % (TGEN_MAX_VARIATIONS + 1), i;
	struct flows flows = { .count = 1 };

	for (i = 0; i < wanted; i++) {
		enum field field = (enum field)(unit_random(seed) % 10);
		uint32_t room = TGEN_MAX_FLOWS / flows.count;
		uint32_t limit = room < most[field] ? room : most[field];
		uint32_t count = 1 + (uint32_t)(unit_magnitude(seed) % limit);

		sample_vary(&flows, field, count, 1 + unit_random(seed) % 8);
	}
	return flows;
}

/* A flow put onto the template is the frame that the flow's own headers build, byte by byte. */
static void
applying_is_building_anew(void **state)
{
	uint64_t seed = 13;
	unsigned int i, used = 0;

	(void)state;
	for (i = 0; i < 100000; i++) {
		struct headers headers = random_headers(&seed), moved;
		struct flows flows = random_flows(&seed);
		uint16_t size = (uint16_t)(frame_smallest(&headers) + unit_random(&seed) % 9);
		struct flow_edits edits;
		struct error error;
		uint32_t flow, rest;
		int again;

		if (flow_check(&flows, &headers, &error) != 0)
			continue;
		used++;
		assert_int_equal(frame_build(&headers, size, &frame, &error), 0);
		flow_edits_init(&edits, &flows, &headers, &frame);
		/* Several onto the same bytes: none may depend on the one before. */
		for (again = 0; again < 4; again++) {
			unsigned int v;

			flow = again == 0 ? flows.count - 1 : unit_random(&seed) % flows.count;
			rest = flow;
			moved = headers;
			for (v = 0; v < flows.variations; v++) {
				const struct variation *variation = &flows.variation[v];

				move_field(&moved, variation->field,
					(uint64_t)(rest % variation->count) * variation->step);
				rest /= variation->count;
			}
			flow_apply(&edits, frame.bytes, flow);
			assert_int_equal(frame_build(&moved, size, &rebuilt, &error), 0);
			assert_memory_equal(frame.bytes, rebuilt.bytes, frame.length);
		}
	}
	assert_true(used > 20000);
}

/* The flow whose checksum would be 0, one for each layer 4. */
static void
zero_rule_after_a_change(void **state)
{
	struct flows flows = sample_flows(FIELD_SOURCE_PORT, 65536, 1);
	struct headers headers = sample_headers();
	unsigned int layer4;

	(void)state;
	headers.source_port = 0;
	for (layer4 = LAYER4_UDP; layer4 <= LAYER4_TCP; layer4++) {
		uint16_t never = layer4 == LAYER4_UDP ? 0 : UINT16_MAX;
		uint16_t other = layer4 == LAYER4_UDP ? UINT16_MAX : 0;
		unsigned int others = 0;
		struct flow_edits edits;
		struct error error;
		uint32_t flow;

		headers.layer4 = (enum layer4)layer4;
		assert_int_equal(frame_build(&headers, 80, &frame, &error), 0);
		flow_edits_init(&edits, &flows, &headers, &frame);
		for (flow = 0; flow < flows.count; flow++) {
			uint16_t checksum;

			flow_apply(&edits, frame.bytes, flow);
			checksum = bytes_get_16(frame.bytes + frame.layer4 +
				(layer4 == LAYER4_UDP ? 6 : 16));
			assert_true(checksum != never);
			others += checksum == other;
			assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
		}
		/* Ports 0 and 0xffff are the same to a checksum. */
		assert_uint_in_range(others, 1, 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_flow_comes_once_a_round),
		cmocka_unit_test(in_order_is_the_remainder),
		cmocka_unit_test(shuffling_shuffles),
		cmocka_unit_test(sixteen_million_distinct_flows),
		cmocka_unit_test(applying_is_building_anew),
		cmocka_unit_test(zero_rule_after_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
