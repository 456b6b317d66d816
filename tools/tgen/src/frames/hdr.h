/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_HDR_H
#define TGEN_HDR_H

/*
 * Histograms for others to read: of times in TSC cycles, as HdrHistogram of nanoseconds in its V2
 * compressed encoding, base64 text; 3 significant digits, from 1 ns to 100 s.
 */

#include <stdint.h>

#include "histogram.h"

/* Cycles in nanoseconds, rounded to nearest. */
uint64_t hdr_nanoseconds(uint64_t cycles, uint64_t tsc_hz);

/* Sum over count, rounded to nearest; 0 when empty. */
uint64_t hdr_mean_nanoseconds(const struct histogram *histogram, uint64_t tsc_hz);

/*
 * Text to be freed by the caller; NULL only without memory. Every count is there, at the middle of
 * its bucket, within minimum and maximum (0 counts as 1 ns, more than 100 s as 100 s); those two,
 * and the mean, are better taken as they are.
 */
char *hdr_encode(const struct histogram *histogram, uint64_t tsc_hz);

#endif /* TGEN_HDR_H */
