/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "load.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)

enum {
    LINE = 64,             /* A cache line: one access to each loads all of it. */
    CHUNK = 16384,         /* Between two looks at the clock: microseconds, even from memory. */
    MOST_BEHIND_NS = 5000000, /* What could not be done for longer than that is not made up for. */
};

/* One of the two patterns: blocks of one size, at a rate. */
struct pattern {
    uint64_t size;
    uint64_t rate;
    uint64_t places; /* Blocks in the buffer. */
    uint64_t place;
    uint64_t inside; /* Bytes of the current block that are done. */
    uint64_t due_ns; /* When the next chunk is due. */
    uint64_t bytes;
    uint64_t blocks;
    uint64_t accesses;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void begin(struct pattern *pattern, uint64_t size, uint64_t rate, uint64_t buffer)
{
    *pattern = (struct pattern){.size = size, .rate = rate, .places = buffer / size};
}

/* One word of each line: what the processor really fetches is the line. */
static uint64_t read_lines(const volatile unsigned char *from, uint64_t bytes, uint64_t *accesses)
{
    uint64_t sum = 0;
    for (uint64_t at = 0; at < bytes; at += LINE, ++*accesses)
        sum += *(const volatile uint64_t *)(const volatile void *)(from + at);
    return sum;
}

static void write_lines(volatile unsigned char *to, uint64_t bytes, uint64_t value,
                        uint64_t *accesses)
{
    for (uint64_t at = 0; at < bytes; at += LINE, ++*accesses)
        *(volatile uint64_t *)(volatile void *)(to + at) = value;
}

/* A small generator of numbers (xorshift): the order of blocks, and not a secret. */
static uint64_t next_number(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Accesses up to one chunk of the current block. */
static void step(struct pattern *pattern, unsigned char *buffer, bool writes,
                 const struct options *options, uint64_t *random)
{
    uint64_t left = pattern->size - pattern->inside;
    uint64_t bytes = left < CHUNK ? left : CHUNK;
    unsigned char *at = buffer + pattern->place * pattern->size + pattern->inside;
    if (writes)
        write_lines(at, bytes, pattern->bytes, &pattern->accesses);
    else
        *random += read_lines(at, bytes, &pattern->accesses) & 1; /* It is used, so it is read. */
    pattern->inside += bytes;
    pattern->due_ns += bytes * SECOND / pattern->rate;
    if (pattern->inside < pattern->size)
        return;
    pattern->inside = 0;
    pattern->bytes += pattern->size;
    pattern->blocks++;
    pattern->place = options->random ? next_number(random) % pattern->places
                                     : (pattern->place + 1) % pattern->places;
}

/* A short wait would be as long as the kernel's timer is late, so it is spent looking at the clock,
 * unless the CPU is to be left to others: then it is a long one, and accesses come in bursts. */
static void wait_until(uint64_t due_ns, uint64_t now, bool sleep)
{
    enum { WORTH_NS = 100000, REST_NS = 1000000 };
    if (sleep && due_ns < now + REST_NS)
        due_ns = now + REST_NS;
    if (due_ns < now + WORTH_NS)
        return;
    struct timespec until = {(time_t)(due_ns / SECOND), (long)(due_ns % SECOND)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static bool is_due(struct pattern *pattern, uint64_t now)
{
    if (pattern->rate == 0 || pattern->due_ns > now)
        return false;
    if (now - pattern->due_ns > MOST_BEHIND_NS)
        pattern->due_ns = now - MOST_BEHIND_NS;
    return true;
}

static uint64_t earliest(const struct pattern *reads, const struct pattern *writes, uint64_t report)
{
    uint64_t first = report;
    if (reads->rate != 0 && reads->due_ns < first)
        first = reads->due_ns;
    if (writes->rate != 0 && writes->due_ns < first)
        first = writes->due_ns;
    return first;
}

static int run(const struct options *options, unsigned char *buffer, report *tell, void *context)
{
    struct pattern reads, writes;
    uint64_t random = 88172645463325252u, start = now_ns(CLOCK_MONOTONIC);
    uint64_t cpu_start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t every = options->report_ms * 1000000, told = start + every;
    begin(&reads, options->read_size, options->read_rate, options->buffer);
    begin(&writes, options->write_size, options->write_rate, options->buffer);
    reads.due_ns = writes.due_ns = start;
    for (;;) {
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        if (now >= told) {
            struct counts counts = {
                .elapsed_ns = now - start,
                .cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start,
                .read_bytes = reads.bytes + reads.inside,
                .written_bytes = writes.bytes + writes.inside,
                .reads = reads.blocks,
                .writes = writes.blocks,
                .read_accesses = reads.accesses,
                .write_accesses = writes.accesses,
            };
            int enough = tell(&counts, context);
            if (enough != 0)
                return enough;
            told += every * (1 + (now - told) / every);
        }
        bool read_now = is_due(&reads, now), write_now = is_due(&writes, now);
        if (read_now)
            step(&reads, buffer, false, options, &random);
        if (write_now)
            step(&writes, buffer, true, options, &random);
        if (!read_now && !write_now)
            wait_until(earliest(&reads, &writes, told), now, options->sleep != 0);
    }
}

const char *load_memory(const struct options *options, report *tell, void *context)
{
    unsigned char *buffer = mmap(NULL, options->buffer, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return "there is no memory for the buffer";
    memset(buffer, 1, options->buffer); /* Pages that were never written are all the same page. */
    run(options, buffer, tell, context);
    munmap(buffer, options->buffer);
    return NULL;
}
