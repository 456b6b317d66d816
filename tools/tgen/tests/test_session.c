/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a controller sees: one answer for each request, whatever it sends and when. */

#include "talk.h"

#define STRING_OF(value) #value
#define STRING(value) STRING_OF(value)
#define ROUNDTRIP "{\"id\":3,\"verb\":\"roundtrip\",\"cpus\":"

static void
test_hello_tells_versions_cpus_and_verbs(void **state)
{
	json_t *result = result_of(*state, "{\"id\":0,\"verb\":\"hello\"}");

	assert_int_equal(integer(result, "protocol"), TGEN_PROTOCOL);
	assert_int_equal(json_array_size(json_object_get(result, "verbs")), 18);
	assert_int_equal(json_array_size(json_object_get(result, "lcores")), 2);
	assert_null(json_object_get(json_array_get(json_object_get(result, "lcores"), 0), "cpu"));
	assert_string_equal(json_string_value(json_object_get(result, "state")), "idle");
}

static void
test_a_clock_is_told_at_one_moment(void **state)
{
	json_t *result = result_of(*state, "{\"id\":0,\"verb\":\"clock\"}");

	assert_int_equal(integer(result, "tsc"), 5000);
	assert_int_equal(integer(result, "raw_ns"), 2000);
	assert_refused(*state, "{\"id\":1,\"verb\":\"clock\",\"of\":0}", "unknown-key", "of");
}

static void
test_ports_leave_out_what_is_not_known(void **state)
{
	json_t *ports = json_object_get(result_of(*state, "{\"id\":0,\"verb\":\"ports\"}"),
		"ports");
	json_t *first = json_array_get(ports, 0), *second = json_array_get(ports, 1);

	assert_int_equal(json_array_size(ports), 2);
	assert_null(json_object_get(first, "virtio_features"));
	assert_null(json_object_get(first, "numa_node"));
	assert_int_equal(json_array_size(json_object_get(first, "receive_offloads")), 2);
	assert_string_equal(json_string_value(json_object_get(second, "virtio_features")),
		"0x130008000");
}

static void
test_order_matters(void **state)
{
	struct talk *talk = *state;

	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1}", "not-configured", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":1}", "not-configured", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"probe\"}", "not-configured", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"learn\"}", "not-configured", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"stop\"}", "idle", "");
	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, "{\"id\":5,\"verb\":\"trial\",\"frames\":100}\n");
	assert_int_equal(talk->lines, 0);
	assert_refused(talk, "{\"id\":6,\"verb\":\"trial\",\"frames\":1}", "busy", "");
	assert_refused(talk, CONFIGURE, "busy", "");
	assert_refused(talk, "{\"id\":6,\"verb\":\"stalls\",\"duration_ns\":1}", "busy", "");
	result_of(talk, "{\"id\":7,\"verb\":\"ports\"}");
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":8,\"verb\":\"live\"}"), "state")), "trial");
	result_of(talk, "{\"id\":9,\"verb\":\"stop\"}");
	forget(talk);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_int_equal(integer(talk->line[0], "id"), 5);
	assert_true(json_is_true(json_object_get(json_object_get(talk->line[0], "result"),
		"stopped_early")));
}

static void
test_a_trial_that_is_not_waited_for_ends_with_an_event(void **state)
{
	struct talk *talk = *state;
	json_t *streams, *result;

	result_of(talk, CONFIGURE);
	result_of(talk, "{\"id\":5,\"verb\":\"trial\",\"duration_ns\":1000000000,"
		"\"rate_fps\":[1000.5,0],\"wait\":false,\"variation\":true}");
	forget(talk);
	talk->now_ns = UINT64_C(3500000000);
	session_tick(talk->session, talk->now_ns);
	session_tick(talk->session, talk->now_ns + 1);
	assert_int_equal(talk->lines, 1); /* one second's statistics, not three */
	assert_string_equal(json_string_value(json_object_get(talk->line[0], "event")), "stats");
	session_tick(talk->session, talk->now_ns);
	assert_int_equal(talk->lines, 2);
	assert_string_equal(json_string_value(json_object_get(talk->line[1], "event")),
		"trial-done");
	assert_int_equal(integer(talk->line[1], "id"), 5);
	result = json_object_get(talk->line[1], "result");
	streams = json_object_get(result, "streams");
	assert_int_equal(integer(json_array_get(streams, 0), "intended"), 1000);
	assert_int_equal(integer(json_array_get(streams, 0), "unsent"), 0);
	assert_null(json_object_get(json_array_get(streams, 1), "intended"));
	assert_non_null(json_object_get(json_object_get(json_array_get(streams, 1), "latency"),
		"hdr"));
	assert_int_equal(session_patience(talk->session), -1);
}

#define BURST "{\"id\":1,\"verb\":\"burst\",\"frames\":[1,2],\"wait\":false"

static void
test_trials_are_numbered_so_that_frames_of_others_are_told_apart(void **state)
{
	static const int expected[] = { 254, 255, 0, 7, 8 };
	struct talk *talk = *state;
	unsigned int i;

	result_of(talk, CONFIGURE);
	for (i = 0; i < 5; i++) {
		json_t *result = result_of(talk, i == 3 ? BURST ",\"number\":7}" : BURST "}");

		assert_int_equal(integer(result, "number"), expected[i]);
		while (session_patience(talk->session) >= 0)
			session_tick(talk->session, 0);
	}
}

#define LEARN "{\"id\":4,\"verb\":\"learn\",\"rounds\":"

static void
test_learning_goes_on_while_the_controller_is_heard(void **state)
{
	struct talk *talk = *state;

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, LEARN "5}\n");
	assert_int_equal(session_patience(talk->session), 0);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 0);
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":8,\"verb\":\"live\"}"), "state")), "learn");
	assert_refused(talk, LEARN "5}", "busy", "");
	forget(talk);
	session_tick(talk->session, 0);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_int_equal(integer(talk->line[0], "id"), 4);
	assert_int_equal(integer(json_object_get(talk->line[0], "result"), "rounds"), 5);
	assert_int_equal(session_patience(talk->session), -1);
}

static void
test_learning_that_is_stopped_tells_the_rounds_that_were_whole(void **state)
{
	struct talk *talk = *state;

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, LEARN "5}\n");
	session_tick(talk->session, 0);
	result_of(talk, "{\"id\":8,\"verb\":\"stop\"}");
	forget(talk);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_int_equal(integer(json_object_get(talk->line[0], "result"), "rounds"), 1);
}

static void
test_learning_that_a_port_does_not_take_is_refused_late(void **state)
{
	struct talk *talk = *state;
	unsigned int i;

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, LEARN STRING(FAKE_REFUSED_ROUNDS) "}\n");
	for (i = 0; i < 3; i++)
		session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_int_equal(integer(talk->line[0], "id"), 4);
	assert_true(json_is_false(json_object_get(talk->line[0], "ok")));
	assert_string_equal(json_string_value(json_object_get(
		json_object_get(talk->line[0], "error"), "code")), "not-sent");
	assert_int_equal(session_patience(talk->session), -1);
}

static void
test_a_probe_says_where_frames_came_in(void **state)
{
	struct talk *talk = *state;
	json_t *stream;

	result_of(talk, CONFIGURE);
	stream = first_stream(talk, "{\"id\":3,\"verb\":\"probe\",\"frames\":5}");
	assert_int_equal(integer(json_object_get(stream, "arrived"), "1"), 5);
}

static void
test_stalls_are_told_per_worker(void **state)
{
	struct talk *talk = *state;
	json_t *worker;

	forget(talk);
	say(talk, "{\"id\":3,\"verb\":\"stalls\",\"duration_ns\":5}\n");
	while (talk->lines == 0)
		session_tick(talk->session, 0);
	worker = json_array_get(json_object_get(json_object_get(talk->line[0], "result"),
		"workers"), 0);
	assert_int_equal(integer(worker, "lcore"), 1);
	assert_int_equal(integer(json_object_get(worker, "gaps"), "max_ns"), 1500);
}

static void
test_a_round_trip_of_a_cache_line_is_told_at_once(void **state)
{
	struct talk *talk = *state;
	json_t *result = result_of(talk, ROUNDTRIP "[0,1]}");

	assert_int_equal(integer(result, "rounds"), 2000);
	assert_int_equal(integer(result, "min_ns"), 100);
	assert_int_equal(integer(json_object_get(result, "percentiles_ns"), "90"), 200);
	assert_true(json_is_true(json_object_get(result, "real_time")));
	assert_int_equal(session_patience(talk->session), -1);
	/* Nothing came back before the deadline: there is nothing to tell, not even a zero. */
	result = result_of(talk, ROUNDTRIP "[0," STRING(FAKE_LOST_CPU) "]}");
	assert_int_equal(integer(result, "rounds"), 0);
	assert_null(json_object_get(result, "min_ns"));
	assert_null(json_object_get(result, "percentiles_ns"));
}

static void
test_a_round_trip_needs_two_cpus_and_no_trial(void **state)
{
	struct talk *talk = *state;

	assert_refused(talk, "{\"id\":1,\"verb\":\"roundtrip\"}", "missing-key", "cpus");
	assert_refused(talk, ROUNDTRIP "[1]}", "out-of-range", "cpus");
	assert_refused(talk, ROUNDTRIP "[1,1]}", "bad-value", "cpus");
	assert_refused(talk, ROUNDTRIP "[0,1024]}", "out-of-range", "cpus[1]");
	assert_refused(talk, ROUNDTRIP "[0,\"1\"]}", "wrong-type", "cpus[1]");
	assert_refused(talk, ROUNDTRIP "[0,1],\"rounds\":20001}", "out-of-range", "rounds");
	assert_refused(talk, ROUNDTRIP "[0," STRING(FAKE_REFUSED_CPU) "]}", "bad-value", "");
	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, "{\"id\":5,\"verb\":\"trial\",\"frames\":100}\n");
	assert_refused(talk, ROUNDTRIP "[0,1]}", "busy", "");
}

static void
test_quit_answers_what_is_still_owed(void **state)
{
	struct talk *talk = *state;

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, "{\"id\":3,\"verb\":\"probe\"}\n{\"id\":4,\"verb\":\"quit\"}\n"
		"{\"id\":5,\"verb\":\"hello\"}\n");
	assert_int_equal(talk->lines, 2);
	assert_int_equal(integer(talk->line[0], "id"), 3);
	assert_true(json_is_false(json_object_get(talk->line[0], "ok")));
	assert_int_equal(integer(talk->line[1], "id"), 4);
	assert_true(talk->session->quit);
}

static void
test_a_line_may_come_in_pieces_and_lines_together(void **state)
{
	struct talk *talk = *state;
	const char *text = "\r\n  \n{\"id\":1,\"verb\":\"hello\"}\r\n"
		"{\"id\":2,\"verb\":\"ports\"}\n";
	size_t i;

	for (i = 0; text[i] != '\0'; i++)
		session_input(talk->session, text + i, 1, 0);
	assert_int_equal(talk->lines, 2);
	forget(talk);
	say(talk, text);
	assert_int_equal(talk->lines, 2);
}

static void
test_a_line_without_end_is_refused_once_and_skipped(void **state)
{
	struct talk *talk = *state;
	char *much = malloc(10 << 20);

	memset(much, '[', 10 << 20);
	session_input(talk->session, much, 10 << 20, 0);
	assert_int_equal(talk->lines, 1);
	session_input(talk->session, much, 10 << 20, 0);
	assert_int_equal(talk->lines, 1);
	say(talk, "\n");
	assert_int_equal(talk->lines, 1);
	result_of(talk, "{\"id\":1,\"verb\":\"hello\"}");
	/* Exactly the longest, deeply nested. */
	forget(talk);
	session_input(talk->session, much, SESSION_MAX_LINE, 0);
	say(talk, "\n");
	assert_int_equal(talk->lines, 1);
	free(much);
}

static void
test_a_refused_caller_gets_one_whole_line(void **state)
{
	struct talk *talk = *state;

	session_refuse(keep, talk, "controlled", "another one is here");
	assert_int_equal(talk->lines, 1);
	assert_true(json_is_false(json_object_get(talk->line[0], "ok")));
}

#define LISTEN "{\"id\":1,\"verb\":\"listen\",\"port\":1"

static void
test_a_port_is_listened_to_beside_a_trial_and_looked_after_until_the_end(void **state)
{
	struct talk *talk = *state;
	json_t *result;

	assert_int_equal(session_patience(talk->session), -1);
	result_of(talk, LISTEN ",\"path\":\"/x\",\"keep\":\"last\",\"bytes\":1}");
	assert_true(session_patience(talk->session) > 0);
	result_of(talk, CONFIGURE);
	result_of(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"wait\":false}");
	assert_refused(talk, LISTEN ",\"path\":\"/x\"}", "busy", "");
	result = result_of(talk, LISTEN ",\"on\":false}");
	assert_int_equal(integer(result, "frames"), 3);
	assert_int_equal(integer(result, "heard"), 7);
	assert_refused(talk, LISTEN ",\"on\":false}", "idle", "");
	result_of(talk, LISTEN ",\"path\":\"/x\"}");
	stop_trial(talk);
}

static void
test_what_to_listen_for_is_checked(void **state)
{
	assert_refused(*state, LISTEN "}", "missing-key", "path");
	assert_refused(*state, LISTEN ",\"path\":\"x\"}", "bad-value", "path");
	assert_refused(*state, LISTEN ",\"path\":\"/x\",\"frames\":65537}", "out-of-range",
		"frames");
	assert_refused(*state, LISTEN ",\"path\":\"/x\",\"bytes\":16777217}", "out-of-range",
		"bytes");
	assert_refused(*state, LISTEN ",\"path\":\"/x\",\"longest\":0}", "out-of-range",
		"longest");
	assert_refused(*state, LISTEN ",\"path\":\"/x\",\"keep\":\"all\"}", "bad-value", "keep");
	assert_refused(*state, LISTEN ",\"on\":false,\"path\":\"/x\"}", "unknown-key", "path");
	assert_refused(*state, "{\"id\":1,\"verb\":\"listen\",\"path\":\"/x\"}", "missing-key",
		"port");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hello_tells_versions_cpus_and_verbs),
		TEST(test_a_clock_is_told_at_one_moment),
		TEST(test_ports_leave_out_what_is_not_known),
		TEST(test_order_matters),
		TEST(test_a_trial_that_is_not_waited_for_ends_with_an_event),
		TEST(test_trials_are_numbered_so_that_frames_of_others_are_told_apart),
		TEST(test_learning_goes_on_while_the_controller_is_heard),
		TEST(test_learning_that_is_stopped_tells_the_rounds_that_were_whole),
		TEST(test_learning_that_a_port_does_not_take_is_refused_late),
		TEST(test_a_probe_says_where_frames_came_in),
		TEST(test_stalls_are_told_per_worker),
		TEST(test_a_round_trip_of_a_cache_line_is_told_at_once),
		TEST(test_a_round_trip_needs_two_cpus_and_no_trial),
		TEST(test_a_port_is_listened_to_beside_a_trial_and_looked_after_until_the_end),
		TEST(test_what_to_listen_for_is_checked),
		TEST(test_quit_answers_what_is_still_owed),
		TEST(test_a_line_may_come_in_pieces_and_lines_together),
		TEST(test_a_line_without_end_is_refused_once_and_skipped),
		TEST(test_a_refused_caller_gets_one_whole_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
