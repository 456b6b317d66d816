/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_RESULT_HISTOGRAM_H
#define TGEN_RESULT_HISTOGRAM_H

/* Histograms of cycles, in nanoseconds. */

#include <jansson.h>

#include "histogram.h"
#include "message.h"

/* At a few shares. */
json_t *result_percentiles(const struct histogram *histogram, uint64_t tsc_hz);
/* All of it, beside what sums it up. */
json_t *result_histogram(const struct histogram *histogram, uint64_t tsc_hz);
/* One of latencies also tells the delay variation of RFC 5481: how far above the minimum. */
json_t *result_latency(const struct histogram *histogram, uint64_t tsc_hz);

#endif /* TGEN_RESULT_HISTOGRAM_H */
