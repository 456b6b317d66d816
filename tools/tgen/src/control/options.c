/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define DEFAULT_RING 1024
#define MOST_QUEUES 64
#define MOST_RING 32768

static int
read_number(const char *name, const char *text, unsigned long most, uint16_t *value,
	struct error *error)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text || text[0] == '-' || number < 1 ||
			number > most)
		return error_set(error, EINVAL, "usage", "%s needs a number from 1 to %lu",
			name, most);
	*value = (uint16_t)number;
	return 0;
}

/* The number that an option sets; NULL when it is no option with a number. */
static uint16_t *
find_number(struct options *options, const char *name, unsigned long *most)
{
	if (strcmp(name, "--queues") == 0) {
		*most = MOST_QUEUES;
		return &options->engine.queues;
	}
	if (strcmp(name, "--ring") == 0) {
		*most = MOST_RING;
		return &options->engine.ring;
	}
	if (strcmp(name, "--max-frame") == 0) {
		*most = TGEN_MAX_FRAME;
		return &options->engine.max_frame;
	}
	return NULL;
}

/* Returns how many arguments the option took, or a negative errno. */
static int
read_option(struct options *options, const char *name, const char *value, bool *is_stdin,
	struct error *error)
{
	unsigned long most;
	uint16_t *number;
	int status;

	if (strcmp(name, "--stdin") == 0) {
		*is_stdin = true;
		return 1;
	}
	if (strcmp(name, "--exit-without-controller") == 0) {
		options->exit_without_controller = true;
		return 1;
	}
	number = find_number(options, name, &most);
	if (number == NULL && strcmp(name, "--control") != 0)
		return error_set(error, EINVAL, "usage", "unknown option %s", name);
	if (value == NULL)
		return error_set(error, EINVAL, "usage", "%s needs a value", name);
	if (number == NULL) {
		options->control = value;
		return 2;
	}
	status = read_number(name, value, most, number, error);
	return status < 0 ? status : 2;
}

int
options_read(struct options *options, int argc, char **argv, struct error *error)
{
	bool is_stdin = false;
	int i, taken;

	*options = (struct options){
		.engine = { .queues = 1, .ring = DEFAULT_RING, .max_frame = TGEN_MAX_FRAME },
	};
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		options->help |= strcmp(argv[i], "--help") == 0;
		options->version |= strcmp(argv[i], "--version") == 0;
	}
	options->eal_arguments = i;
	for (i++; i < argc; i += taken) {
		options->help |= strcmp(argv[i], "--help") == 0;
		options->version |= strcmp(argv[i], "--version") == 0;
		if (options->help || options->version)
			return 0;
		taken = read_option(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL,
			&is_stdin, error);
		if (taken < 0)
			return taken;
	}
	if (is_stdin && options->control != NULL)
		return error_set(error, EINVAL, "usage",
			"--control and --stdin exclude each other");
	return 0;
}
