/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ENGINE_PRIVATE_H
#define TGEN_ENGINE_PRIVATE_H

/* What the files of the engine share among each other. */

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
	struct responder responder;
	struct answers *answers[TGEN_MAX_PORTS]; /* of all ports while it is on */
};

/* Say to whoever receives whether there is somebody to copy frames for. */
static inline void
receiver_tell_copies(struct receiver *receiver)
{
	rte_atomic_store_explicit(&receiver->copies,
		receiver->capture != NULL || listening_is_on(receiver->listening),
		rte_memory_order_relaxed);
}

static inline uint64_t
engine_cycles(const struct engine *engine, uint64_t ns)
{
	uint64_t hz = engine->tsc_hz, second = UINT64_C(1000000000);

	return ns / second * hz + ns % second * hz / second;
}

/* How many workers send. Which of them sends on a queue, which receives; queues count through all ports. queues.c */
unsigned int engine_transmitters(const struct engine *engine);
struct worker *engine_transmitter(const struct engine *engine, unsigned int queue);
struct worker *engine_receiver(const struct engine *engine, unsigned int queue);

/* Build and free what a traffic needs; nothing runs meanwhile. prepare.c */
int prepare_traffic(struct engine *engine, const struct traffic *traffic, struct error *error);
void prepare_free(struct engine *engine);

/* The same of a stream that sends a file. prepare_replay.c */
int prepare_replay(struct engine *engine, const struct traffic *traffic, unsigned int index,
	struct error *error);
void prepare_free_replays(struct engine *engine);

/* Send all workers to park; whether they have; and both, false when one does not answer
 * in time. parking.c
 */
void engine_dismiss(struct engine *engine);
bool engine_parked(const struct engine *engine);
bool engine_park(struct engine *engine);

/* Begin a trial, whose worker does as it is told: COMMAND_SEND, or COMMAND_TURNS. trial.c */
int trial_start(struct engine *engine, const struct trial_request *request,
	enum worker_command command, struct error *error);

/*
 * Turns: nobody is held from now on, whatever the worker does; it has not got on for so long that it is
 * lost; they are over, and the worker is parked; and give back what they need. turns.c
 */
void turns_release(struct engine *engine);
bool turns_are_lost(struct engine *engine);
void turns_finish(struct engine *engine);
void turns_free(struct engine *engine);

/* Refuse what needs parked workers as long as they are not. */
int engine_check_idle(const struct engine *engine, struct error *error);

/* Forget the captures asked for, or write them first; the result says what failed. captures.c */
void captures_finish(struct engine *engine);
void captures_forget(struct engine *engine);

/* Gather what the parked workers have seen. collect.c */
int collect_prepare(struct engine *engine, const struct trial_request *request,
	struct error *error);
void collect_results(struct engine *engine);
/* A histogram that is empty, new unless there is one; NULL without memory for it. Histograms of
 * latency, made ready and put together. collect_latency.c
 */
struct histogram *collect_histogram(struct histogram *histogram);
void collect_drop_histogram(struct histogram **histogram);
bool collect_ready_latency(const struct engine *engine, struct worker *worker,
	const struct sender *sender, const struct trial_request *request);
bool collect_ready_results(struct engine *engine, const struct trial_request *request);
void collect_latency(struct stream_result *result, const struct watch *watch,
	const struct trial_request *request);
void collect_free_details(struct watch *watch);
void collect_free_result(struct stream_result *result);
/* The same of what one part of a stream sends. collect_senders.c */
void collect_clear_sender(struct engine *engine, struct sender *sender,
	const struct trial_request *request);
void collect_sender(struct engine *engine, const struct sender *sender);
/* When the last of a part's frames left that are lost. collect_loss.c */
void collect_last_loss(struct engine *engine, unsigned int index);
void collect_free(struct engine *engine);

/* Nothing was looked at in the trial to come; and give the room for it back. live.c */
bool live_ready(struct engine *engine, const struct trial_request *request);
void live_free(struct engine *engine);
/* All is sent, and each frame of it has arrived. */
bool live_all_back(const struct engine *engine);

/* Slots of time and events: get room for them, say when several workers begin together, put them
 * together, and give the room back. collect_slots.c
 */
int collect_prepare_slots(struct engine *engine, const struct trial_request *request,
	struct error *error);
void collect_place_slots(struct engine *engine, uint64_t begin_tsc);
void collect_slots(struct engine *engine);
void collect_free_slots(struct engine *engine);

/* Notice the end of a look for stalls. stalls.c */
void stalls_poll(struct engine *engine);

/* Go on with learning for a moment. learn.c */
void learn_poll(struct engine *engine);

#endif /* TGEN_ENGINE_PRIVATE_H */
