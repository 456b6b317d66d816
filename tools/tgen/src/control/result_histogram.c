/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <stdlib.h>

#include "hdr.h"
#include "result_histogram.h"

/* Shares at which histograms are summed up, and how they are written. */
static const struct {
	const char *name;
	double share;
} quantiles[] = {
	{ "50", 0.5 }, { "90", 0.9 }, { "99", 0.99 }, { "99.9", 0.999 }, { "99.99", 0.9999 },
};

/* The value at each share, above `floor`. */
static json_t *
quantiles_json(const struct histogram *histogram, uint64_t floor, uint64_t tsc_hz)
{
	json_t *json = json_object();
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		value = histogram_quantile(histogram, quantiles[i].share);
		value = value > floor ? value - floor : 0;
		message_count(json, quantiles[i].name, hdr_nanoseconds(value, tsc_hz));
	}
	return json;
}

json_t *
result_histogram(const struct histogram *histogram, uint64_t tsc_hz)
{
	json_t *json = json_object();
	char *text;

	message_count(json, "count", histogram->count);
	if (histogram->count == 0 || tsc_hz == 0)
		return json;
	message_count(json, "min_ns", hdr_nanoseconds(histogram->minimum, tsc_hz));
	message_count(json, "mean_ns", hdr_mean_nanoseconds(histogram, tsc_hz));
	message_count(json, "max_ns", hdr_nanoseconds(histogram->maximum, tsc_hz));
	json_object_set_new(json, "percentiles_ns", quantiles_json(histogram, 0, tsc_hz));
	text = hdr_encode(histogram, tsc_hz);
	if (text != NULL)
		json_object_set_new(json, "hdr", json_string(text));
	free(text);
	return json;
}

json_t *
result_percentiles(const struct histogram *histogram, uint64_t tsc_hz)
{
	return quantiles_json(histogram, 0, tsc_hz);
}

/* A latency histogram also tells the delay variation of RFC 5481: how far above the minimum. */
json_t *
result_latency(const struct histogram *histogram, uint64_t tsc_hz)
{
	json_t *json = result_histogram(histogram, tsc_hz);

	if (histogram->count != 0 && tsc_hz != 0)
		json_object_set_new(json, "pdv_ns",
			quantiles_json(histogram, histogram->minimum, tsc_hz));
	return json;
}
