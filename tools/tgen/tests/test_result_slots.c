/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* How a controller asks for slots of time, and what it is told of them. */

#include "talk.h"

/* The answer to a trial of which the fake engine has slots. */
static json_t *
trial(struct talk *talk, const char *more)
{
	char line[256];
	int i;

	result_of(talk, CONFIGURE);
	forget(talk);
	snprintf(line, sizeof(line),
		"{\"id\":1,\"verb\":\"trial\",\"frames\":9%s}\n", more);
	say(talk, line);
	for (i = 0; i < 10 && talk->lines == 0; i++)
		session_tick(talk->session, 0);
	assert_int_equal(talk->lines, 1);
	assert_true(json_is_true(json_object_get(talk->line[0], "ok")));
	return json_object_get(talk->line[0], "result");
}

static void
there_are_none_unless_asked_for(void **state)
{
	json_t *result = trial(*state, "");

	assert_null(json_object_get(result, "slots"));
	assert_null(json_object_get(result, "events"));
	result = trial(*state, ",\"slot_ns\":0");
	assert_null(json_object_get(result, "slots"));
	assert_null(json_object_get(result, "events"));
}

static void
those_with_something_in_them_are_named_with_their_neighbours(void **state)
{
	static const json_int_t expected[] = { 1, 2, 3, 5, 6, 7 };
	json_t *slots = json_object_get(trial(*state, ",\"slot_ns\":10000000"), "slots");
	json_t *noted = json_object_get(slots, "noted"), *lost = json_array_get(noted, 1);
	json_t *totals = json_object_get(slots, "totals");
	size_t i;

	/* 2^24 cycles of 2 GHz, of which one second has 120. */
	assert_int_equal(integer(slots, "slot_cycles"), 1 << 24);
	assert_int_equal(integer(slots, "slot_ns"), 8388608);
	assert_int_equal(integer(slots, "count"), 120);
	assert_int_equal(json_array_size(noted), 6);
	for (i = 0; i < 6; i++)
		assert_int_equal(integer(json_array_get(noted, i), "slot"), expected[i]);
	assert_int_equal(json_array_size(json_object_get(lost, "sent")), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(lost, "sent"), 0)), 5);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(lost, "received"), 0)), 4);
	assert_int_equal(integer(lost, "away_ns"), 0);
	assert_int_equal(integer(json_array_get(noted, 4), "away_ns"), 200000);
	assert_int_equal(integer(totals, "away_ns"), 200000);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(totals, "sent"), 0)), 5);
}

static void
events_are_told_since_the_trial_began(void **state)
{
	json_t *events = json_object_get(trial(*state, ",\"slot_ns\":10000000"), "events");
	json_t *gap = json_array_get(json_object_get(events, "gaps"), 0);
	json_t *missing = json_array_get(json_object_get(events, "missing"), 0);

	assert_int_equal(integer(gap, "at_ns"), 50000000);
	assert_int_equal(integer(gap, "ns"), 200000);
	assert_int_equal(integer(gap, "lcore"), 1);
	assert_int_equal(integer(missing, "at_ns"), 20000000);
	assert_int_equal(integer(missing, "sent_ns"), 15000000);
	assert_int_equal(integer(missing, "first"), 7);
	assert_int_equal(integer(missing, "span"), 2);
	assert_int_equal(integer(missing, "frames"), 1);
	assert_int_equal(json_array_size(json_object_get(events, "full")), 0);
	assert_int_equal(integer(json_object_get(events, "more"), "held"), 0);
}

static void
long_trials_have_none(void **state)
{
	result_of(*state, CONFIGURE);
	assert_refused(*state, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"slot_ns\":10000000,"
		"\"duration_ns\":14400000000001}", "out-of-range", "slot_ns");
	assert_refused(*state, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"slot_ns\":-1}",
		"out-of-range", "slot_ns");
	assert_refused(*state, "{\"id\":1,\"verb\":\"probe\",\"slot_ns\":1000}", "unknown-key",
		"slot_ns");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(there_are_none_unless_asked_for),
		TEST(those_with_something_in_them_are_named_with_their_neighbours),
		TEST(events_are_told_since_the_trial_began),
		TEST(long_trials_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
