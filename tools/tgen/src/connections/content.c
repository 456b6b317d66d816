/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _GNU_SOURCE /* memmem */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "content.h"

#define HEAD_ROOM 128
#define REQUEST_BEGIN "GET / HTTP/1.1\r\nHost: tgen\r\nUser-Agent: tgen"
#define RESPONSE_BEGIN "HTTP/1.1 200 OK\r\nServer: tgen"
#define RESPONSE_END "\r\nContent-Type: text/plain\r\nContent-Length: %" PRIu32 "\r\n\r\n"
#define LENGTH "content-length:"
#define EMPTY_LINE "\r\n\r\n"
#define EMPTY_LINE_BYTES 4
#define STATUS_AT 9 /* behind "HTTP/1.1 " */

static int
too_short(uint32_t bytes, uint32_t least, const char *what, struct error *error)
{
	return error_set(error, -EINVAL, "bad-size", "%" PRIu32 " bytes are too few for %s: at least %"
		PRIu32, bytes, what, least);
}

static void
put_text(uint8_t *message, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		message[i] = (uint8_t)('a' + i % 26);
}

/* As long as its last header makes it. */
static int
write_request(struct content *content, struct error *error)
{
	const uint32_t least = sizeof(REQUEST_BEGIN) - 1 + EMPTY_LINE_BYTES;

	if (content->bytes < least)
		return too_short(content->bytes, least, "a GET request", error);
	memset(content->message, 'x', content->bytes);
	memcpy(content->message, REQUEST_BEGIN, sizeof(REQUEST_BEGIN) - 1);
	memcpy(content->message + content->bytes - EMPTY_LINE_BYTES, EMPTY_LINE, EMPTY_LINE_BYTES);
	return 0;
}

/*
 * The head says how long the rest is, and is itself longer where that has a digit more. No body fits where
 * that makes a difference of one: then the server has a longer name.
 */
static int
write_response(struct content *content, struct error *error)
{
	char head[HEAD_ROOM];
	uint32_t longer, length, body;
	int written = snprintf(head, sizeof(head), RESPONSE_BEGIN RESPONSE_END, UINT32_C(0));
	uint32_t least = (uint32_t)written;

	if (content->bytes < least)
		return too_short(content->bytes, least, "an HTTP response", error);
	for (longer = 0, body = content->bytes - least;; ) {
		written = snprintf(head, sizeof(head), RESPONSE_BEGIN "%.*s" RESPONSE_END,
			(int)longer, "x", body);
		length = (uint32_t)written;
		if (length + body == content->bytes)
			break;
		if (length + body > content->bytes)
			body--;
		else
			longer = 1;
	}
	memcpy(content->message, head, length);
	put_text(content->message + length, body);
	return 0;
}

int
content_create(struct content *content, enum content_kind kind, bool is_request, uint32_t bytes,
	struct error *error)
{
	int ret = 0;

	*content = (struct content){
		.kind = kind, .is_request = is_request, .is_known = true, .bytes = bytes,
	};
	if (bytes == 0 || bytes > CONTENT_MOST)
		return error_set(error, -EINVAL, "out-of-range", "a message has 1 to %" PRIu32
			" bytes", CONTENT_MOST);
	content->message = malloc(bytes);
	if (content->message == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for messages");
	if (kind == CONTENT_BYTES)
		put_text(content->message, bytes);
	else
		ret = is_request ? write_request(content, error) : write_response(content, error);
	if (ret != 0)
		content_destroy(content);
	return ret;
}

void
content_destroy(struct content *content)
{
	free(content->message);
	content->message = NULL;
}

uint32_t
content_begin(const struct content *content)
{
	return content->kind == CONTENT_HTTP && !content->is_known ? CONTENT_UNKNOWN :
		content->bytes;
}

/* What a header of a response says, from the first digit on; false where it is no number. */
static bool
read_length(const char *text, const char *end, uint32_t *length)
{
	uint64_t found = 0;
	const char *digit;

	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	for (digit = text; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
		found = found * 10 + (uint64_t)(*digit - '0');
		if (found >= CONTENT_UNKNOWN)
			return false;
	}
	*length = (uint32_t)found;
	return digit != text;
}

/* The length of the body by the headers in front of `end`. */
static bool
find_length(const char *head, const char *end, uint32_t *length)
{
	const char *line = head, *next;

	for (; (next = memmem(line, (size_t)(end - line), "\r\n", 2)) != NULL; line = next + 2) {
		const char *name = next + 2;

		if ((size_t)(end - name) >= sizeof(LENGTH) - 1 &&
				strncasecmp(name, LENGTH, sizeof(LENGTH) - 1) == 0)
			return read_length(name + sizeof(LENGTH) - 1, end, length);
	}
	return false;
}

/* A response of somebody else, which has its whole head in its first segment. */
static enum content_found
begin_response(const uint8_t *data, uint16_t bytes, uint32_t *left)
{
	const char *text = (const char *)data, *end = memmem(data, bytes, EMPTY_LINE,
		EMPTY_LINE_BYTES);
	uint32_t length, have;

	if (end == NULL || end - text <= STATUS_AT || memcmp(text, "HTTP/1.", 7) != 0 ||
			text[STATUS_AT] != '2' || !find_length(text, end, &length))
		return CONTENT_WRONG;
	have = (uint32_t)(text + bytes - end) - EMPTY_LINE_BYTES;
	if (have > length)
		return CONTENT_WRONG;
	*left = length - have;
	return *left == 0 ? CONTENT_WHOLE : CONTENT_MORE;
}

/* A request of somebody else has no body: it is over with an empty line. */
static enum content_found
take_request(const uint8_t *data, uint16_t bytes)
{
	return bytes >= EMPTY_LINE_BYTES && memcmp(data + bytes - EMPTY_LINE_BYTES, EMPTY_LINE,
		EMPTY_LINE_BYTES) == 0 ? CONTENT_WHOLE : CONTENT_MORE;
}

enum content_found
content_take(const struct content *content, const uint8_t *data, uint16_t bytes, uint32_t *left)
{
	if (content->is_known) {
		if (bytes > *left ||
				memcmp(content->message + content->bytes - *left, data, bytes) != 0)
			return CONTENT_WRONG;
	} else if (content->kind == CONTENT_HTTP && content->is_request) {
		return take_request(data, bytes);
	} else if (*left == CONTENT_UNKNOWN) {
		return begin_response(data, bytes, left);
	} else if (bytes > *left) {
		return CONTENT_WRONG;
	}
	*left -= bytes;
	return *left == 0 ? CONTENT_WHOLE : CONTENT_MORE;
}

bool
content_is(const struct content *content, const uint8_t *data, uint32_t bytes, uint32_t behind)
{
	return bytes == content->bytes && bytes >= behind &&
		memcmp(content->message + behind, data + behind, bytes - behind) == 0;
}
