/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "bytes.h"
#include "checksum.h"
#include "frame.h"
#include "samples.h"

static struct frame frame;

static void
smallest_sizes(void **state)
{
	struct headers headers = sample_headers();
	struct error error;

	(void)state;
	assert_int_equal(frame_smallest(&headers), 64);
	headers.vlans = 1;
	assert_int_equal(frame_smallest(&headers), 68);
	headers.vlans = 2;
	assert_int_equal(frame_smallest(&headers), 72);
	headers.vlans = 0;
	headers.mpls_labels = 1;
	assert_int_equal(frame_smallest(&headers), 68);
	headers.mpls_labels = 0;
	headers.layer4 = LAYER4_TCP;
	assert_int_equal(frame_smallest(&headers), 76);
	headers.layer3 = LAYER3_IPV6;
	assert_int_equal(frame_smallest(&headers), 96);
	headers.layer4 = LAYER4_UDP;
	assert_int_equal(frame_smallest(&headers), 84);
	sample_outer(&headers, ENCAPSULATION_VXLAN, LAYER3_IPV4, 1);
	assert_int_equal(frame_smallest(&headers), 134);
	assert_int_equal(frame_build(&headers, 133, &frame, &error), -EINVAL);
	assert_string_equal(error.code, "bad-size");
	assert_non_null(strstr(error.text, "134"));
	assert_int_equal(frame_build(&headers, 134, &frame, &error), 0);
	assert_int_equal(frame.smallest, 134);
	assert_int_equal(frame_build(&headers, TGEN_MAX_FRAME, &frame, &error), 0);
	assert_int_equal(frame_build(&headers, TGEN_MAX_FRAME + 1, &frame, &error), -EINVAL);
	assert_string_equal(error.code, "bad-size");
}

static void
all_headers_fit_into_their_limit(void **state)
{
	struct headers headers = sample_headers();
	struct error error;

	(void)state;
	headers.vlans = 2;
	headers.mpls_labels = 3;
	headers.layer3 = LAYER3_IPV6;
	headers.layer4 = LAYER4_TCP;
	sample_outer(&headers, ENCAPSULATION_VXLAN, LAYER3_IPV6, 1);
	headers.outer.vlans = 2;
	assert_int_equal(frame_build(&headers, 512, &frame, &error), 0);
	assert_true(frame.header <= TGEN_MAX_HEADER);
	assert_int_equal(frame.vlan[0], frame.ethernet + 14);
	assert_int_equal(frame.vlan[1], frame.vlan[0] + 4);
	assert_int_equal(frame.mpls, frame.vlan[1] + 4);
	assert_int_equal(frame.ip, frame.mpls + 12);
	assert_int_equal(frame.layer4, frame.ip + 40);
	assert_int_equal(frame.header, frame.layer4 + 20);
	assert_int_equal(frame.payload, 512 - 4 - 18);
}

/* What each kind adds to the smallest frame: tags, IP and the tunnel, less Ethernet inside. */
static void
each_encapsulation_takes_its_bytes(void **state)
{
	static const struct {
		enum encapsulation kind;
		bool carries_ip, has_id;
		unsigned int bytes;
	} cases[] = {
		{ ENCAPSULATION_VXLAN, false, true, 14 + 20 + 8 + 8 },
		{ ENCAPSULATION_GENEVE, false, true, 14 + 20 + 8 + 8 },
		{ ENCAPSULATION_GRE, false, true, 14 + 20 + 8 },
		{ ENCAPSULATION_GRE, false, false, 14 + 20 + 4 },
		{ ENCAPSULATION_GRE, true, true, 20 + 8 },
		{ ENCAPSULATION_GRE, true, false, 20 + 4 },
		{ ENCAPSULATION_GTPU, true, true, 20 + 8 + 8 },
	};
	struct error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct headers headers = sample_headers();

		headers.outer.kind = cases[i].kind;
		headers.outer.carries_ip = cases[i].carries_ip;
		headers.outer.has_id = cases[i].has_id;
		assert_int_equal(frame_smallest(&headers), 64 + cases[i].bytes);
		headers.outer.layer3 = LAYER3_IPV6;
		headers.outer.vlans = 2;
		assert_int_equal(frame_smallest(&headers), 64 + cases[i].bytes + 20 + 8);
		assert_int_equal(frame_build(&headers, 200, &frame, &error), 0);
		assert_int_equal(frame.ethernet == FRAME_ABSENT, cases[i].carries_ip);
		assert_int_equal(frame.outer_ip, 14 + 8);
		assert_int_equal(frame.header, 64 - 22 + cases[i].bytes + 28);
	}
}

/* The fill bytes count up from the headers to the payload, which is left to the sender. */
static void
fill_bytes(void **state)
{
	struct headers headers = sample_headers();
	struct error error;
	uint16_t at;

	(void)state;
	assert_int_equal(frame_build(&headers, 1518, &frame, &error), 0);
	assert_int_equal(frame.length, 1514);
	assert_int_equal(frame.payload, 1496);
	for (at = frame.header; at < frame.payload; at++)
		assert_int_equal(frame.bytes[at], (at - frame.header) & 0xff);
	for (; at < frame.length; at++)
		assert_int_equal(frame.bytes[at], 0);
	assert_int_equal(frame.outer_ip, FRAME_ABSENT);
	assert_int_equal(frame.vlan[0], FRAME_ABSENT);
	assert_int_equal(frame.mpls, FRAME_ABSENT);
}

/* What is said of fragments and of TCP stands where it belongs, and the checksums know of it. */
static void
words_of_ip_and_tcp(void **state)
{
	struct headers headers = sample_headers();
	struct error error;

	(void)state;
	headers.layer4 = LAYER4_TCP;
	assert_int_equal(frame_build(&headers, 128, &frame, &error), 0);
	assert_int_equal(bytes_get_16(frame.bytes + frame.ip + 6), 0x4000);
	headers.may_fragment = true;
	headers.tcp = (struct tcp_words){
		.sequence = 0x01020304, .acknowledgement = 5, .flags = 0x12, .window = 0x0607,
	};
	assert_int_equal(frame_build(&headers, 128, &frame, &error), 0);
	assert_int_equal(bytes_get_16(frame.bytes + frame.ip + 6), 0);
	assert_memory_equal(frame.bytes + frame.layer4 + 4,
		"\1\2\3\4\0\0\0\5\x50\x12\6\7", 12);
	assert_int_equal(sample_ip_sum(&frame), UINT16_MAX);
	assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
}

/* Whatever a payload says, and at odd offsets as well, both checksums verify. */
static void
checksums_hold_with_any_payload(void **state)
{
	struct headers headers = sample_headers();
	struct error error;
	uint64_t seed = 11;
	uint16_t size;

	(void)state;
	for (size = 64; size < 1600; size++) {
		struct payload payload = {
			.trial = (uint8_t)unit_random(&seed),
			.stream = (uint8_t)unit_random(&seed),
			.sequence = unit_random(&seed) & TGEN_48_BITS,
			.departure = unit_random(&seed) & TGEN_48_BITS,
		};

		headers.layer4 = size % 3 == 0 && size >= 76 ? LAYER4_TCP : LAYER4_UDP;
		headers.source_port = (uint16_t)unit_random(&seed);
		assert_int_equal(frame_build(&headers, size, &frame, &error), 0);
		payload_write(frame.bytes + frame.payload, &payload);
		assert_int_equal(sample_ip_sum(&frame), UINT16_MAX);
		assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
	}
}

/* All 2^16 sums, among them the one whose checksum is 0. */
static void
udp_zero_rule(void **state)
{
	struct headers headers = sample_headers();
	struct error error;
	unsigned int port, zeros = 0;

	(void)state;
	for (port = 0; port <= UINT16_MAX; port++) {
		uint16_t checksum;

		headers.source_port = (uint16_t)port;
		assert_int_equal(frame_build(&headers, 64, &frame, &error), 0);
		checksum = bytes_get_16(frame.bytes + frame.layer4 + 6);
		assert_true(checksum != 0);
		zeros += checksum == UINT16_MAX;
		assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
	}
	assert_int_equal(zeros, 1);
}

static void
refuse(const struct headers *headers, const char *word)
{
	struct error error;

	assert_int_equal(frame_build(headers, 1518, &frame, &error), -EINVAL);
	assert_string_equal(error.code, "bad-value");
	assert_non_null(strstr(error.text, word));
}

static void
refuses_what_does_not_fit(void **state)
{
	struct headers headers = sample_headers();

	(void)state;
	headers.vlans = 3;
	refuse(&headers, "VLAN");
	headers = sample_headers();
	headers.mpls_labels = 4;
	refuse(&headers, "MPLS");
	headers.mpls_labels = 1;
	headers.mpls[0] = 1 << 20;
	refuse(&headers, "1048576");
	headers = sample_headers();
	headers.dscp = 64;
	refuse(&headers, "DSCP");
	headers = sample_headers();
	headers.ttl = 0;
	refuse(&headers, "TTL");
	headers = sample_headers();
	sample_outer(&headers, ENCAPSULATION_VXLAN, LAYER3_IPV4, 1 << 24);
	refuse(&headers, "VNI");
	headers.outer.id = 0;
	headers.outer.source_mac[0] = 0x03;
	refuse(&headers, "group");
	headers = sample_headers();
	sample_outer(&headers, ENCAPSULATION_GTPU, LAYER3_IPV4, 1);
	headers.vlans = 1;
	refuse(&headers, "without Ethernet");
	headers.vlans = 0;
	headers.outer.vlans = 3;
	refuse(&headers, "outer VLAN");
	headers.outer.layer3 = (enum layer3)7;
	refuse(&headers, "outer layer 3");
	headers.outer.kind = (enum encapsulation)9;
	refuse(&headers, "encapsulation 9");
	headers = sample_headers();
	headers.source_mac[0] = 0xff;
	refuse(&headers, "group");
	headers = sample_headers();
	headers.layer3 = (enum layer3)7;
	refuse(&headers, "layer 3");
	headers = sample_headers();
	headers.layer4 = (enum layer4)7;
	refuse(&headers, "layer 4");
}

static void
genomes(void **state)
{
	static const uint16_t all[] = { 64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000 };
	static const char *const wrong[] = { "", "A", "aaj", "z", "a b", "aaaaaaaaaaa", "`" };
	uint16_t sizes[10];
	struct error error;
	size_t i;

	(void)state;
	assert_int_equal(frame_genome("abcdefghi", sizes, 10, &error), 9);
	assert_memory_equal(sizes, all, sizeof(all));
	assert_int_equal(frame_genome("aaaaaaaddg", sizes, 10, &error), 10);
	assert_int_equal(sizes[7], 512);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(frame_genome(wrong[i], sizes, 10, &error), -EINVAL);
		assert_string_equal(error.code, "bad-genome");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest_sizes),
		cmocka_unit_test(all_headers_fit_into_their_limit),
		cmocka_unit_test(each_encapsulation_takes_its_bytes),
		cmocka_unit_test(fill_bytes),
		cmocka_unit_test(words_of_ip_and_tcp),
		cmocka_unit_test(checksums_hold_with_any_payload),
		cmocka_unit_test(udp_zero_rule),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(genomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
