/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* sync, syscall */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "boot.h"

void
boot_mount(void)
{
	/* The kernel lets all write to its first root; DPDK loads no drivers from below such a one. */
	chmod("/", 0755);
	/* The image holds the folders; a kernel may have mounted dev by itself. */
	mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount("sys", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount("dev", "/dev", "devtmpfs", MS_NOSUID, NULL);
	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=600,ptmxmode=666");
}

static int
load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST)
		error = errno;
	close(fd);
	return error;
}

bool
boot_modules(const char *list, struct text *wrong)
{
	char bytes[4096];
	struct text paths;
	char *rest = NULL;

	text_init(&paths, bytes, sizeof(bytes));
	text_read(&paths, list);
	for (char *path = strtok_r(bytes, "\n", &rest); path != NULL;
			path = strtok_r(NULL, "\n", &rest)) {
		int error = load(path);

		if (error != 0) {
			text_format(wrong, "the kernel refuses %s: %s", path, strerror(error));
			return false;
		}
	}
	return true;
}

void
boot_power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	/* Without a way to power off, the machine at least stands still. */
	for (;;)
		pause();
}
