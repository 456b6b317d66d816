/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef DUT_FORWARD_H
#define DUT_FORWARD_H

/*
 * The way of frames through the reference DUT. Nothing is lost but what a rule drops: a port that takes
 * no more frames is offered them again, and a line that is full takes no new ones.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "atomics.h"
#include "rules.h"

#define DUT_MAX_PORTS 2
#define DUT_LINE 8192 /* frames that a delay line holds; a power of two */
#define DUT_BURST 32
#define DUT_WORK_FRAMES 8 /* for so many the work is told: less than one step a frame is some */

/* What happened to the frames that came in on one port. */
struct record {
	uint64_t received; /* test frames */
	uint64_t other; /* frames that are not of the test: forwarded untouched */
	uint64_t done[ACTION_KINDS];
	uint64_t sent; /* what the ports took, of all that came from here */
	uint64_t kept; /* held back or in the line when the end came */
	uint64_t delayed; /* frames that the sums below speak of */
	uint64_t held_cycles, held_least, held_most; /* from reception to hand-over */
};

struct entry {
	struct rte_mbuf *mbuf;
	uint64_t received_tsc;
	uint16_t egress;
};

/* Frames of one ingress port on their way, in the order in which they will leave. */
struct line {
	uint32_t head, tail; /* entries written and taken; they wrap */
	struct entry entry[DUT_LINE];
	struct entry held; /* by a reorder; no mbuf when there is none */
	uint32_t held_for; /* frames that are still to pass it */
};

struct dut {
	uint16_t ports;
	struct rules rules;
	uint64_t delay_cycles[DUT_MAX_PORTS]; /* by ingress port */
	uint32_t work; /* multiplications for each DUT_WORK_FRAMES frames, one after the other */
	uint64_t work_due; /* what is left of it, in parts of a multiplication */
	uint64_t product; /* of all of them: what is stored has to be computed */
	struct rte_mempool *pool;
	struct line *line[DUT_MAX_PORTS];
	struct record record[DUT_MAX_PORTS];
};

/* Forward until told to stop; then free what is still on its way. */
void forward_run(struct dut *dut, const RTE_ATOMIC(bool) *stop);

#endif /* DUT_FORWARD_H */
