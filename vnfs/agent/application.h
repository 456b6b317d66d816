/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * What forwards or sends frames in this guest, or works there without any: the interface of all
 * kinds, and the one that runs.
 */
#ifndef APPLICATION_H
#define APPLICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "nic.h"

#define SIDES 2
#define WORDS 96

/* What was asked for; checked by those who fill it in. */
struct settings {
	const struct nic *nics[SIDES]; /* entry side first */
	unsigned int sides;
	const char *forward;
	unsigned int queues;
	unsigned int rx_descriptors;
	unsigned int tx_descriptors;
	unsigned int burst; /* frames */
	unsigned int mtu; /* bytes behind the Ethernet header */
	unsigned int memory_mb; /* of hugepages, for kinds that do not know better themselves */
	/* Where frames go to that leave by this side, for kinds that rewrite; NULL: not said. */
	const char *peers[SIDES];
	const char *words[WORDS / 2]; /* further ones for the command line */
	unsigned int word_count;
};

struct application;

/* One way to forward. Each is one file. */
struct kind {
	const char *name;
	/* Returns false and says why. What it did until then, `stop` undoes. */
	bool (*start)(struct application *application, struct text *wrong);
	/* Whether it forwards by now. NULL: as soon as `start` returns. */
	bool (*ready)(struct application *application);
	/* Adds the counters of all sides, as the members of a JSON array. NULL: has none. */
	void (*counters)(const struct application *application, struct text *answer);
	/* Frees what is not a process. NULL: nothing to free. */
	void (*stop)(struct application *application);
	bool has_process;
	bool needs_no_nic; /* it has nothing to do with frames */
};

struct application {
	const struct kind *kind; /* NULL: none was started */
	bool forwards; /* it was ready: from now on its end is news */
	struct settings settings;
	struct child child;
	/* The words of its command line, for who started it to see; NULL ends them. */
	char *argv[WORDS];
	unsigned int argc;
	char bytes[4096]; /* of these words, and of the settings' */
	struct text storage;
	void *memory; /* of the kind */
};

extern const struct kind kind_testpmd;
extern const struct kind kind_linux_bridge;
extern const struct kind kind_l2fwd;
extern const struct kind kind_tgen;
extern const struct kind kind_stress;
extern const struct kind kind_none;

/* Adds a word to argv; too many of them are remembered as an overflow of the storage. */
void application_word(struct application *application, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Names testpmd's lcores: the main one and as many workers, each on the CPU of its number. */
void testpmd_lcores(struct application *application, unsigned int cpus, unsigned int workers);

/* Adds one more member to the JSON object that the answer is in. */
void application_counter(struct text *answer, const char *name, uint64_t value);

#endif
