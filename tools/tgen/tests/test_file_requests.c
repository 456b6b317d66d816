/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What a request may say of a file that is sent, and what is told of it. */

#include "talk.h"

static void
test_a_file_is_sent_once_for_a_time_or_at_a_rate(void **state)
{
	struct talk *talk = *state;
	const struct trial_request *request = &talk->session->pending.request;
	static const struct {
		const char *keys;
		json_int_t frames;
	} trials[] = {
		/* Three frames, and again, a microsecond apart. */
		{ "", 3 }, { ",\"rhythm\":\"file\"", 3 }, { ",\"frames\":7", 7 },
		{ ",\"duration_ns\":7001,\"rhythm\":\"file\"", 8 },
		{ ",\"duration_ns\":7000,\"rhythm\":\"file\"", 7 },
		{ ",\"duration_ns\":7000,\"rhythm\":\"file\",\"rate_fps\":2000000", 14 },
		{ ",\"duration_ns\":7000,\"grace_ns\":9000,\"rate_fps\":1000000", 7 },
	};
	json_t *file;
	size_t i;
	char line[200];

	file = json_array_get(json_object_get(result_of(talk, "{\"id\":1,\"verb\":\"configure\","
		"\"streams\":[{\"transmit_port\":1,\"replay\":\"/x.pcap\"}]}"), "replays"), 0);
	assert_int_equal(integer(file, "stream"), 0);
	assert_int_equal(integer(file, "frames"), 3);
	assert_int_equal(integer(file, "unmarked"), 1);
	assert_int_equal(integer(file, "longest"), 64);
	for (i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		snprintf(line, sizeof(line), "{\"id\":1,\"verb\":\"trial\",\"wait\":false%s}",
			trials[i].keys);
		result_of(talk, line);
		assert_int_equal(request->frames[0], trials[i].frames);
		stop_trial(talk);
	}
	assert_int_equal(request->duration_ns, 16000);
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"rhythm\":\"swing\"}", "bad-value",
		"rhythm");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"rhythm\":\"file\","
		"\"rate_fps\":0.5}", "out-of-range", "rhythm");
	result_of(talk, CONFIGURE);
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\"}", "missing-key", "");
	assert_refused(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":1,\"rhythm\":\"file\"}",
		"bad-value", "rhythm");
}

static void
test_what_a_file_is_sent_of_is_counted_apart(void **state)
{
	struct talk *talk = *state;
	json_t *stream;

	result_of(talk, "{\"id\":1,\"verb\":\"configure\",\"streams\":"
		"[{\"replay\":\"/x.pcap\"}]}");
	stream = first_stream(talk, "{\"id\":1,\"verb\":\"trial\",\"frames\":9}");
	assert_int_equal(integer(stream, "sent"), 9);
	assert_int_equal(integer(stream, "unmarked"), 3);
	assert_int_equal(integer(stream, "unmarked_received"), 3);
	assert_int_equal(integer(stream, "distinct"), 6);
	assert_int_equal(integer(stream, "lost"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_is_sent_once_for_a_time_or_at_a_rate),
		TEST(test_what_a_file_is_sent_of_is_counted_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
