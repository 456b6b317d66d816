/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Loads memory as a noisy neighbour does: two patterns, each with a block size and a rate. Says how
 * much that really was, so that nobody has to believe what was asked for. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "options.h"

enum { WRONG_WORDS = 2, REFUSED = 3 };

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* One line at once: whoever reads them sees no halves, except of the last one. */
static int say(const struct counts *counts, void *context)
{
    (void)context;
    printf("{\"elapsed_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"read_bytes\": %" PRIu64
           ", \"written_bytes\": %" PRIu64 ", \"reads\": %" PRIu64 ", \"writes\": %" PRIu64
           ", \"read_accesses\": %" PRIu64 ", \"write_accesses\": %" PRIu64 "}\n",
           counts->elapsed_ns, counts->cpu_ns, counts->read_bytes, counts->written_bytes,
           counts->reads, counts->writes, counts->read_accesses, counts->write_accesses);
    return fflush(stdout) != 0 || ended;
}

static int run_on(int64_t cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return 0;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

int main(int count, char **words)
{
    struct options options;
    const char *wrong = options_read(&options, count, words);
    if (wrong != NULL) {
        fprintf(stderr, "memory-load: %s\n%s", wrong, options_usage);
        return WRONG_WORDS;
    }
    if (run_on(options.cpu) != 0) {
        fprintf(stderr, "memory-load: CPU %" PRId64 " cannot be used\n", options.cpu);
        return REFUSED;
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    wrong = load_memory(&options, say, NULL);
    if (wrong != NULL) {
        fprintf(stderr, "memory-load: %s\n", wrong);
        return REFUSED;
    }
    return 0;
}
