/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot.h"
#include "dpdk.h"
#include "files.h"

#define DRIVER "uio_pci_generic"
#define MODULES "/etc/modules.testpmd"
#define HUGEPAGE (2u << 20)
/* What pages may not take: the program's own memory, and that of all else here. */
#define KEPT_BYTES (32u << 20)

bool
dpdk_bind(const struct settings *settings, struct text *wrong)
{
	if (!boot_modules(MODULES, wrong))
		return false;
	for (unsigned int i = 0; i < settings->sides; i++) {
		if (!nic_bind(settings->nics[i], DRIVER, wrong))
			return false;
	}
	return true;
}

static uint64_t
available_bytes(void)
{
	static const char name[] = "MemAvailable:";
	char bytes[4096];
	struct text about;
	const char *found;

	text_init(&about, bytes, sizeof(bytes));
	text_read(&about, "/proc/meminfo");
	found = strstr(bytes, name);
	return found == NULL ? 0 : strtoull(found + strlen(name), NULL, 10) << 10;
}

void
dpdk_release(void)
{
	file_write("0", "/proc/sys/vm/nr_hugepages");
}

/* The kernel may find fewer whole pages than there are free bytes. */
bool
dpdk_reserve(const char *program, uint64_t bytes, struct text *wrong)
{
	uint64_t pages = (bytes + HUGEPAGE - 1) / HUGEPAGE;
	uint64_t available;
	uint64_t got;
	char wanted[24];

	dpdk_release();
	available = available_bytes();
	got = available > KEPT_BYTES ? (available - KEPT_BYTES) / HUGEPAGE : 0;
	if (got >= pages) {
		snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)pages);
		file_write(wanted, "/proc/sys/vm/nr_hugepages");
		got = (uint64_t)file_number(0, "/proc/sys/vm/nr_hugepages");
	}
	if (got < pages) {
		dpdk_release();
		text_format(wrong, "%s needs %llu hugepages of 2 MB, and this guest has memory "
			"for %llu: give it more memory or smaller rings", program,
			(unsigned long long)pages, (unsigned long long)got);
		return false;
	}
	return true;
}
