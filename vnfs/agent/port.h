/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The ports of the virtio console, by the names that the machine gave them. */
#ifndef PORT_H
#define PORT_H

/* Waits until there is such a port. Returns its descriptor, which does not block, or -1. */
int port_open(const char *name);

#endif
