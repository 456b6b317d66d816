/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* readlink with glibc's checks */

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "files.h"
#include "nic.h"

#define DEVICES "/sys/bus/pci/devices"

/* The net folder is below the virtio device, which is below the PCI device. */
bool
nic_netdev(const struct nic *nic, char name[IFNAMSIZ])
{
	char pattern[PATH_MAX];
	glob_t found;
	bool there = false;

	snprintf(pattern, sizeof(pattern), DEVICES "/%s/virtio*/net/*", nic->pci);
	if (glob(pattern, 0, NULL, &found) == 0) {
		snprintf(name, IFNAMSIZ, "%s", strrchr(found.gl_pathv[0], '/') + 1);
		there = true;
		globfree(&found);
	}
	return there;
}

void
nics_find(struct nics *nics)
{
	struct dirent **entries;
	int count = scandir(DEVICES, &entries, NULL, alphasort);

	nics->count = 0;
	for (int i = 0; i < count; i++) {
		struct nic *nic = &nics->nics[nics->count];
		char name[IFNAMSIZ];
		char path[PATH_MAX];
		struct text mac;

		snprintf(nic->pci, sizeof(nic->pci), "%.15s", entries[i]->d_name);
		free(entries[i]);
		if (nics->count == NICS || !nic_netdev(nic, name))
			continue;
		snprintf(path, sizeof(path), "/sys/class/net/%s/address", name);
		text_init(&mac, nic->mac, sizeof(nic->mac));
		text_read(&mac, path);
		nics->count++;
	}
	if (count >= 0)
		free(entries);
}

const struct nic *
nics_by_mac(const struct nics *nics, const char *mac)
{
	for (unsigned int i = 0; i < nics->count; i++) {
		if (strcasecmp(nics->nics[i].mac, mac) == 0)
			return &nics->nics[i];
	}
	return NULL;
}

void
nic_driver(const struct nic *nic, char *name, size_t room)
{
	char link[PATH_MAX];
	char target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), DEVICES "/%s/driver", nic->pci);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0) {
		snprintf(name, room, "none");
		return;
	}
	target[length] = '\0';
	snprintf(name, room, "%s", strrchr(target, '/') + 1);
}

bool
nic_bind(const struct nic *nic, const char *driver, struct text *wrong)
{
	const char *wanted = driver == NULL ? "virtio-pci" : driver;
	char now[64];

	nic_driver(nic, now, sizeof(now));
	if (strcmp(now, wanted) == 0)
		return true;
	/* A newline takes the wish back. */
	if (!file_write(driver == NULL ? "\n" : driver, DEVICES "/%s/driver_override", nic->pci) ||
			(strcmp(now, "none") != 0 &&
			 !file_write(nic->pci, DEVICES "/%s/driver/unbind", nic->pci)) ||
			!file_write(nic->pci, "/sys/bus/pci/drivers_probe")) {
		text_format(wrong, "%s cannot be given to %s: %s", nic->pci, wanted,
			strerror(errno));
		return false;
	}
	nic_driver(nic, now, sizeof(now));
	if (strcmp(now, wanted) != 0) {
		text_format(wrong, "%s is not taken by %s, but by %s", nic->pci, wanted, now);
		return false;
	}
	return true;
}
