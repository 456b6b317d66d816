/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* What the guest's own kernel counts: time of each processor, interrupts, context switches. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system.h"

#define STAT "/proc/stat"
#define NANOSECONDS 1000000000ULL

static void
add_processor(const char *line, struct text *answer, bool first)
{
	unsigned int number;
	unsigned long long user, nice, kernel, idle, waiting, irq, softirq, steal;
	unsigned long long tick = NANOSECONDS / (unsigned long long)sysconf(_SC_CLK_TCK);

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &number, &user, &nice,
			&kernel, &idle, &waiting, &irq, &softirq, &steal) != 9)
		return;
	text_format(answer, "%s{\"number\":%u,\"user_ns\":%llu,\"system_ns\":%llu,\"idle_ns\":%llu,"
		"\"interrupts_ns\":%llu,\"steal_ns\":%llu}", first ? "" : ",", number,
		(user + nice) * tick, kernel * tick, (idle + waiting) * tick,
		(irq + softirq) * tick, steal * tick);
}

void
system_add(struct text *answer)
{
	static char bytes[1 << 16];
	struct text stat;
	char *line, *rest;
	unsigned long long count, interrupts = 0, switches = 0;
	bool first = true;

	text_init(&stat, bytes, sizeof(bytes));
	text_read(&stat, STAT);
	text_format(answer, ",\"processors\":[");
	for (line = strtok_r(bytes, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "cpu", 3) == 0 && line[3] != ' ') {
			add_processor(line, answer, first);
			first = false;
		} else if (sscanf(line, "intr %llu", &count) == 1)
			interrupts = count;
		else if (sscanf(line, "ctxt %llu", &count) == 1)
			switches = count;
	}
	text_format(answer, "],\"interrupts\":%llu,\"switches\":%llu", interrupts, switches);
}
