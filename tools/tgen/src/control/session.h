/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_SESSION_H
#define TGEN_SESSION_H

/*
 * What is said between a controller and the engine: bytes come in, lines of JSON go out.
 * It knows no sockets, no clock and no DPDK, so tests and the fuzzer drive it like a controller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "engine.h"
#include "message.h"

#define TGEN_PROTOCOL 1
#define SESSION_MAX_LINE (1u << 20)

/* An lcore of this process, as hello tells it. */
struct lcore_facts {
	unsigned int lcore;
	int cpu; /* -1: not bound to one */
};

/* What is known before a session begins, and does not change. */
struct process_facts {
	const char *version;
	const char *build_type;
	const char *march;
	const char *compiler;
	const char *dpdk;
	uint64_t tsc_hz; /* as measured */
	uint64_t tsc_hz_dpdk; /* as DPDK has it, rounded or not */
	int64_t pid;
	struct lcore_facts main;
	unsigned int workers;
	struct lcore_facts worker[TGEN_MAX_WORKERS];
	uint8_t first_trial; /* differs between processes: frames of the last one are stale */
	/* Names of one offload bit. */
	const char *(*receive_offload)(uint64_t bit);
	const char *(*transmit_offload)(uint64_t bit);
};

/* What the engine is busy with. */
enum activity {
	ACTIVITY_NONE,
	ACTIVITY_TRIAL,
	ACTIVITY_PROBE,
	ACTIVITY_LEARN,
	ACTIVITY_STALLS,
	ACTIVITY_TURNS,
	ACTIVITY_CONNECTIONS,
};

/* A request whose answer comes when the engine is done. */
struct pending {
	enum activity activity;
	json_int_t id;
	bool wait; /* the answer is still owed; otherwise an event tells the end */
	struct trial_request request;
	uint64_t started_ns;
	uint64_t next_stats_ns;
};

/* Takes one line, its newline included. */
typedef void (*session_send)(void *context, const char *line, size_t length);

struct verb;

struct session {
	struct engine *engine;
	const struct process_facts *facts;
	const struct verb *verbs; /* what a controller may ask for */
	session_send send;
	void *context;
	uint64_t now_ns; /* monotonic, as of the last call */
	bool quit; /* the controller asked for the end */
	bool has_traffic;
	bool responds; /* so the engine wants to be looked after at any time */
	struct traffic traffic; /* as configured last */
	uint8_t next_trial;
	struct pending pending;
	uint64_t trials_ended;
	bool skipping; /* the rest of a line that was too long */
	size_t used, room;
	char *line; /* as far as it has come in */
};

/* `verbs` end with one that has no name. */
struct session *session_create(struct engine *engine, const struct process_facts *facts,
	const struct verb *verbs, session_send send, void *context);
void session_destroy(struct session *session);

/* Take what the controller sent, in pieces of any size. */
void session_input(struct session *session, const char *bytes, size_t length, uint64_t now_ns);
/* Look after the engine. Call every session_patience() ms while that is not negative. */
void session_tick(struct session *session, uint64_t now_ns);
int session_patience(const struct session *session);
/* Stop whatever runs, and answer what is owed. Returns whether anything ran. */
bool session_end(struct session *session, const char *why);
/* Tell someone who is not the controller of any session why not. */
void session_refuse(session_send send, void *context, const char *code, const char *text);

/* For the verbs. */
enum verb_outcome { VERB_DONE, VERB_LATER, VERB_FAILED };
const char *session_activity(const struct session *session);

#endif /* TGEN_SESSION_H */
