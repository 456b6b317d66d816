/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a request for turns may say, and what its answer tells of them. */

#include "talk.h"

#define SIDES "\"sides\":[{\"streams\":[0],\"processes\":[70,71]},{\"streams\":[1]}]"
#define TURNS(inner) "{\"id\":1,\"verb\":\"turns\"," inner "}"

static const struct trial_request *
trial_of(const struct talk *talk)
{
	return &talk->session->pending.request;
}

/* The answer to turns, which come to their end. */
static json_t *
taken(struct talk *talk, const char *request)
{
	forget(talk);
	say(talk, request);
	say(talk, "\n");
	while (talk->lines == 0)
		session_tick(talk->session, 0);
	assert_true(json_is_true(json_object_get(talk->line[0], "ok")));
	return json_object_get(talk->line[0], "result");
}

static json_int_t
at(json_t *object, const char *column, size_t index)
{
	json_t *list = json_object_get(object, column);

	assert_true(json_is_integer(json_array_get(list, index)));
	return json_integer_value(json_array_get(list, index));
}

/* What a stream counted in a turn, or what there was in a slot of it. */
static json_int_t
part(json_t *turns, const char *column, size_t turn, size_t number)
{
	json_t *parts = json_array_get(json_object_get(turns, column), turn);

	assert_true(json_is_integer(json_array_get(parts, number)));
	return json_integer_value(json_array_get(parts, number));
}

static void
test_order_and_sides_are_as_asked_for(void **state)
{
	struct talk *talk = *state;
	json_t *result, *turns, *sides;

	result_of(talk, CONFIGURE);
	result = taken(talk, TURNS(SIDES ",\"order\":[0,1,1,0,0],\"rate_fps\":[1000,2000],"
		"\"turn_ns\":10000000,\"guard_ns\":2000000,\"number\":9,\"quiet_ns\":7"));
	assert_int_equal(trial_of(talk)->rate_mfps[1], 2000000);
	assert_int_equal(trial_of(talk)->quiet_ns, 7);
	assert_int_equal(trial_of(talk)->linger_ns, 7);
	assert_int_equal(trial_of(talk)->duration_ns, 60000000);
	assert_int_equal(integer(result, "number"), 9);
	assert_string_equal(json_string_value(json_object_get(result, "end")), "process-ended");
	assert_int_equal(integer(result, "ended_side"), 1);
	assert_int_equal(integer(result, "ended_process"), 77);
	turns = json_object_get(result, "turns");
	assert_int_equal(integer(turns, "count"), 4);
	assert_int_equal(json_array_size(json_object_get(turns, "side")), 4);
	assert_int_equal(at(turns, "side", 0), 0);
	assert_int_equal(at(turns, "side", 2), 1);
	assert_int_equal(at(turns, "began_ns", 2), 2000);
	assert_int_equal(at(turns, "ended_ns", 2), 3000);
	assert_int_equal(at(turns, "measured_ns", 2), 500);
	assert_int_equal(at(turns, "intended", 3), 5);
	assert_int_equal(at(turns, "refused", 3), 1);
	assert_int_equal(at(turns, "turn_distinct", 0), 7);
	/* Nothing came in the first one. */
	assert_true(json_is_null(json_array_get(json_object_get(turns, "first_ns"), 0)));
	assert_int_equal(at(turns, "first_ns", 1), 250);
	assert_null(json_object_get(turns, "latencies"));
	sides = json_object_get(result, "sides");
	assert_int_equal(json_array_size(sides), 2);
	assert_int_equal(integer(json_array_get(sides, 1), "elsewhere"), 11);
	assert_int_equal(at(json_array_get(sides, 1), "streams", 0), 1);
	assert_null(json_object_get(json_array_get(sides, 1), "latency"));
}

static void
test_each_turn_tells_of_each_stream_of_its_side(void **state)
{
	struct talk *talk = *state;
	json_t *turns;

	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":64},{\"size\":64},"
		"{\"size\":64}]}");
	turns = json_object_get(taken(talk, TURNS("\"sides\":[{\"streams\":[0,2]},{\"streams\":[1]}],"
		"\"order\":[0,1,1,0]")), "turns");
	assert_int_equal(json_array_size(json_object_get(turns, "streams_sent")), 3);
	assert_int_equal(json_array_size(json_array_get(
		json_object_get(turns, "streams_sent"), 0)), 2);
	assert_int_equal(part(turns, "streams_sent", 0, 0), 5);
	assert_int_equal(part(turns, "streams_sent", 0, 1), 4);
	assert_int_equal(part(turns, "streams_distinct", 0, 1), 3);
	assert_int_equal(json_array_size(json_array_get(
		json_object_get(turns, "streams_distinct"), 2)), 1);
	assert_int_equal(part(turns, "streams_distinct", 2, 0), 5);
}

static void
test_a_turn_has_slots_whose_frames_and_times_are_told(void **state)
{
	struct talk *talk = *state;
	json_t *turns;

	result_of(talk, CONFIGURE);
	turns = json_object_get(taken(talk, TURNS(SIDES ",\"order\":[0,1,0]")), "turns");
	assert_int_equal(json_array_size(json_object_get(turns, "slots_ns")), 2);
	assert_int_equal(json_array_size(json_array_get(
		json_object_get(turns, "slots_ns"), 0)), TURN_SLOTS);
	assert_int_equal(part(turns, "slots_ns", 1, 0), 50);
	assert_int_equal(part(turns, "slots_ns", 1, 1), 450);
	assert_int_equal(part(turns, "slots_distinct", 1, 0), 0);
	assert_int_equal(part(turns, "slots_distinct", 1, 1), 3);
}

static void
test_what_the_generator_itself_missed_is_told_by_turn(void **state)
{
	struct talk *talk = *state;
	json_t *turns;

	result_of(talk, CONFIGURE);
	turns = json_object_get(taken(talk, TURNS(SIDES ",\"order\":[0,1]")), "turns");
	assert_int_equal(at(turns, "behind_ns", 0), 200);
	assert_int_equal(at(turns, "missed", 0), 6);
	/* A device that does not tell has not missed nothing. */
	turns = json_object_get(taken(talk, TURNS(SIDES ",\"order\":[0,1],\"latency\":true")), "turns");
	assert_int_equal(at(turns, "behind_ns", 0), 200);
	assert_null(json_object_get(turns, "missed"));
}

static void
test_latencies_are_told_by_turn_and_by_side(void **state)
{
	struct talk *talk = *state;
	json_t *result, *turns, *side;

	result_of(talk, CONFIGURE);
	result = taken(talk, TURNS(SIDES ",\"order\":[0,1,0],\"latency\":true,\"rate_fps\":7"));
	turns = json_object_get(result, "turns");
	assert_int_equal(at(turns, "latencies", 1), 3);
	assert_int_equal(at(turns, "latency_sum_ns", 1), 300);
	assert_int_equal(at(turns, "latency_p50_ns", 1), 95);
	assert_int_equal(at(turns, "latency_p99_ns", 1), 200);
	/* Nothing came in the first one, and nothing has no latency. */
	assert_int_equal(at(turns, "latencies", 0), 0);
	assert_true(json_is_null(json_array_get(json_object_get(turns, "latency_p50_ns"), 0)));
	assert_true(json_is_null(json_array_get(json_object_get(turns, "latency_p99_ns"), 0)));
	side = json_array_get(json_object_get(result, "sides"), 0);
	assert_int_equal(integer(json_object_get(side, "latency"), "count"), 2);
	assert_non_null(json_object_get(json_object_get(side, "latency"), "hdr"));
}

static void
test_flat_out_nobody_knows_what_was_intended(void **state)
{
	struct talk *talk = *state;
	json_t *turns;

	result_of(talk, CONFIGURE);
	turns = json_object_get(taken(talk, TURNS(SIDES ",\"order\":[0,1,0]")), "turns");
	assert_null(json_object_get(turns, "intended"));
	assert_null(json_object_get(turns, "refused"));
	assert_int_equal(at(turns, "sent", 1), 4);
}

static void
test_turns_that_are_stopped_tell_those_that_were_whole(void **state)
{
	struct talk *talk = *state;
	json_t *result;

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, TURNS(SIDES ",\"order\":[0,1,0]") "\n");
	assert_int_equal(talk->lines, 0);
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":2,\"verb\":\"live\"}"), "state")), "turns");
	assert_refused(talk, TURNS(SIDES ",\"order\":[0]"), "busy", "");
	assert_string_equal(json_string_value(json_object_get(
		result_of(talk, "{\"id\":2,\"verb\":\"stop\"}"), "stopping")), "turns");
	forget(talk);
	session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	result = json_object_get(talk->line[0], "result");
	assert_string_equal(json_string_value(json_object_get(result, "end")), "stopped");
	assert_null(json_object_get(result, "ended_side"));
	assert_int_equal(integer(json_object_get(result, "turns"), "count"), 2);
}

static void
test_turns_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *turns, *code, *path;
	} wrong[] = {
		{ "\"order\":[0]", "missing-key", "sides" },
		{ SIDES, "missing-key", "order" },
		{ SIDES ",\"order\":[]", "out-of-range", "order" },
		{ SIDES ",\"order\":[0,2]", "out-of-range", "order[1]" },
		{ SIDES ",\"order\":[0,-1]", "out-of-range", "order[1]" },
		{ SIDES ",\"order\":[0,true]", "wrong-type", "order[1]" },
		{ SIDES ",\"order\":[0],\"turn_ns\":99999", "out-of-range", "turn_ns" },
		{ SIDES ",\"order\":[0],\"guard_ns\":1000000001", "out-of-range", "guard_ns" },
		{ SIDES ",\"order\":[0],\"silent_ns\":1000001", "out-of-range", "silent_ns" },
		{ "\"sides\":[{\"streams\":[0],\"gap_ns\":9999},{\"streams\":[1]}],\"order\":[0]",
			"out-of-range", "sides[0].gap_ns" },
		{ SIDES ",\"order\":[0],\"gap_ns\":10000", "unknown-key", "gap_ns" },
		{ SIDES ",\"order\":[0],\"frames\":7", "unknown-key", "frames" },
		{ SIDES ",\"order\":[0],\"rate_fps\":[1]", "out-of-range", "rate_fps" },
		{ "\"sides\":7,\"order\":[0]", "wrong-type", "sides" },
		{ "\"sides\":[{\"streams\":[0]}],\"order\":[0]", "out-of-range", "sides" },
		{ "\"sides\":[7,7],\"order\":[0]", "wrong-type", "sides[0]" },
		{ "\"sides\":[{\"streams\":[0]},{}],\"order\":[0]", "missing-key", "sides[1]" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[]}],\"order\":[0]", "out-of-range",
			"sides[1].streams" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[2]}],\"order\":[0]", "out-of-range",
			"sides[1].streams[0]" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[1,0]}],\"order\":[0]", "bad-value",
			"sides[1].streams[1]" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[1],\"pids\":[2]}],\"order\":[0]",
			"unknown-key", "sides[1].pids" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[1],\"processes\":[0]}],"
			"\"order\":[0]", "out-of-range", "sides[1].processes[0]" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[1],\"processes\":[\"x\"]}],"
			"\"order\":[0]", "wrong-type", "sides[1].processes[0]" },
		{ "\"sides\":[{\"streams\":[0]},{\"streams\":[1],\"processes\":[1013]}],"
			"\"order\":[0]", "no-process", "" },
	};
	struct talk *talk = *state;
	char request[300];
	size_t i;

	assert_refused(talk, TURNS(SIDES ",\"order\":[0]"), "not-configured", "");
	result_of(talk, CONFIGURE);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(request, sizeof(request), "{\"id\":1,\"verb\":\"turns\",%s}",
			wrong[i].turns);
		assert_refused(talk, request, wrong[i].code, wrong[i].path);
	}
}

static void
test_so_many_turns_and_sides_there_may_be(void **state)
{
	static const char streams[] = "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":64},"
		"{\"size\":64},{\"size\":64},{\"size\":64},{\"size\":64},{\"size\":64},{\"size\":64},"
		"{\"size\":64},{\"size\":64}]}";
	static char request[3 * TURNS_MAX + 1000];
	struct talk *talk = *state;
	unsigned int sides, turns, i;
	char *end;

	result_of(talk, streams);
	for (sides = TURNS_MAX_SIDES; sides <= TURNS_MAX_SIDES + 1; sides++)
		for (turns = TURNS_MAX; turns <= TURNS_MAX + 1; turns++) {
			end = request + sprintf(request, "{\"id\":1,\"verb\":\"turns\",\"sides\":[");
			for (i = 0; i < sides; i++)
				end += sprintf(end, "%s{\"streams\":[%u]}", i > 0 ? "," : "", i);
			end += sprintf(end, "],\"order\":[");
			for (i = 0; i < turns; i++)
				end += sprintf(end, "%s%u", i > 0 ? "," : "", i % TURNS_MAX_SIDES);
			sprintf(end, "]}");
			if (sides > TURNS_MAX_SIDES)
				assert_refused(talk, request, "out-of-range", "sides");
			else if (turns > TURNS_MAX)
				assert_refused(talk, request, "out-of-range", "order");
			else
				assert_int_equal(integer(json_object_get(
					taken(talk, request), "turns"), "count"), turns - 1);
		}
}

static void
test_a_file_knows_no_turns(void **state)
{
	struct talk *talk = *state;

	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":[{\"size\":64},"
		"{\"replay\":\"/x.pcap\"}]}");
	assert_refused(talk, TURNS(SIDES ",\"order\":[0,1]"), "bad-value", "sides");
}

static void
test_turns_are_looked_at_rarely_until_they_are_due(void **state)
{
	struct talk *talk = *state;
	uint64_t due_ns = UINT64_C(2000000000);

	result_of(talk, CONFIGURE);
	forget(talk);
	say(talk, TURNS(SIDES ",\"order\":[0,1],\"turn_ns\":1000000000,\"guard_ns\":0") "\n");
	assert_int_equal(session_patience(talk->session), 100);
	session_tick(talk->session, due_ns - 30500000);
	assert_int_equal(session_patience(talk->session), 31);
	session_tick(talk->session, due_ns); /* sides are emptied, so they end later than asked */
	assert_int_equal(session_patience(talk->session), 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order_and_sides_are_as_asked_for),
		TEST(test_each_turn_tells_of_each_stream_of_its_side),
		TEST(test_a_turn_has_slots_whose_frames_and_times_are_told),
		TEST(test_what_the_generator_itself_missed_is_told_by_turn),
		TEST(test_latencies_are_told_by_turn_and_by_side),
		TEST(test_flat_out_nobody_knows_what_was_intended),
		TEST(test_turns_that_are_stopped_tell_those_that_were_whole),
		TEST(test_turns_that_cannot_be_are_refused),
		TEST(test_so_many_turns_and_sides_there_may_be),
		TEST(test_a_file_knows_no_turns),
		TEST(test_turns_are_looked_at_rarely_until_they_are_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
