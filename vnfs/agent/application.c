/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdarg.h>
#include <stdio.h>

#include "application.h"

void
application_word(struct application *application, const char *format, ...)
{
	struct text *storage = &application->storage;
	char word[512];
	size_t before = storage->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(word, sizeof(word), format, arguments);
	va_end(arguments);
	/* With the zero behind it: the words lie one after the other. */
	if (length < 0 || (size_t)length >= sizeof(word) || application->argc + 1 >= WORDS)
		storage->overflown = true;
	else
		text_add(storage, word, (size_t)length + 1);
	if (storage->overflown)
		return;
	application->argv[application->argc++] = storage->bytes + before;
	application->argv[application->argc] = NULL;
}

void
application_counter(struct text *answer, const char *name, uint64_t value)
{
	bool first = answer->bytes[answer->length - 1] == '{';

	text_format(answer, "%s\"%s\":%llu", first ? "" : ",", name, (unsigned long long)value);
}

static bool
start_nothing(struct application *application, struct text *wrong)
{
	(void)application;
	(void)wrong;
	return true;
}

const struct kind kind_none = {
	.name = "none",
	.start = start_nothing,
	.needs_no_nic = true,
};
