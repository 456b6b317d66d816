/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CAPTURE_H
#define TGEN_CAPTURE_H

/*
 * The first frames of a port in one direction, copied into memory that was set aside before the
 * trial, and written to a file after it. One lcore writes to a capture at a time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_mbuf.h>

#include "error.h"
#include "traffic.h"

struct captured {
	uint64_t tsc;
	uint32_t length;
	uint8_t bytes[TGEN_MAX_FRAME];
};

struct capture {
	uint32_t room; /* frames */
	uint32_t count;
	struct captured frame[];
};

struct capture *capture_create(uint32_t frames, struct error *error);
void capture_destroy(struct capture *capture);

/* Copy frames, without keeping them yet: a port may refuse some. */
void capture_offer(struct capture *capture, struct rte_mbuf *const *buffer, unsigned int count,
	uint64_t tsc);
/* Keep the first of the frames offered last. */
void capture_commit(struct capture *capture, unsigned int taken);

/* Where TSC and wall clock met once. */
struct capture_clock {
	uint64_t tsc, tsc_hz, unix_ns;
};

/* Begin a pcap file, and go on with it; true when that is written. */
bool capture_write_head(FILE *file);
bool capture_write_frame(FILE *file, const struct capture_clock *clock, uint64_t tsc,
	uint32_t length, const uint8_t *bytes, uint32_t kept);

/*
 * Open a file to write to, for its owner alone if it is new; what is in it stays until then. No
 * link is followed: whoever may write to the folder must not choose what is overwritten. Returns
 * the file, or a negative errno.
 */
int capture_open(const char *path, struct error *error);

/* Write two captures (either may be NULL) in the order of their times, and close the file. */
int capture_write(int file, const char *path, const struct capture *sent,
	const struct capture *received, const struct capture_clock *clock, struct error *error);

#endif /* TGEN_CAPTURE_H */
