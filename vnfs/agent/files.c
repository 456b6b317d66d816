/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "files.h"

bool
file_write(const char *content, const char *path, ...)
{
	char full[PATH_MAX];
	va_list arguments;
	size_t length = strlen(content);
	bool taken;
	int fd;

	va_start(arguments, path);
	vsnprintf(full, sizeof(full), path, arguments);
	va_end(arguments);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	taken = write(fd, content, length) == (ssize_t)length;
	close(fd);
	return taken;
}

int64_t
file_number(int64_t otherwise, const char *path, ...)
{
	char full[PATH_MAX];
	char content[64];
	char *end;
	va_list arguments;
	int64_t number;
	ssize_t length;
	int fd;

	va_start(arguments, path);
	vsnprintf(full, sizeof(full), path, arguments);
	va_end(arguments);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return otherwise;
	length = read(fd, content, sizeof(content) - 1);
	close(fd);
	if (length <= 0)
		return otherwise;
	content[length] = '\0';
	number = strtoll(content, &end, 10);
	return end == content ? otherwise : number;
}

int64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
wait_ms(unsigned int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}
