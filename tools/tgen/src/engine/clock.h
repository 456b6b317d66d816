/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CLOCK_H
#define TGEN_CLOCK_H

/*
 * How fast the TSC runs, measured against the kernel's raw clock: what DPDK says of it may be rounded
 * to 10 MHz where the processor itself does not tell, and every rate and time is off by as much.
 */

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* One moment on both clocks. */
struct clock_moment {
	uint64_t tsc;
	uint64_t raw_ns; /* CLOCK_MONOTONIC_RAW */
};

/* Read both, within the shortest of a few attempts: some 50 ns. */
void clock_read(struct clock_moment *moment);

/* Cycles in a second between two moments; 0 when no time lies between them. */
uint64_t clock_hz(const struct clock_moment *from, const struct clock_moment *to);

/* How much later one moment was than another; 0 where it was before, as the clock of another CPU may say. */
uint64_t clock_later_ns(uint64_t from_tsc, uint64_t to_tsc, uint64_t tsc_hz);

/* By /proc/cpuinfo, and by the clock that the kernel has chosen for itself. */
bool clock_is_constant(const char *cpuinfo, const char *clocksource);

/* The first moment; refuses a machine whose TSC is not constant. */
int clock_begin(struct clock_moment *begin, struct error *error);

/* The speed since then, which takes a tenth of a second at least: waits for what is left of it. */
uint64_t clock_calibrate(const struct clock_moment *begin);

#endif /* TGEN_CLOCK_H */
