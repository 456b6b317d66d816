/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TURNS_H
#define TGEN_TURNS_H

/*
 * Turns: several devices under test share their CPUs, one of them runs while the processes of all others
 * are held still, and frames go to the one that runs. What is asked for, and what is found: plain data.
 */

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

#define TURNS_MAX_SIDES 8
#define TURNS_MAX 4096
#define TURNS_MAX_PROCESSES 128 /* of a side: a switch, and a chain of VNFs behind it */
#define TURN_SLOTS 5

struct turns_request {
	uint8_t sides;
	struct {
		uint32_t streams; /* a bit for each */
		uint32_t in_flight; /* of each stream at most; 0: no bound */
		uint8_t processes; /* held still while it is not its turn; there may be none */
		int32_t process[TURNS_MAX_PROCESSES];
		uint64_t gap_ns; /* a gap of the worker that is no longer is its own work */
		bool rings; /* fill them while it is held, and measure how fast it empties them */
	} side[TURNS_MAX_SIDES];
	uint16_t turns;
	uint8_t order[TURNS_MAX]; /* whose turn it is */
	uint64_t turn_ns; /* what is measured of a turn */
	uint64_t guard_ns; /* sent before that, and not measured */
	uint64_t silent_ns; /* nothing has come for so long: the side has forwarded what it had */
	bool latency;
};

/* All times in TSC cycles. */
struct turn {
	uint64_t began_tsc, ended_tsc; /* from its processes going on to them being held */
	uint64_t measured; /* how long, with the gaps of the worker */
	/* In that time: */
	uint64_t intended, sent, refused; /* of frames: due, taken, and due while the port was full */
	uint64_t full; /* for which the ports took no frames; of all streams */
	uint64_t distinct; /* frames that arrived, */
	struct {
		uint64_t cycles, distinct;
	} slot[TURN_SLOTS]; /* and in which part of it: short ones at its begin */
	uint64_t gaps, longest_gap; /* of the worker, longer than was asked for */
	uint64_t behind; /* half a ring or more waited to be received; of all ports */
	uint64_t silence; /* nothing arrived for more than 500 us on end, the gaps left out */
	uint64_t fillings; /* of rings that were emptied then; 0: frames were sent all the time */
	uint64_t fillings_behind; /* of these, those in which the worker was behind for most of the time, */
	uint64_t fillings_short; /* and those of which too little came back, or was there, to say anything */
	uint64_t latencies, latency; /* how many, and their sum, */
	uint64_t median, p99; /* and what half and 99 of 100 of them do not exceed */
	/* Of the whole turn: */
	uint64_t turn_sent, turn_distinct;
	uint64_t elsewhere; /* frames of any kind that came in on ports of other sides */
	uint64_t missed; /* frames that devices had no room for */
	uint64_t continued; /* how long that took */
	uint64_t first_tsc; /* the first arrival; 0: none came */
	uint64_t drained; /* for how long it was emptied before it was held */
	bool is_drained; /* it was silent in the end */
	uint64_t held; /* how long that took */
	uint8_t side;
};

/* What a stream of the side counted in a whole turn. */
struct turn_stream {
	uint64_t sent, distinct;
};

enum turns_end {
	TURNS_COMPLETE,
	TURNS_STOPPED, /* before the last one was over */
	TURNS_PROCESS_ENDED, /* of a side: there is nobody to hold or to let go on */
	TURNS_WORKER_LOST, /* it did not get on for seconds */
};

struct turns_result {
	enum turns_end end;
	uint8_t ended_side; /* and which process of it ended, where one did */
	int32_t ended_process;
	bool flat_out; /* a stream has no rate, so nobody knows what was intended */
	bool with_latency;
	bool with_rings;
	bool devices_told; /* what they missed */
	uint8_t sides;
	struct {
		uint32_t streams, ports; /* a bit for each */
		uint64_t elsewhere; /* frames that came in on its ports while others had their turn */
		struct histogram *latency; /* of what is measured of all turns; NULL when not asked for */
	} side[TURNS_MAX_SIDES];
	unsigned int turns; /* that were whole */
	const struct turn *turn;
	/* So many for each turn: those of the side whose turn it was, by their numbers, come first. */
	unsigned int most_streams;
	const struct turn_stream *stream;
};

#endif /* TGEN_TURNS_H */
