/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "clock.h"
#include "wide.h"

#define ATTEMPTS 16
#define LEAST_NS (CLOCK_SECOND_NS / 10) /* 50 ns on either side are a millionth of it */
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static uint64_t
raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

void
clock_read(struct clock_moment *moment)
{
	uint64_t shortest = UINT64_MAX;
	unsigned int i;

	*moment = (struct clock_moment){ 0 };
	for (i = 0; i < ATTEMPTS; i++) {
		uint64_t before = rte_rdtsc_precise(), now = raw_ns();
		uint64_t took = rte_rdtsc_precise() - before;

		if (took < shortest) {
			shortest = took;
			*moment = (struct clock_moment){
				.tsc = before + took / 2, .raw_ns = now,
			};
		}
	}
}

uint64_t
clock_hz(const struct clock_moment *from, const struct clock_moment *to)
{
	uint64_t ns = to->raw_ns - from->raw_ns;

	if (ns == 0)
		return 0;
	return (uint64_t)(((uint128_t)(to->tsc - from->tsc) * CLOCK_SECOND_NS + ns / 2) / ns);
}

uint64_t
clock_later_ns(uint64_t from_tsc, uint64_t to_tsc, uint64_t tsc_hz)
{
	uint64_t cycles = to_tsc - from_tsc;

	return (int64_t)cycles > 0 ? (uint64_t)((uint128_t)cycles * CLOCK_SECOND_NS / tsc_hz) : 0;
}

bool
clock_is_constant(const char *cpuinfo, const char *clocksource)
{
	/* These read the TSC, and the kernel or the hypervisor answers for it; the last one reads the
	 * counter that DPDK reads on arm64, whose speed is constant by architecture.
	 */
	static const char *const steady[] = {
		"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter",
	};
	size_t i, length = strcspn(clocksource, "\n");

	if (strstr(cpuinfo, " constant_tsc") != NULL)
		return true;
	for (i = 0; i < sizeof(steady) / sizeof(steady[0]); i++)
		if (strlen(steady[i]) == length && strncmp(clocksource, steady[i], length) == 0)
			return true;
	return false;
}

/* The beginning of a file, as text; what cannot be read says nothing. */
static void
read_text(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t length = 0;

	if (file != NULL) {
		length = fread(text, 1, room - 1, file);
		fclose(file);
	}
	text[length] = '\0';
}

int
clock_begin(struct clock_moment *begin, struct error *error)
{
	char cpuinfo[8192], clocksource[64];

	read_text("/proc/cpuinfo", cpuinfo, sizeof(cpuinfo));
	read_text(CLOCKSOURCE, clocksource, sizeof(clocksource));
	if (!clock_is_constant(cpuinfo, clocksource))
		return error_set(error, -ENOTSUP, "no-clock",
			"the TSC of this processor is not constant (no constant_tsc in "
			"/proc/cpuinfo, clock of the kernel: %.*s): no time could be measured",
			(int)strcspn(clocksource, "\n"), clocksource);
	clock_read(begin);
	return 0;
}

uint64_t
clock_calibrate(const struct clock_moment *begin)
{
	struct clock_moment now;
	uint64_t past = raw_ns() - begin->raw_ns;

	if (past < LEAST_NS)
		rte_delay_us_sleep((unsigned int)((LEAST_NS - past) / 1000 + 1));
	clock_read(&now);
	return clock_hz(begin, &now);
}
