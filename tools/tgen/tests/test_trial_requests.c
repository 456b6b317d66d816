/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a request for a trial may say, and what its answer tells of that. */

#include "talk.h"

#define TRIAL(inner) "{\"id\":1,\"verb\":\"trial\",\"wait\":false," inner "}"

static void
test_rates_are_exact_to_a_thousandth(void **state)
{
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;

	result_of(talk, CONFIGURE);
	result_of(talk, "{\"id\":1,\"verb\":\"trial\",\"rate_fps\":14880952.381,"
		"\"duration_ns\":3000000000,\"wait\":false}");
	assert_int_equal(request->rate_mfps[0], 14880952381);
	assert_int_equal(request->frames[1], 44642857);
	stop_trial(talk);
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"rate_fps\":1.0001}",
		"bad-value", "rate_fps");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"rate_fps\":-1}",
		"out-of-range", "rate_fps");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"rate_fps\":1e300}",
		"out-of-range", "rate_fps");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":[1]}", "out-of-range",
		"frames");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1.5}", "wrong-type",
		"frames");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":[1,true]}", "wrong-type",
		"frames[1]");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\"}", "missing-key", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":0}", "out-of-range", "");
}

static void
test_bursts_are_counted_one_by_one_and_all_together(void **state)
{
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;

	result_of(talk, CONFIGURE);
	result_of(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":[100,7],\"bursts\":5,"
		"\"gap_ns\":1000000,\"wait\":false}");
	assert_int_equal(request->train[0], 100);
	assert_int_equal(request->train[1], 7);
	assert_int_equal(request->frames[0], 500);
	assert_int_equal(request->frames[1], 35);
	assert_int_equal(request->gap_ns, 1000000);
	stop_trial(talk);
	result_of(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":100,\"wait\":false}");
	assert_int_equal(request->train[0], 0);
	assert_int_equal(request->frames[0], 100);
	stop_trial(talk);
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":1,\"bursts\":2}",
		"missing-key", "gap_ns");
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":1,\"gap_ns\":2}",
		"bad-value", "gap_ns");
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":1,\"bursts\":0}",
		"out-of-range", "bursts");
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":1,\"bursts\":61,"
		"\"gap_ns\":1000000000}", "out-of-range", "timeout_ns");
	assert_refused(talk, "{\"id\":1,\"verb\":\"burst\",\"frames\":281474976710654,"
		"\"bursts\":2,\"gap_ns\":1}", "out-of-range", "frames");
}

static void
test_steps_add_up_to_a_trial(void **state)
{
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;

	result_of(talk, CONFIGURE);
	result_of(talk, TRIAL("\"steps\":[{\"rate_fps\":1100,\"duration_ns\":2000000000},"
		"{\"rate_fps\":[500,250.5],\"duration_ns\":3000000001,\"frames\":[1500,751]}],"
		"\"grace_ns\":1000"));
	assert_int_equal(request->steps, 2);
	assert_int_equal(request->step[0].rate_mfps[1], 1100000);
	assert_int_equal(request->step[0].frames[0], 2200);
	assert_int_equal(request->step[1].rate_mfps[1], 250500);
	assert_int_equal(request->step[1].frames[0], 1500);
	assert_int_equal(request->step[1].frames[1], 751);
	assert_int_equal(request->frames[0], 3700);
	assert_int_equal(request->frames[1], 2951);
	assert_int_equal(request->duration_ns, 5000001001);
	stop_trial(talk);
	/* Those of the last trial are forgotten. */
	result_of(talk, TRIAL("\"frames\":7"));
	assert_int_equal(request->steps, 0);
	assert_int_equal(request->frames[0], 7);
}

static void
test_steps_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *steps, *code, *path;
	} wrong[] = {
		{ "7", "wrong-type", "steps" },
		{ "[]", "out-of-range", "steps" },
		{ "[{},{},{},{},{},{},{},{},{}]", "out-of-range", "steps" },
		{ "[7]", "wrong-type", "steps[0]" },
		{ "[{\"rate_fps\":1}]", "missing-key", "steps[0]" },
		{ "[{\"duration_ns\":1000000000}]", "missing-key", "steps[0]" },
		{ "[{\"rate_fps\":0,\"duration_ns\":1}]", "out-of-range", "steps[0]" },
		{ "[{\"rate_fps\":[1,0],\"duration_ns\":1}]", "out-of-range", "steps[0]" },
		{ "[{\"rate_fps\":10,\"duration_ns\":1000000000,\"frames\":11}]", "out-of-range",
			"steps[0]" },
		{ "[{\"rate_fps\":10,\"duration_ns\":1000000000,\"burst\":1}]", "unknown-key",
			"steps[0].burst" },
		{ "[{\"rate_fps\":1,\"duration_ns\":2592000000000000},"
			"{\"rate_fps\":1,\"duration_ns\":1}]", "out-of-range", "steps" },
		{ "[{\"rate_fps\":1,\"duration_ns\":1000}]", "out-of-range", "" },
	};
	struct talk *talk = *state;
	char request[300];
	size_t i;

	result_of(talk, CONFIGURE);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(request, sizeof(request), "{\"id\":1,\"verb\":\"trial\",\"steps\":%s}",
			wrong[i].steps);
		assert_refused(talk, request, wrong[i].code, wrong[i].path);
	}
	assert_refused(talk, TRIAL("\"frames\":1,"
		"\"steps\":[{\"rate_fps\":10,\"duration_ns\":1000000000}]"), "bad-value", "steps");
	assert_refused(talk, TRIAL("\"rate_fps\":1,"
		"\"steps\":[{\"rate_fps\":10,\"duration_ns\":1000000000}]"), "bad-value", "steps");
	assert_refused(talk, TRIAL("\"duration_ns\":1,"
		"\"steps\":[{\"rate_fps\":10,\"duration_ns\":1000000000}]"), "bad-value", "steps");
}

/* One frame more than fits is what rounding to the nearest number makes of a rate. */
static void
test_a_frame_that_is_due_at_the_last_moment_of_a_step_is_in_it(void **state)
{
	struct talk *talk = *state;

	result_of(talk, CONFIGURE);
	result_of(talk, TRIAL("\"steps\":[{\"rate_fps\":10,\"duration_ns\":950000000,"
		"\"frames\":10}]"));
	assert_int_equal(talk->session->pending.request.frames[0], 10);
}

static void
test_the_answer_has_each_step_and_the_last_loss(void **state)
{
	struct talk *talk = *state;
	json_t *stream, *step;

	result_of(talk, CONFIGURE);
	stream = first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"steps\":["
		"{\"rate_fps\":110,\"duration_ns\":1000000000},"
		"{\"rate_fps\":50,\"duration_ns\":1000000000}]}");
	assert_int_equal(json_array_size(json_object_get(stream, "steps")), 2);
	step = json_array_get(json_object_get(stream, "steps"), 0);
	assert_int_equal(integer(step, "intended"), 110);
	assert_int_equal(integer(step, "sent"), 108);
	assert_int_equal(integer(step, "unsent"), 2);
	assert_int_equal(integer(step, "refused"), 1);
	step = json_array_get(json_object_get(stream, "steps"), 1);
	assert_int_equal(integer(step, "due_ns"), 1000);
	assert_int_equal(integer(step, "began_ns"), 1500);
	assert_int_equal(integer(stream, "last_loss_ns"), 2500);
	/* The other stream lost nothing. */
	stream = json_array_get(json_object_get(json_object_get(talk->line[0], "result"),
		"streams"), 1);
	assert_null(json_object_get(stream, "last_loss_ns"));
	/* A trial without steps has none. */
	stream = first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":9}");
	assert_null(json_object_get(stream, "steps"));
	assert_null(json_object_get(stream, "last_loss_ns"));
}

static void
test_latencies_of_some_frames_only(void **state)
{
	static const struct {
		const char *ranges, *code, *path;
	} wrong[] = {
		{ "7", "wrong-type", "latency_ranges" },
		{ "[]", "out-of-range", "latency_ranges" },
		{ "[[0,1],[0,1],[0,1],[0,1],[0,1]]", "out-of-range", "latency_ranges" },
		{ "[7]", "wrong-type", "latency_ranges[0]" },
		{ "[[1]]", "out-of-range", "latency_ranges[0]" },
		{ "[[0,1],[2,1]]", "bad-value", "latency_ranges[1]" },
		{ "[[0,1.5]]", "wrong-type", "latency_ranges[0][1]" },
		{ "[[0,-1]]", "out-of-range", "latency_ranges[0][1]" },
	};
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;
	json_t *stream, *one;
	char text[200];
	size_t i;

	result_of(talk, CONFIGURE);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text),
			"{\"id\":1,\"verb\":\"trial\",\"frames\":9,\"latency_ranges\":%s}",
			wrong[i].ranges);
		assert_refused(talk, text, wrong[i].code, wrong[i].path);
	}
	stream = first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1000,\"latency\":false,"
		"\"latency_after_ns\":60000000000,\"latency_ranges\":[[0,9],[90,99]]}");
	assert_int_equal(request->latency_after_ns, 60000000000);
	assert_int_equal(request->latency_ranges, 2);
	assert_int_equal(request->latency_range[1][0], 90);
	assert_int_equal(integer(json_object_get(stream, "latency"), "count"), 2);
	one = json_object_get(stream, "latency_first");
	assert_int_equal(integer(one, "frame"), 7);
	assert_int_equal(integer(one, "sent_ns"), 60000000000);
	assert_int_equal(integer(one, "latency_ns"), 50);
	one = json_array_get(json_object_get(stream, "latency_ranges"), 1);
	assert_int_equal(integer(one, "first"), 90);
	assert_int_equal(integer(one, "last"), 99);
	assert_int_equal(integer(one, "count"), 2);
	stream = first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1000}");
	assert_null(json_object_get(stream, "latency_first"));
	assert_null(json_object_get(stream, "latency_ranges"));
}

static void
test_what_a_device_did_not_count_is_left_out(void **state)
{
	struct talk *talk = *state;
	json_t *ports;

	result_of(talk, CONFIGURE);
	first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1000}");
	ports = json_object_get(json_object_get(talk->line[0], "result"), "ports");
	assert_int_equal(integer(json_array_get(ports, 0), "missed"), 3);
	assert_int_equal(integer(json_array_get(ports, 0), "device_errors"), 1);
	assert_null(json_object_get(json_array_get(ports, 1), "missed"));
	assert_null(json_object_get(json_array_get(ports, 1), "device_errors"));
	assert_int_equal(integer(json_array_get(ports, 1), "no_buffers"), 0);
}

static void
test_each_second_tells_what_is_lost_refused_and_how_long_frames_took(void **state)
{
	struct talk *talk = *state;
	json_t *streams, *latency;

	result_of(talk, CONFIGURE);
	result_of(talk, TRIAL("\"frames\":1000"));
	forget(talk);
	session_tick(talk->session, UINT64_C(1000000000));
	assert_int_equal(talk->lines, 1);
	streams = json_object_get(talk->line[0], "streams");
	assert_int_equal(integer(json_array_get(streams, 0), "lost"), 1);
	assert_int_equal(integer(json_array_get(streams, 1), "refused"), 3);
	assert_null(json_object_get(json_array_get(streams, 1), "lost"));
	latency = json_object_get(json_array_get(streams, 0), "latency");
	assert_int_equal(integer(latency, "count"), 2);
	assert_int_equal(integer(latency, "min_ns"), 50);
	assert_null(json_object_get(latency, "hdr"));
	stop_trial(talk);
	result_of(talk, TRIAL("\"frames\":1000,\"latency\":false"));
	forget(talk);
	session_tick(talk->session, UINT64_C(2000000000));
	streams = json_object_get(talk->line[0], "streams");
	assert_null(json_object_get(json_array_get(streams, 0), "latency"));
}

static void
test_each_stream_may_end_by_itself(void **state)
{
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;

	result_of(talk, CONFIGURE);
	result_of(talk, TRIAL("\"frames\":1000,\"until_ns\":[0,7]"));
	assert_int_equal(request->until_ns[0], 0);
	assert_int_equal(request->until_ns[1], 7);
	assert_int_equal(request->duration_ns, 0);
	stop_trial(talk);
	assert_refused(talk, TRIAL("\"frames\":1,\"until_ns\":[1]"), "out-of-range", "until_ns");
	assert_refused(talk, TRIAL("\"until_ns\":7"), "missing-key", "");
	assert_refused(talk, TRIAL("\"until_ns\":7,\"steps\":[{\"rate_fps\":1,\"duration_ns\":1}]"),
		"bad-value", "steps");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rates_are_exact_to_a_thousandth),
		TEST(test_bursts_are_counted_one_by_one_and_all_together),
		TEST(test_each_stream_may_end_by_itself),
		TEST(test_steps_add_up_to_a_trial),
		TEST(test_steps_that_are_none_are_refused),
		TEST(test_a_frame_that_is_due_at_the_last_moment_of_a_step_is_in_it),
		TEST(test_the_answer_has_each_step_and_the_last_loss),
		TEST(test_latencies_of_some_frames_only),
		TEST(test_what_a_device_did_not_count_is_left_out),
		TEST(test_each_second_tells_what_is_lost_refused_and_how_long_frames_took),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
