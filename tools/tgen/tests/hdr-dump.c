/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * Builds a histogram for tests in other languages: hdr-dump TSC_HZ [SHARE...]. Takes lines
 * "CYCLES COUNT" on standard input; answers the HdrHistogram text, a line with count, minimum, mean
 * and maximum [ns], and the value at each share [ns].
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hdr.h"

int
main(int argc, char **argv)
{
	static struct histogram histogram;
	uint64_t hz = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, cycles, count;
	char *text;
	int i;

	if (hz == 0)
		return 2;
	histogram_clear(&histogram);
	while (scanf("%" SCNu64 " %" SCNu64, &cycles, &count) == 2) {
		/* One for the extremes, the others in one go: a count may be huge. */
		histogram_add(&histogram, cycles);
		histogram.count += count - 1;
		histogram.sum += (count - 1) * cycles;
		histogram.bucket[histogram_index(cycles)] += count - 1;
	}
	text = hdr_encode(&histogram, hz);
	if (text == NULL)
		return 1;
	printf("%s\n%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", text, histogram.count,
		hdr_nanoseconds(histogram.count > 0 ? histogram.minimum : 0, hz),
		hdr_mean_nanoseconds(&histogram, hz), hdr_nanoseconds(histogram.maximum, hz));
	for (i = 2; i < argc; i++)
		printf("%" PRIu64 "\n",
			hdr_nanoseconds(histogram_quantile(&histogram, strtod(argv[i], NULL)), hz));
	free(text);
	return 0;
}
