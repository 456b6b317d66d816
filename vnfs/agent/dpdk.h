/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* What programs on DPDK need in this guest: NICs without the kernel, and memory. */
#ifndef DPDK_H
#define DPDK_H

#include "application.h"

/* Takes the NICs of all sides from the kernel. */
bool dpdk_bind(const struct settings *settings, struct text *wrong);

/* Reserves hugepages for a program: all or none. */
bool dpdk_reserve(const char *program, uint64_t bytes, struct text *wrong);
void dpdk_release(void);

#endif
