/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _DEFAULT_SOURCE /* DT_DIR */

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include <rte_eal.h>

#include "traces.h"

static bool
is_known(const struct traces *traces, const char *path)
{
	unsigned int i;

	for (i = 0; i < traces->count; i++)
		if (strcmp(traces->path[i], path) == 0)
			return true;
	return false;
}

/*
 * A file of hugepages that this process made: /.../<prefix>map_<number>. Those of others may be
 * mapped as well, as a vhost-user port does.
 */
static bool
is_ours(const char *path, const char *prefix)
{
	const char *name = strrchr(path, '/') + 1;
	size_t length = strlen(prefix);
	struct statfs system;

	return strncmp(name, prefix, length) == 0 && strncmp(name + length, "map_", 4) == 0 &&
		statfs(path, &system) == 0 && system.f_type == HUGETLBFS_MAGIC;
}

void
traces_find(struct traces *traces)
{
	const char *folder = rte_eal_get_runtime_dir(), *prefix;
	char line[PATH_MAX + 128], *path;
	FILE *maps;

	traces->count = 0;
	traces->folder[0] = '\0';
	prefix = folder != NULL ? strrchr(folder, '/') : NULL;
	if (prefix == NULL || rte_eal_process_type() != RTE_PROC_PRIMARY)
		return;
	prefix++;
	snprintf(traces->folder, sizeof(traces->folder), "%s", folder);
	maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		path = strchr(line, '/');
		if (path == NULL || traces->count == TRACES_MOST || is_known(traces, path) ||
				!is_ours(path, prefix))
			continue;
		traces->path[traces->count] = strdup(path);
		if (traces->path[traces->count] != NULL)
			traces->count++;
	}
	if (maps != NULL)
		fclose(maps);
}

static void
add_listener(struct traces *traces, int file)
{
	struct sockaddr_un address = { 0 };
	socklen_t length = sizeof(address), room = sizeof(int);
	int listens = 0;

	if (traces->count == TRACES_MOST ||
			getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &room) != 0 ||
			listens == 0 ||
			getsockname(file, (struct sockaddr *)&address, &length) != 0 ||
			address.sun_family != AF_UNIX || address.sun_path[0] != '/')
		return;
	traces->path[traces->count] = strndup(address.sun_path, sizeof(address.sun_path));
	if (traces->path[traces->count] != NULL)
		traces->count++;
}

void
traces_find_listeners(struct traces *traces)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			add_listener(traces, atoi(entry->d_name));
	closedir(folder);
}

/* A primary process locks its configuration; our own lock does not count here. */
static bool
is_used(const char *folder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[PATH_MAX + 8];
	bool used;
	int file;

	snprintf(path, sizeof(path), "%s/config", folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	used = fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
	close(file);
	return used;
}

/* The folder belongs to one primary process; there are only files and sockets in it. */
static void
remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL)
		if (entry->d_type != DT_DIR)
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(path);
}

void
traces_remove(struct traces *traces)
{
	unsigned int i;

	for (i = 0; i < traces->count; i++) {
		unlink(traces->path[i]);
		free(traces->path[i]);
	}
	traces->count = 0;
	if (traces->folder[0] != '\0' && !is_used(traces->folder))
		remove_folder(traces->folder);
	traces->folder[0] = '\0';
}
