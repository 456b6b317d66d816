/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRACES_H
#define TGEN_TRACES_H

/*
 * What DPDK leaves behind when a process ends: the files of its hugepages, which keep the memory,
 * and its folder of run-time files. Only what this process made is removed.
 */

#include <limits.h>

#define TRACES_MOST 1024 /* with a file for each page of 2 MB: 2 GB */

struct traces {
	unsigned int count;
	char *path[TRACES_MOST];
	char folder[PATH_MAX]; /* of run-time files; empty: none */
};

/* See what there is, while the memory is still mapped. */
void traces_find(struct traces *traces);
/* And the Unix sockets that a port listens at, when the port will not be closed in order. */
void traces_find_listeners(struct traces *traces);
/* Remove it, when nothing uses it any more. */
void traces_remove(struct traces *traces);

#endif /* TGEN_TRACES_H */
