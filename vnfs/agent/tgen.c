/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * The traffic generator of this project. The host says every word of its command line, and talks
 * with it over a port of its own: that port is its standard input and output, and its log the
 * agent's. It ends by itself when the host hangs up.
 */
#include <unistd.h>

#include "application.h"
#include "dpdk.h"
#include "port.h"

#define PROGRAM "/usr/bin/tgen"
#define PORT "vsperf.tgen"

/* In the new process; returns only when it cannot become tgen. */
static void
become_tgen(void *argument)
{
	struct application *application = argument;
	int port = port_open(PORT);

	if (port >= 0 && dup2(port, STDIN_FILENO) >= 0 && dup2(port, STDOUT_FILENO) >= 0)
		execv(application->argv[0], application->argv);
	/* What is said from here on is for the log. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

static bool
start(struct application *application, struct text *wrong)
{
	const struct settings *settings = &application->settings;

	if (access(PROGRAM, X_OK) != 0) {
		text_format(wrong, "this guest was built without tgen");
		return false;
	}
	application_word(application, PROGRAM);
	for (unsigned int i = 0; i < settings->word_count; i++) {
		if (settings->words[i] == NULL) {
			text_format(wrong, "\"arguments\": tgen cannot be given null");
			return false;
		}
		application_word(application, "%s", settings->words[i]);
	}
	if (application->storage.overflown) {
		text_format(wrong, "the command line of tgen would be too long");
		return false;
	}
	return dpdk_bind(settings, wrong) &&
		dpdk_reserve("tgen", (uint64_t)settings->memory_mb << 20, wrong) &&
		child_start(&application->child, NULL, become_tgen, application, wrong);
}

static void
stop(struct application *application)
{
	(void)application;
	dpdk_release();
}

/* Whether its links are up it says itself. */
const struct kind kind_tgen = {
	.name = "tgen",
	.start = start,
	.stop = stop,
	.has_process = true,
};
