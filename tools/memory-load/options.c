/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char options_usage[] =
    "usage: memory-load --buffer=BYTES --read-size=BYTES --write-size=BYTES\n"
    "                   --read-rate=BYTES_PER_S --write-rate=BYTES_PER_S\n"
    "                   [--random=1] [--sleep=1] [--report-ms=100] [--cpu=N]\n"
    "Reads and writes blocks of a buffer at given rates, and says on stdout, as JSON lines,\n"
    "how much that was so far. A rate of 0 leaves that kind of access out.\n";

enum { LEAST_BLOCK = 64, WORD = 8 };

/* Digits only: strtoull also takes signs and spaces. */
static bool number(const char *text, uint64_t *found)
{
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    *found = strtoull(text, NULL, 10);
    return errno == 0;
}

static const char *check(const struct options *options)
{
    if (options->buffer < LEAST_BLOCK || options->buffer > (uint64_t)1 << 40)
        return "--buffer is to be from 64 bytes to 1 TB";
    if (options->read_rate == 0 && options->write_rate == 0)
        return "one of --read-rate and --write-rate is to be above 0";
    if (options->read_size < LEAST_BLOCK || options->read_size > options->buffer)
        return "--read-size is to be from 64 bytes to the size of the buffer";
    if (options->write_size < LEAST_BLOCK || options->write_size > options->buffer)
        return "--write-size is to be from 64 bytes to the size of the buffer";
    if (options->read_size % WORD != 0 || options->write_size % WORD != 0)
        return "--read-size and --write-size are to be multiples of 8: words are read and written";
    if (options->report_ms < 10 || options->report_ms > 60000)
        return "--report-ms is to be from 10 to 60000";
    return NULL;
}

const char *options_read(struct options *options, int count, char **words)
{
    uint64_t cpu = UINT64_MAX;
    const struct {
        const char *name;
        uint64_t *value;
    } known[] = {
        {"--buffer=", &options->buffer},       {"--read-size=", &options->read_size},
        {"--write-size=", &options->write_size}, {"--read-rate=", &options->read_rate},
        {"--write-rate=", &options->write_rate}, {"--report-ms=", &options->report_ms},
        {"--random=", &options->random},         {"--sleep=", &options->sleep},
        {"--cpu=", &cpu},
    };
    *options = (struct options){.report_ms = 100, .cpu = -1};
    for (int at = 1; at < count; at++) {
        size_t choice = 0;
        while (choice < sizeof known / sizeof *known &&
               strncmp(words[at], known[choice].name, strlen(known[choice].name)) != 0)
            choice++;
        if (choice == sizeof known / sizeof *known)
            return "a word is not known";
        if (!number(words[at] + strlen(known[choice].name), known[choice].value))
            return "a value is no whole number";
    }
    if (cpu != UINT64_MAX) {
        if (cpu > 65535)
            return "--cpu is to be below 65536";
        options->cpu = (int64_t)cpu;
    }
    return check(options);
}
