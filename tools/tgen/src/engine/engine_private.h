/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ENGINE_PRIVATE_H
#define TGEN_ENGINE_PRIVATE_H

/* The engine itself, as its files know it and nobody else does. */

#include "clock.h"
#include "engine.h"
#include "listen.h"
#include "respond.h"
#include "worker.h"

/* A port's wish for a file, until the trial that fills it is over. */
struct capture_request {
	char *path; /* NULL: none */
	int file;
	struct capture *sent, *received;
};

/* How far learning is. */
struct learning {
	unsigned int rounds, round;
	unsigned int stream;
	bool is_destination; /* its destination addresses, after the source addresses */
	uint32_t address; /* of those that vary */
	unsigned int refusals; /* of a port, in a row */
};

struct engine {
	enum engine_state state;
	enum engine_phase {
		PHASE_NONE,
		PHASE_SENDING,
		PHASE_DRAINING,
		PHASE_PARKING,
		PHASE_STALLS,
		PHASE_STALLS_PARKING,
		PHASE_CONNECTIONS,
		PHASE_CONNECTIONS_PARKING,
		PHASE_LEARNING,
	} phase;
	uint16_t ports, workers;
	struct port port[TGEN_MAX_PORTS];
	struct worker *worker[TGEN_MAX_WORKERS];
	/* Receivers of all ports and queues; each belongs to one worker. */
	struct receiver *receiver;
	uint16_t receivers;
	struct clock_moment created;
	uint64_t tsc_hz; /* as measured when it was created */
	/* Of the traffic configured last. */
	struct traffic traffic;
	struct sender *sender; /* one for each part of each stream */
	struct template *template; /* of all streams */
	struct frame *frame;
	const struct template **pattern;
	uint16_t senders, templates, patterns;
	struct replay *replay[TGEN_MAX_STREAMS]; /* one for all streams that send the same file */
	uint64_t replay_bytes; /* of all their files */
	/* Of the trial that runs or ran last. */
	struct trial_request request;
	struct trial_result result;
	struct slots slots; /* of the result */
	struct events events;
	struct live_latency *live[TGEN_MAX_STREAMS]; /* NULL where no latencies are counted */
	struct clock_moment begun;
	uint64_t begin_tsc; /* when workers begin that agreed on it */
	uint64_t drain_deadline;
	struct capture_request capture[TGEN_MAX_PORTS];
	struct listening listening[TGEN_MAX_PORTS];
	struct learning learning;
	struct turns *turns; /* of the last that were asked for; NULL: none were */
	bool takes_turns; /* the trial that runs consists of them, so processes may be held */
	bool turns_lost; /* its worker did not get on */
	uint64_t turn_seen, turn_seen_tsc; /* the last that was seen to begin, and when */
	uint64_t turn_looked_tsc; /* when that was looked at last */
	struct connections *connections; /* of the last that were asked for; NULL: none were */
	struct connections_result connections_result;
	uint64_t flooded; /* SYNs of all floods */
	struct responder responder;
	struct answers *answers[TGEN_MAX_PORTS]; /* of all ports while it is on */
};

static inline uint64_t
engine_cycles(const struct engine *engine, uint64_t ns)
{
	uint64_t hz = engine->tsc_hz, second = UINT64_C(1000000000);

	return ns / second * hz + ns % second * hz / second;
}

#endif /* TGEN_ENGINE_PRIVATE_H */
