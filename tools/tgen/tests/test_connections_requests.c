/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a request for connections may say, and what its answer tells of them. */

#include "talk.h"

#define BOTH "\"client\":{},\"server\":{}"
#define SECOND ",\"duration_ns\":1000000000"
#define CONNECTIONS(inner) "{\"id\":1,\"verb\":\"connections\"," inner "}"

static json_t *
made(struct talk *talk, const char *request)
{
	forget(talk);
	say(talk, request);
	say(talk, "\n");
	while (talk->lines == 0)
		session_tick(talk->session, 0);
	if (!json_is_true(json_object_get(talk->line[0], "ok")))
		fail_msg("%s: %s", request, json_dumps(talk->line[0], 0));
	return json_object_get(talk->line[0], "result");
}

static void
test_accounts_of_both_ends_are_told(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10.5" SECOND));
	json_t *client = json_object_get(result, "client"), *server;

	assert_int_equal(integer(client, "intended"), 10);
	assert_int_equal(integer(client, "unsent"), 1);
	assert_int_equal(integer(client, "launched"), 9);
	assert_int_equal(integer(client, "completed"), 8);
	assert_int_equal(integer(client, "refused"), 1);
	assert_int_equal(integer(client, "launching_ns"), 1000);
	assert_null(json_object_get(client, "completing_ns"));
	assert_int_equal(integer(client, "most_established"), 3);
	assert_int_equal(integer(client, "segments_sent"), 33);
	assert_int_equal(integer(json_object_get(client, "handshake"), "count"), 2);
	assert_non_null(json_object_get(json_object_get(client, "first_response"), "hdr"));
	server = json_object_get(result, "server");
	assert_int_equal(integer(server, "accepted"), 8);
	assert_int_equal(integer(server, "closed"), 8);
	assert_int_equal(integer(server, "most_connections"), 4);
	assert_int_equal(json_array_size(json_object_get(result, "ports")), 2);
	assert_int_equal(json_array_size(json_object_get(result, "workers")), 1);
	assert_null(json_object_get(result, "slots"));
}

static void
test_who_is_not_here_is_not_told_of(void **state)
{
	json_t *result = made(*state, CONNECTIONS("\"server\":{}" SECOND));

	assert_null(json_object_get(result, "client"));
	assert_non_null(json_object_get(result, "server"));
	result = made(*state, CONNECTIONS("\"client\":{\"port\":1},\"rate_cps\":1,\"connections\":7"));
	assert_null(json_object_get(result, "server"));
	assert_int_equal(integer(json_object_get(result, "client"), "intended"), 7);
}

static void
test_slots_are_told_as_lists(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND
		",\"slot_ns\":1000000"));
	json_t *slots = json_object_get(result, "slots");

	assert_int_equal(integer(slots, "count"), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(slots, "launched"),
		1)), 4);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(slots, "away_ns"),
		1)), 100000);
}

static void
test_requests_by_a_clock_have_accounts_of_their_own(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND
		",\"slot_ns\":1000000,\"asking\":{\"rate_rps\":2.5,\"duration_ns\":4000000000}"));
	json_t *asking = json_object_get(json_object_get(result, "client"), "asking");

	assert_int_equal(integer(asking, "intended"), 10);
	assert_int_equal(integer(asking, "unasked"), 1);
	assert_int_equal(integer(asking, "asked"), 6);
	assert_int_equal(integer(asking, "waiting"), 2);
	assert_int_equal(integer(asking, "gone"), 1);
	assert_int_equal(integer(asking, "replied"), 5);
	assert_int_equal(integer(asking, "busy_ppm"), 250000);
	assert_int_equal(integer(json_object_get(asking, "client"), "segments_sent"), 12);
	assert_int_equal(integer(json_object_get(asking, "client"), "repeated"), 2);
	assert_int_equal(integer(json_object_get(asking, "server"), "segments_sent"), 6);
	assert_int_equal(json_array_size(json_object_get(json_object_get(result, "slots"),
		"asked")), 2);
	result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND ",\"slot_ns\":1000000"));
	assert_null(json_object_get(json_object_get(result, "client"), "asking"));
	assert_null(json_object_get(json_object_get(result, "slots"), "asked"));
}

static void
test_a_flood_beside_them_is_told_of_at_both_ends(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND
		",\"flood\":{\"rate_fps\":70,\"answered\":true}"));
	json_t *flood = json_object_get(result, "flood");

	assert_int_equal(integer(flood, "sent"), 70);
	assert_int_equal(integer(flood, "answered"), 3);
	assert_int_equal(integer(flood, "refused"), 2);
	assert_int_equal(integer(json_object_get(result, "server"), "flooded"), 60);
	result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND));
	assert_null(json_object_get(result, "flood"));
}

static void
test_over_udp_messages_are_datagrams_of_bytes(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10,\"protocol\":\"udp\","
		"\"request_bytes\":4,\"response_bytes\":1460" SECOND));

	assert_int_equal(integer(json_object_get(result, "client"), "completed"), 8);
	made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10,\"protocol\":\"udp\","
		"\"asking\":{\"rate_rps\":1" SECOND "}" SECOND));
}

static void
test_where_its_ports_begin_is_told_by_a_client(void **state)
{
	json_t *result = made(*state, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND));

	assert_int_equal(integer(json_object_get(result, "client"), "begin_port"), 1024);
	result = made(*state, CONNECTIONS("\"client\":{\"begin_port\":65535,\"port_count\":9},"
		"\"server\":{},\"rate_cps\":10" SECOND));
	assert_int_equal(integer(json_object_get(result, "client"), "begin_port"), 65535);
}

static void
test_they_can_be_stopped_and_nothing_else_is_done_meanwhile(void **state)
{
	struct talk *talk = *state;

	forget(talk);
	say(talk, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND) "\n");
	assert_int_equal(talk->lines, 0);
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":2,\"verb\":\"live\"}"), "state")), "connections");
	assert_refused(talk, CONNECTIONS(BOTH ",\"rate_cps\":10" SECOND), "busy", "");
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":2,\"verb\":\"stop\"}"), "stopping")), "connections");
	forget(talk);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_true(json_is_true(json_object_get(json_object_get(talk->line[0], "result"),
		"stopped_early")));
}

static void
test_connections_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *asked, *code, *path;
	} wrong[] = {
		{ "\"rate_cps\":1" SECOND, "missing-key", "" },
		{ BOTH SECOND, "missing-key", "rate_cps" },
		{ BOTH ",\"rate_cps\":0" SECOND, "out-of-range", "rate_cps" },
		{ BOTH ",\"rate_cps\":1", "missing-key", "duration_ns" },
		{ BOTH ",\"rate_cps\":1,\"duration_ns\":999999999", "out-of-range", "duration_ns" },
		{ BOTH ",\"rate_cps\":\"x\"" SECOND, "wrong-type", "rate_cps" },
		{ "\"server\":{}", "missing-key", "duration_ns" },
		{ "\"server\":{},\"rate_cps\":1" SECOND, "missing-key", "client" },
		{ "\"client\":7,\"rate_cps\":1" SECOND, "wrong-type", "client" },
		{ "\"client\":{\"port\":2},\"rate_cps\":1" SECOND, "out-of-range", "client.port" },
		{ "\"client\":{\"ip\":\"x\"},\"rate_cps\":1" SECOND, "bad-value", "client.ip" },
		{ "\"client\":{\"addresses\":257},\"rate_cps\":1" SECOND, "out-of-range",
			"client.addresses" },
		{ "\"client\":{\"first_port\":65000,\"port_count\":537},\"rate_cps\":1" SECOND,
			"out-of-range", "client.port_count" },
		{ "\"client\":{\"first_port\":2000,\"begin_port\":1999},\"rate_cps\":1" SECOND,
			"out-of-range", "client.begin_port" },
		{ BOTH ",\"rate_cps\":1,\"protocol\":\"sctp\"" SECOND, "bad-value", "protocol" },
		{ BOTH ",\"rate_cps\":1,\"protocol\":\"udp\",\"content\":\"http\"" SECOND,
			"bad-value", "content" },
		{ BOTH ",\"rate_cps\":1,\"protocol\":\"udp\",\"request_bytes\":3" SECOND,
			"out-of-range", "request_bytes" },
		{ BOTH ",\"rate_cps\":1,\"protocol\":\"udp\",\"response_bytes\":1461" SECOND,
			"out-of-range", "response_bytes" },
		{ BOTH ",\"rate_cps\":1,\"protocol\":\"udp\",\"flood\":{\"rate_fps\":1}" SECOND,
			"bad-value", "flood" },
		{ "\"client\":{\"addresses\":256},\"rate_cps\":1" SECOND, "out-of-range",
			"client" },
		{ "\"client\":{\"vlan\":1},\"rate_cps\":1" SECOND, "unknown-key", "client.vlan" },
		{ "\"client\":{},\"server\":{\"port\":0,\"ip\":\"198.18.0.1\"},\"rate_cps\":1" SECOND,
			"bad-value", "server.ip" },
		{ "\"client\":{\"addresses\":9},\"server\":{\"port\":0,\"ip\":\"198.18.0.9\"},"
			"\"rate_cps\":1" SECOND, "bad-value", "server.ip" },
		{ "\"client\":{},\"server\":{\"port\":0,\"ip\":\"198.18.0.0\",\"addresses\":2},"
			"\"rate_cps\":1" SECOND, "bad-value", "server.ip" },
		{ BOTH ",\"rate_cps\":1,\"content\":\"ftp\"" SECOND, "bad-value", "content" },
		{ BOTH ",\"rate_cps\":1,\"requests\":0" SECOND, "out-of-range", "requests" },
		{ BOTH ",\"rate_cps\":1,\"requests\":1013" SECOND, "refused", "" },
		{ BOTH ",\"rate_cps\":1,\"attempts\":9" SECOND, "out-of-range", "attempts" },
		{ BOTH ",\"rate_cps\":1,\"segment_bytes\":1" SECOND, "out-of-range",
			"segment_bytes" },
		{ BOTH ",\"rate_cps\":1,\"frames\":1" SECOND, "unknown-key", "frames" },
		{ "\"server\":{},\"asking\":{\"rate_rps\":1" SECOND "}" SECOND, "bad-value", "asking" },
		{ BOTH ",\"rate_cps\":1,\"hold_ns\":1,\"asking\":{\"rate_rps\":1" SECOND "}" SECOND,
			"bad-value", "asking" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"duration_ns\":9}" SECOND, "missing-key",
			"asking.rate_rps" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"rate_rps\":0" SECOND "}" SECOND, "out-of-range",
			"asking.rate_rps" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"rate_rps\":1}" SECOND, "missing-key",
			"asking.duration_ns" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"rate_rps\":1,\"duration_ns\":9}" SECOND,
			"out-of-range", "asking.duration_ns" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"rate_rps\":0}" SECOND, "out-of-range",
			"asking.rate_rps" },
		{ "\"client\":{\"addresses\":2,\"port_count\":5},\"server\":{},\"rate_cps\":1,"
			"\"connections\":11,\"asking\":{\"rate_rps\":1" SECOND "}", "out-of-range",
			"asking" },
		{ "\"server\":{},\"flood\":{\"rate_fps\":1}" SECOND, "missing-key", "flood" },
		{ BOTH ",\"rate_cps\":1,\"flood\":{}" SECOND, "missing-key", "flood.rate_fps" },
		{ BOTH ",\"rate_cps\":1,\"flood\":{\"rate_fps\":0}" SECOND, "out-of-range",
			"flood.rate_fps" },
		{ BOTH ",\"rate_cps\":1,\"flood\":{\"rate_fps\":1,\"ip\":\"198.18.0.1\"}" SECOND,
			"bad-value", "flood.ip" },
		{ "\"client\":{},\"server\":{\"ip\":\"198.18.127.255\",\"addresses\":2},"
			"\"rate_cps\":1,\"flood\":{\"rate_fps\":1}" SECOND, "bad-value", "flood.ip" },
		{ BOTH ",\"rate_cps\":1,\"asking\":{\"rps\":1" SECOND "}" SECOND, "unknown-key",
			"asking.rps" },
	};
	char request[300];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(request, sizeof(request), "{\"id\":1,\"verb\":\"connections\",%s}",
			wrong[i].asked);
		assert_refused(*state, request, wrong[i].code, wrong[i].path);
	}
}

/* On one port, too, as long as they have none in common. */
static void
test_addresses_beside_each_other_are_taken(void **state)
{
	made(*state, CONNECTIONS("\"client\":{\"addresses\":8},\"server\":{\"port\":0,"
		"\"ip\":\"198.18.0.9\"},\"rate_cps\":1" SECOND));
	made(*state, CONNECTIONS("\"client\":{},\"server\":{\"port\":0,\"ip\":\"198.17.255.255\","
		"\"addresses\":2},\"rate_cps\":1" SECOND));
	made(*state, CONNECTIONS("\"client\":{},\"server\":{\"port\":0},\"rate_cps\":1" SECOND));
	made(*state, CONNECTIONS("\"client\":{},\"server\":{\"ip\":\"198.18.127.255\"},"
		"\"rate_cps\":1,\"flood\":{\"rate_fps\":1}" SECOND));
}

static void
test_as_many_connections_are_asked_by_a_clock_as_there_are_ports(void **state)
{
	made(*state, CONNECTIONS("\"client\":{\"addresses\":2,\"port_count\":5},\"server\":{},"
		"\"rate_cps\":1,\"connections\":10,\"asking\":{\"rate_rps\":1" SECOND "}"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_accounts_of_both_ends_are_told),
		TEST(test_who_is_not_here_is_not_told_of),
		TEST(test_slots_are_told_as_lists),
		TEST(test_requests_by_a_clock_have_accounts_of_their_own),
		TEST(test_a_flood_beside_them_is_told_of_at_both_ends),
		TEST(test_over_udp_messages_are_datagrams_of_bytes),
		TEST(test_where_its_ports_begin_is_told_by_a_client),
		TEST(test_they_can_be_stopped_and_nothing_else_is_done_meanwhile),
		TEST(test_connections_that_cannot_be_are_refused),
		TEST(test_addresses_beside_each_other_are_taken),
		TEST(test_as_many_connections_are_asked_by_a_clock_as_there_are_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
