/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#pragma once

#include <stdint.h>

/* What the program is asked to do. Sizes in bytes, rates in bytes per second. */
struct options {
    uint64_t buffer;
    uint64_t read_size;
    uint64_t write_size;
    uint64_t read_rate;
    uint64_t write_rate;
    uint64_t report_ms;
    uint64_t random; /* Whether blocks are visited in random order, and not one after the other. */
    uint64_t sleep;  /* Whether it leaves its CPU to others as often as it is ahead of its rates. */
    int64_t cpu;     /* -1 for any. */
};

/* Reads the words of a command line; returns an explanation of what is wrong with them, or NULL. */
const char *options_read(struct options *options, int count, char **words);

/* What can be said on the command line. */
extern const char options_usage[];
