/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a request may say of streams and hosts, and what is said when it is wrong. */

#include "talk.h"

#define STREAM(inner) \
	"{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":64},{" inner "}]}"

static void
test_requests_that_are_none_are_refused(void **state)
{
	assert_refused(*state, "what?", "bad-json", "");
	assert_refused(*state, "[1, 2", "bad-json", "");
	assert_refused(*state, "{} {}", "bad-json", "");
	assert_refused(*state, "\xff\xfe", "bad-json", "");
	assert_refused(*state, "{\"id\":1,\"id\":2}", "bad-json", "");
	assert_refused(*state, "{\"id\":99999999999999999999}", "bad-json", "");
	assert_refused(*state, "[]", "wrong-type", "");
	assert_refused(*state, "7", "wrong-type", "");
	assert_refused(*state, "null", "wrong-type", "");
	assert_refused(*state, "{}", "missing-key", "id");
	assert_refused(*state, "{\"id\":\"a\",\"verb\":\"hello\"}", "wrong-type", "id");
	assert_refused(*state, "{\"id\":-1,\"verb\":\"hello\"}", "out-of-range", "id");
	assert_refused(*state, "{\"id\":1.0,\"verb\":\"hello\"}", "wrong-type", "id");
	assert_refused(*state, "{\"id\":1}", "missing-key", "verb");
	assert_refused(*state, "{\"id\":1,\"verb\":\"helo\"}", "unknown-verb", "verb");
	assert_refused(*state, "{\"id\":1,\"verb\":\"hello\",\"how\":1}", "unknown-key", "how");
}

static void
test_the_answer_has_the_id_of_its_request(void **state)
{
	json_t *answer = ask(*state, "{\"id\":9007199254740992,\"verb\":\"nothing\"}");

	assert_int_equal(integer(answer, "id"), 9007199254740992);
	answer = ask(*state, "nothing");
	assert_true(json_is_null(json_object_get(answer, "id")));
}

static void
test_an_error_says_where_it_is(void **state)
{
	static const struct {
		const char *request, *code, *path;
	} cases[] = {
		{ STREAM("\"size\":\"64\""), "wrong-type", "streams[1].size" },
		{ STREAM("\"size\":64.0"), "wrong-type", "streams[1].size" },
		{ STREAM("\"size\":63"), "out-of-range", "streams[1].size" },
		{ STREAM("\"size\":null"), "wrong-type", "streams[1].size" },
		{ STREAM("\"bytes\":64"), "missing-key", "streams[1]" },
		{ STREAM("\"size\":64,\"dcsp\":1"), "unknown-key", "streams[1].dcsp" },
		{ STREAM("\"size\":64,\"genome\":\"a\""), "bad-value", "streams[1]" },
		{ STREAM("\"genome\":\"aaZ\""), "bad-value", "streams[1].genome" },
		{ STREAM("\"genome\":\"\""), "bad-value", "streams[1].genome" },
		{ STREAM("\"sizes\":[64,9217]"), "out-of-range", "streams[1].sizes[1]" },
		{ STREAM("\"sizes\":[]"), "out-of-range", "streams[1].sizes" },
		{ STREAM("\"size\":64,\"tcp\":{}"), "bad-value", "streams[1].tcp" },
		{ STREAM("\"size\":80,\"layer4\":\"tcp\",\"tcp\":{\"flags\":256}"), "out-of-range",
			"streams[1].tcp.flags" },
		{ STREAM("\"size\":80,\"layer3\":\"ipv6\",\"dont_fragment\":false"), "bad-value",
			"streams[1].dont_fragment" },
		{ STREAM("\"size\":64,\"dont_fragment\":0"), "wrong-type",
			"streams[1].dont_fragment" },
		{ STREAM("\"size\":64,\"workers\":65"), "out-of-range", "streams[1].workers" },
		{ STREAM("\"size\":64,\"transmit_port\":2"), "out-of-range",
			"streams[1].transmit_port" },
		{ STREAM("\"size\":64,\"layer3\":\"ipx\""), "bad-value", "streams[1].layer3" },
		{ STREAM("\"size\":64,\"source_mac\":\"02:00\""), "bad-value",
			"streams[1].source_mac" },
		{ STREAM("\"size\":64,\"source_ip\":\"::1\""), "bad-value",
			"streams[1].source_ip" },
		{ STREAM("\"size\":64,\"layer3\":\"ipv6\",\"source_ip\":\"198.18.0.1\""),
			"bad-value", "streams[1].source_ip" },
		{ STREAM("\"size\":64,\"vlans\":[1,2,3]"), "out-of-range", "streams[1].vlans" },
		{ STREAM("\"size\":64,\"vlans\":[4096]"), "out-of-range", "streams[1].vlans[0]" },
		{ STREAM("\"size\":64,\"vlans\":[{\"priority\":1}]"), "missing-key",
			"streams[1].vlans[0]" },
		{ STREAM("\"size\":64,\"mpls\":[1048576]"), "out-of-range", "streams[1].mpls[0]" },
		{ STREAM("\"size\":64,\"vxlan\":{}"), "missing-key", "streams[1].vxlan" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":1}"), "bad-size", "streams[1]" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":16777216}"), "out-of-range",
			"streams[1].vxlan.vni" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":1,\"key\":1}"), "unknown-key",
			"streams[1].vxlan.key" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":1,\"vlans\":[1,2,3]}"), "out-of-range",
			"streams[1].vxlan.vlans" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":1,\"carries\":\"ip\"}"), "unknown-key",
			"streams[1].vxlan.carries" },
		{ STREAM("\"size\":64,\"vxlan\":{\"vni\":1},\"gre\":{}"), "bad-value",
			"streams[1].gre" },
		{ STREAM("\"size\":64,\"geneve\":{\"vni\":1,\"layer3\":\"ipv6\","
			"\"source_ip\":\"198.18.0.1\"}"), "bad-value",
			"streams[1].geneve.source_ip" },
		{ STREAM("\"size\":64,\"gre\":{\"key\":4294967296}"), "out-of-range",
			"streams[1].gre.key" },
		{ STREAM("\"size\":64,\"gtpu\":{}"), "missing-key", "streams[1].gtpu" },
		{ STREAM("\"size\":200,\"gtpu\":{\"teid\":1},\"vlans\":[1]"), "bad-value",
			"streams[1].vlans" },
		{ STREAM("\"size\":200,\"gre\":{\"carries\":\"ip\"},"
			"\"source_mac\":\"02:00:00:00:00:01\""), "bad-value",
			"streams[1].source_mac" },
		{ STREAM("\"size\":200,\"gre\":{},\"flows\":{\"vary\":[{\"field\":\"key\","
			"\"count\":2}]}"), "bad-value", "streams[1].flows" },
		{ STREAM("\"size\":64,\"layer3\":\"ipv6\""), "bad-size", "streams[1]" },
		{ STREAM("\"size\":64,\"broadcast_every\":0"), "out-of-range",
			"streams[1].broadcast_every" },
		{ STREAM("\"size\":128,\"vxlan\":{\"vni\":1},\"broadcast_every\":100"),
			"bad-value", "streams[1].broadcast_every" },
		{ STREAM("\"replay\":\"/x.pcap\",\"broadcast_every\":100"), "unknown-key",
			"streams[1].broadcast_every" },
		{ STREAM("\"replay\":\"x.pcap\""), "bad-value", "streams[1].replay" },
		{ STREAM("\"replay\":7"), "wrong-type", "streams[1].replay" },
		{ STREAM("\"replay\":\"/x.pcap\",\"size\":64"), "unknown-key",
			"streams[1].size" },
		{ STREAM("\"size\":64,\"flows\":7"), "wrong-type", "streams[1].flows" },
		{ STREAM("\"size\":64,\"flows\":{}"), "missing-key", "streams[1].flows" },
		{ STREAM("\"size\":64,\"flows\":{\"vary\":[{\"field\":\"colour\",\"count\":2}]}"),
			"bad-value", "streams[1].flows.vary[0].field" },
		{ STREAM("\"size\":64,\"flows\":{\"vary\":[{\"field\":\"source_ip\","
			"\"count\":16777216},{\"field\":\"source_port\",\"count\":2}]}"),
			"out-of-range", "streams[1].flows" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(*state, cases[i].request, cases[i].code, cases[i].path);
	assert_refused(*state, "{\"id\":1,\"verb\":\"configure\"}", "missing-key", "streams");
	assert_refused(*state, "{\"id\":1,\"verb\":\"configure\",\"streams\":[]}",
		"out-of-range", "streams");
	assert_refused(*state, "{\"id\":1,\"verb\":\"configure\",\"streams\":[7]}",
		"wrong-type", "streams[0]");
}

static void
test_ports_have_addresses_for_benchmarks(void **state)
{
	struct talk *talk = *state;
	static const uint8_t first[4] = { 198, 18, 0, 1 }, second[4] = { 198, 19, 0, 1 };
	const struct headers *headers = &talk->session->traffic.stream[1].headers;

	result_of(talk, CONFIGURE);
	assert_memory_equal(headers->source_ip, second, 4);
	assert_memory_equal(headers->destination_ip, first, 4);
	assert_int_equal(talk->session->traffic.stream[1].receive_port, 0);
	assert_int_equal(headers->source_mac[0], 2);
	assert_memory_not_equal(headers->source_mac, headers->destination_mac, 6);
}

static void
test_all_of_a_stream_can_be_said(void **state)
{
	struct talk *talk = *state;
	const struct stream *stream = &talk->session->traffic.stream[0];
	const struct headers *headers = &stream->headers;
	static const uint8_t mac[6] = { 2, 10, 11, 0, 0, 1 }, outer[4] = { 198, 18, 1, 2 };
	static const uint8_t ip[16] = { 0x20, 1, 0, 2, [15] = 7 };

	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{"
		"\"transmit_port\":1,\"receive_port\":1,\"sizes\":[200,300],"
		"\"source_mac\":\"02:0a:0B:00:00:01\",\"vlans\":[{\"id\":100,\"priority\":7},4094],"
		"\"mpls\":[16,17],\"layer3\":\"ipv6\",\"source_ip\":\"2001:2::7\","
		"\"layer4\":\"tcp\",\"dscp\":46,\"ttl\":1,"
		"\"source_port\":1,\"destination_port\":2,"
		"\"vxlan\":{\"vni\":16777215,\"source_ip\":\"198.18.1.2\"},"
		"\"flows\":{\"vary\":[{\"field\":\"source_port\",\"count\":4,\"step\":2},"
		"{\"field\":\"destination_mac\",\"count\":3}],\"order\":\"shuffled\","
		"\"seed\":99}}]}");
	assert_int_equal(stream->transmit_port, 1);
	assert_int_equal(stream->receive_port, 1);
	assert_int_equal(stream->sizes, 2);
	assert_int_equal(stream->size[1], 300);
	assert_memory_equal(headers->source_mac, mac, 6);
	assert_int_equal(headers->vlans, 2);
	assert_int_equal(headers->vlan[0], 7 << 13 | 100);
	assert_int_equal(headers->vlan[1], 4094);
	assert_int_equal(headers->mpls_labels, 2);
	assert_int_equal(headers->mpls[1], 17);
	assert_int_equal(headers->layer3, LAYER3_IPV6);
	assert_memory_equal(headers->source_ip, ip, 16);
	assert_int_equal(headers->layer4, LAYER4_TCP);
	assert_int_equal(headers->dscp, 46);
	assert_int_equal(headers->ttl, 1);
	assert_int_equal(headers->destination_port, 2);
	assert_int_equal(headers->outer.kind, ENCAPSULATION_VXLAN);
	assert_int_equal(headers->outer.id, 16777215);
	assert_memory_equal(headers->outer.source_ip, outer, 4);
	assert_int_equal(stream->flows.count, 12);
	assert_int_equal(stream->flows.variation[0].step, 2);
	assert_int_equal(stream->flows.order, FLOWS_SHUFFLED);
	assert_int_equal(stream->flows.seed, 99);
}

/* With all its keys, as many as the reader can remember, and each one read. */
static void
test_all_of_a_tunnel_can_be_said(void **state)
{
	struct talk *talk = *state;
	const struct stream *stream = &talk->session->traffic.stream[0];
	const struct outer *outer = &stream->headers.outer;
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 }, source[16] = { 0x20, 1, 0, 2, [15] = 9 };
	static const uint8_t destination[16] = { 0x20, 1, 0, 2, [7] = 1, [14] = 1, [15] = 1 };

	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"transmit_port\":0,"
		"\"receive_port\":1,\"size\":200,\"layer3\":\"ipv6\",\"layer4\":\"udp\","
		"\"source_ip\":\"2001:2::7\",\"destination_ip\":\"2001:2::8\",\"dscp\":1,"
		"\"ttl\":2,\"source_port\":3,\"destination_port\":4,"
		"\"gtpu\":{\"teid\":4294967295,\"layer3\":\"ipv6\",\"source_ip\":\"2001:2::9\","
		"\"source_mac\":\"02:00:00:00:00:09\",\"vlans\":[7,{\"id\":8,\"priority\":1}]},"
		"\"flows\":{\"vary\":[{\"field\":\"source_ip\",\"count\":9}]}}]}");
	assert_int_equal(outer->kind, ENCAPSULATION_GTPU);
	assert_true(outer->carries_ip && outer->has_id);
	assert_int_equal(outer->id, UINT32_MAX);
	assert_int_equal(outer->layer3, LAYER3_IPV6);
	assert_memory_equal(outer->source_ip, source, 16);
	assert_memory_equal(outer->destination_ip, destination, 16);
	assert_memory_equal(outer->source_mac, mac, 6);
	assert_int_equal(outer->vlans, 2);
	assert_int_equal(outer->vlan[1], 1 << 13 | 8);
	assert_int_equal(stream->flows.count, 9);
	assert_int_equal(stream->broadcast_every, 0);
	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":64,"
		"\"broadcast_every\":4294967295}]}");
	assert_int_equal(stream->broadcast_every, UINT32_MAX);
	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":200,"
		"\"gre\":{\"carries\":\"ethernet\"}}]}");
	assert_int_equal(outer->kind, ENCAPSULATION_GRE);
	assert_false(outer->carries_ip || outer->has_id);
}

static void
test_what_the_engine_refuses_is_handed_on(void **state)
{
	assert_refused(*state, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":666}]}",
		"refused", "");
	result_of(*state, CONFIGURE);
	assert_refused(*state, "{\"id\":2,\"verb\":\"trial\",\"frames\":1,\"burst\":13}",
		"refused", "");
}

static void
test_hosts_of_a_responder(void **state)
{
	static const struct {
		const char *hosts, *code, *path;
	} wrong[] = {
		{ "7", "wrong-type", "hosts" },
		{ "[{}]", "missing-key", "hosts[0]" },
		{ "[{\"ip\":\"198.18.0.9\"},{\"ip\":\"2001:2::9\"}]", "bad-value", "hosts[1].ip" },
		{ "[{\"ip\":\"198.18.0.9\",\"port\":2}]", "out-of-range", "hosts[0].port" },
		{ "[{\"ip\":\"198.18.0.9\",\"mac\":\"02\"}]", "bad-value", "hosts[0].mac" },
		{ "[{\"ip\":\"198.18.0.9\",\"name\":\"me\"}]", "unknown-key", "hosts[0].name" },
	};
	struct talk *talk = *state;
	char request[200];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(request, sizeof(request),
			"{\"id\":1,\"verb\":\"respond\",\"hosts\":%s}", wrong[i].hosts);
		assert_refused(talk, request, wrong[i].code, wrong[i].path);
		assert_int_equal(session_patience(talk->session), -1);
	}
	result_of(talk, "{\"id\":1,\"verb\":\"respond\",\"hosts\":[{\"port\":1,\"layer3\":\"ipv6\","
		"\"ip\":\"2001:2::9\",\"mac\":\"02:00:00:00:00:09\"}]}");
	/* Somebody may ask at any time, so the engine has to be looked after. */
	assert_true(session_patience(talk->session) >= 0);
	result_of(talk, "{\"id\":1,\"verb\":\"respond\",\"on\":false}");
	assert_int_equal(session_patience(talk->session), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests_that_are_none_are_refused),
		TEST(test_the_answer_has_the_id_of_its_request),
		TEST(test_an_error_says_where_it_is),
		TEST(test_ports_have_addresses_for_benchmarks),
		TEST(test_all_of_a_stream_can_be_said),
		TEST(test_all_of_a_tunnel_can_be_said),
		TEST(test_what_the_engine_refuses_is_handed_on),
		TEST(test_hosts_of_a_responder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
