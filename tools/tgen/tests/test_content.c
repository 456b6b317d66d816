/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* memmem */

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "content.h"

static struct error error;

static struct content
made(enum content_kind kind, bool is_request, uint32_t bytes)
{
	struct content content;

	assert_int_equal(content_create(&content, kind, is_request, bytes, &error), 0);
	return content;
}

/* Whatever length is asked for, a response says how long its body is, and is as long as that. */
static void
test_responses_of_any_length_are_well_formed(void **state)
{
	uint32_t bytes, found;
	int length;

	(void)state;
	for (bytes = 80; bytes < 120000; bytes += bytes < 3000 ? 1 : 97) {
		struct content content = made(CONTENT_HTTP, false, bytes);
		char *text = malloc(bytes + 1), *head;

		memcpy(text, content.message, bytes);
		text[bytes] = '\0';
		head = strstr(text, "\r\nContent-Length: ");
		assert_non_null(head);
		assert_int_equal(sscanf(head, "\r\nContent-Length: %u\r\n\r\n%n", &found, &length), 1);
		assert_int_equal(head - text + length + found, bytes);
		assert_memory_equal(text, "HTTP/1.1 200 OK\r\n", 17);
		free(text);
		content_destroy(&content);
	}
}

static void
test_requests_end_with_an_empty_line(void **state)
{
	uint32_t bytes;

	(void)state;
	for (bytes = 60; bytes < 2000; bytes++) {
		struct content content = made(CONTENT_HTTP, true, bytes);

		assert_memory_equal(content.message, "GET / HTTP/1.1\r\nHost: ", 22);
		assert_ptr_equal(memmem(content.message, bytes, "\r\n\r\n", 4),
			content.message + bytes - 4);
		content_destroy(&content);
	}
}

static void
test_messages_that_are_too_short_or_too_long_are_refused(void **state)
{
	static const uint32_t wrong[] = { 0, 10, CONTENT_MOST + 1 };
	struct content content;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(content_create(&content, CONTENT_HTTP, true, wrong[i], &error) < 0);
		assert_true(content_create(&content, CONTENT_HTTP, false, wrong[i], &error) < 0);
	}
	content = made(CONTENT_BYTES, true, 1);
	content_destroy(&content);
}

static void
test_what_we_sent_ourselves_is_compared(void **state)
{
	struct content content = made(CONTENT_BYTES, false, 1000);
	uint32_t left = content_begin(&content);
	uint8_t copy[1000];

	(void)state;
	memcpy(copy, content.message, sizeof(copy));
	assert_int_equal(content_take(&content, copy, 600, &left), CONTENT_MORE);
	assert_int_equal(left, 400);
	copy[999] ^= 1;
	assert_int_equal(content_take(&content, copy + 600, 400, &left), CONTENT_WRONG);
	copy[999] ^= 1;
	assert_int_equal(content_take(&content, copy + 600, 400, &left), CONTENT_WHOLE);
	left = 3;
	assert_int_equal(content_take(&content, copy + 997, 4, &left), CONTENT_WRONG);
	content_destroy(&content);
}

static void
test_what_others_say_is_read(void **state)
{
	static const struct {
		const char *said;
		enum content_found found;
		uint32_t left;
	} responses[] = {
		{ "HTTP/1.0 200 OK\r\ncontent-length:3\r\n\r\nabc", CONTENT_WHOLE, 0 },
		{ "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 30\r\n\r\nabc", CONTENT_MORE, 27 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", CONTENT_WRONG, 0 },
		{ "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", CONTENT_WRONG, 0 },
		{ "HTTP/1.1 200 OK\r\n\r\n", CONTENT_WRONG, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", CONTENT_WRONG, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", CONTENT_WRONG, 0 },
		{ "SSH-2.0-OpenSSH\r\n\r\n", CONTENT_WRONG, 0 },
	};
	struct content content = made(CONTENT_HTTP, false, 100);
	uint32_t left;
	size_t i;

	(void)state;
	content.is_known = false;
	for (i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		uint16_t bytes = (uint16_t)strlen(responses[i].said);
		uint8_t *exact = malloc(bytes);

		memcpy(exact, responses[i].said, bytes);
		left = content_begin(&content);
		assert_int_equal(content_take(&content, exact, bytes, &left), responses[i].found);
		if (responses[i].found != CONTENT_WRONG)
			assert_int_equal(left, responses[i].left);
		free(exact);
	}
	content_destroy(&content);
	content = made(CONTENT_HTTP, true, 100);
	content.is_known = false;
	left = content_begin(&content);
	assert_int_equal(content_take(&content, (const uint8_t *)"GET / HTTP/1.1\r\n", 16, &left),
		CONTENT_MORE);
	assert_int_equal(content_take(&content, (const uint8_t *)"Host: x\r\n\r\n", 11, &left),
		CONTENT_WHOLE);
	content_destroy(&content);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_responses_of_any_length_are_well_formed),
		cmocka_unit_test(test_requests_end_with_an_empty_line),
		cmocka_unit_test(test_messages_that_are_too_short_or_too_long_are_refused),
		cmocka_unit_test(test_what_we_sent_ourselves_is_compared),
		cmocka_unit_test(test_what_others_say_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
