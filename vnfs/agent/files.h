/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Small files of proc and sys, and the time. */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stdint.h>

/* Both take a format for the path. Returns false, with errno, if the file did not take it. */
bool file_write(const char *content, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns `otherwise` for a file that is not there or holds no number. */
int64_t file_number(int64_t otherwise, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* Since the machine was switched on. */
int64_t now_ms(void);
void wait_ms(unsigned int ms);

#endif
