/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#pragma once

#include <stdint.h>

#include "options.h"

/* What was done since the start. A block is counted when all of it was read or written. */
struct counts {
    uint64_t elapsed_ns;
    uint64_t cpu_ns;
    uint64_t read_bytes;
    uint64_t written_bytes;
    uint64_t reads;
    uint64_t writes;
    uint64_t read_accesses; /* Words that were really read, and written: one of each line. */
    uint64_t write_accesses;
};

/* Told of the counts now and then; the load ends when it returns something else than 0. */
typedef int report(const struct counts *counts, void *context);

/* Loads memory until the report has enough; returns NULL, or what the system refused. */
const char *load_memory(const struct options *options, report *tell, void *context);
