/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Text of a limited length that is built piece by piece: JSON lines, paths, argument lists. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* What does not fit is left out and remembered, so that a caller need look once, at the end. */
struct text {
	char *bytes; /* always ended by a zero */
	size_t length;
	size_t room; /* with the zero */
	bool overflown;
};

void text_init(struct text *text, char *bytes, size_t room);
void text_add(struct text *text, const char *bytes, size_t length);
void text_format(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A JSON string with its quotes. A byte becomes two at most: lines and tabs are escaped, and what
 * else is no printable ASCII is written as '?'.
 */
void text_quote(struct text *text, const char *bytes, size_t length);

/* Of a file: its whole text without the last newline. A file that cannot be read is empty text. */
void text_read(struct text *text, const char *path);

#endif
