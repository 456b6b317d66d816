/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Questions to a DPDK program over its telemetry socket. */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stdbool.h>

#include "json.h"

#define TELEMETRY_ROOM 16384

struct telemetry {
	int fd; /* -1: not connected */
	struct json json;
	char bytes[TELEMETRY_ROOM];
};

bool telemetry_open(struct telemetry *telemetry);
void telemetry_close(struct telemetry *telemetry);

/*
 * Asks for "/path,argument". Returns the answer's value in `json`, 0 if there is none; without an
 * answer in time the connection is closed.
 */
unsigned int telemetry_ask(struct telemetry *telemetry, const char *path, unsigned int argument);

#endif
