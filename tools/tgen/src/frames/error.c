/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <stdarg.h>
#include <stdio.h>

#include "error.h"

int
error_set(struct error *error, int number, const char *code, const char *format, ...)
{
	va_list arguments;

	error->code = code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return number < 0 ? number : -number;
}
