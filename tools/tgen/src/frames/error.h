/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ERROR_H
#define TGEN_ERROR_H

/*
 * Errors for the user: a stable code for programs, and one sentence for people.
 * Functions that can fail return 0 or a negative errno and fill an error.
 */

#define TGEN_ERROR_TEXT 240

struct error {
	const char *code; /* such as "bad-value"; static text */
	char text[TGEN_ERROR_TEXT];
};

int error_set(struct error *error, int number, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* TGEN_ERROR_H */
