/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

void
text_init(struct text *text, char *bytes, size_t room)
{
	text->bytes = bytes;
	text->length = 0;
	text->room = room;
	text->overflown = false;
	bytes[0] = '\0';
}

void
text_add(struct text *text, const char *bytes, size_t length)
{
	size_t left = text->room - text->length - 1;

	if (length > left) {
		text->overflown = true;
		length = left;
	}
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

void
text_format(struct text *text, const char *format, ...)
{
	size_t left = text->room - text->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->length, left, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= left) {
		text->overflown = true;
		text->length = text->room - 1;
		text->bytes[text->length] = '\0';
	} else {
		text->length += (size_t)length;
	}
}

void
text_quote(struct text *text, const char *bytes, size_t length)
{
	text_add(text, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '"' || byte == '\\')
			text_format(text, "\\%c", byte);
		else if (byte == '\n')
			text_add(text, "\\n", 2);
		else if (byte == '\t')
			text_add(text, "\\t", 2);
		else if (byte < 0x20 || byte >= 0x7f)
			text_add(text, "?", 1);
		else
			text_add(text, (const char *)&byte, 1);
	}
	text_add(text, "\"", 1);
}

void
text_read(struct text *text, const char *path)
{
	char piece[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return;
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		text_add(text, piece, (size_t)got);
	close(fd);
	if (text->length > 0 && text->bytes[text->length - 1] == '\n')
		text->bytes[--text->length] = '\0';
}
