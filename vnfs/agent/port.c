/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "port.h"
#include "text.h"

#define PATIENCE_MS 5000

static bool
is_called(const char *path, const char *name)
{
	char bytes[64];
	struct text found;

	text_init(&found, bytes, sizeof(bytes));
	text_read(&found, path);
	return strcmp(bytes, name) == 0;
}

static int
open_if_there(const char *name)
{
	glob_t found;
	int fd = -1;

	if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &found) != 0)
		return -1;
	for (size_t i = 0; i < found.gl_pathc && fd < 0; i++) {
		char device[PATH_MAX];

		if (is_called(found.gl_pathv[i], name) &&
				sscanf(found.gl_pathv[i], "/sys/class/virtio-ports/%31[^/]",
					device + strlen("/dev/")) == 1) {
			memcpy(device, "/dev/", strlen("/dev/"));
			fd = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		}
	}
	globfree(&found);
	return fd;
}

int
port_open(const char *name)
{
	int64_t deadline = now_ms() + PATIENCE_MS;
	int fd;

	/* The kernel makes the ports when the machine tells it to, a moment after the driver. */
	while ((fd = open_if_there(name)) < 0 && now_ms() < deadline)
		wait_ms(1);
	return fd;
}
