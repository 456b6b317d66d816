/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * stress-ng, which forwards nothing: noise for others on the machine. It is in no image; who wants
 * it appends an archive with it to the image's. The host says every word of its command line.
 */
#include <unistd.h>

#include "application.h"

#define PROGRAM "/usr/bin/stress-ng"

static bool
start(struct application *application, struct text *wrong)
{
	const struct settings *settings = &application->settings;

	if (access(PROGRAM, X_OK) != 0) {
		text_format(wrong, "this guest was booted without stress-ng");
		return false;
	}
	application_word(application, PROGRAM);
	for (unsigned int i = 0; i < settings->word_count; i++) {
		if (settings->words[i] == NULL) {
			text_format(wrong, "\"arguments\": stress-ng cannot be given null");
			return false;
		}
		application_word(application, "%s", settings->words[i]);
	}
	if (application->storage.overflown) {
		text_format(wrong, "the command line of stress-ng would be too long");
		return false;
	}
	return child_start(&application->child, application->argv, NULL, NULL, wrong);
}

const struct kind kind_stress = {
	.name = "stress",
	.start = start,
	.needs_no_nic = true,
	.has_process = true,
};
