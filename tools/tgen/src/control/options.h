/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_OPTIONS_H
#define TGEN_OPTIONS_H

/* The command line: what comes before -- is for DPDK, what comes after it is ours. */

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "error.h"

#define OPTIONS_USAGE \
	"usage: tgen [EAL options] -- [--control PATH | --stdin] [--queues N] [--ring N]\n" \
	"            [--max-frame N] [--exit-without-controller]\n" \
	"  --control PATH   listen at a Unix socket (mode 0600) for one controller\n" \
	"  --stdin          take requests from standard input, answer on standard output\n" \
	"  --queues N       receive and transmit queues of each port (default 1)\n" \
	"  --ring N         descriptors of each queue (default 1024)\n" \
	"  --max-frame N    longest frame with FCS (default 9216); 1518 is a little faster\n" \
	"  --exit-without-controller\n" \
	"                   end when no controller has come 10 seconds after the start\n" \
	"  --help, --version\n"

struct options {
	const char *control; /* path; NULL: standard input */
	struct engine_options engine;
	bool exit_without_controller;
	bool help, version;
	int eal_arguments; /* argv[0] and what follows, up to -- */
};

int options_read(struct options *options, int argc, char **argv, struct error *error);

#endif /* TGEN_OPTIONS_H */
