/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The life of a trial, as the main lcore drives it: prepare, send, drain, park, collect. */

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include <rte_ethdev.h>

#include "captures.h"
#include "collect.h"
#include "collect_slots.h"
#include "connections_end.h"
#include "engine_private.h"
#include "learn.h"
#include "live.h"
#include "stalls.h"
#include "transmit_steps.h"
#include "trial.h"
#include "turns_end.h"
#include "workers.h"

#define SECOND_NS UINT64_C(1000000000)
#define BEGIN_NS 1000000 /* until all workers that send have heard of it */

static uint64_t
unix_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static int
check_request(const struct engine *engine, const struct trial_request *request,
	struct error *error)
{
	unsigned int i;

	int ret = engine_check_idle(engine, error);

	if (ret != 0)
		return ret;
	if (engine->traffic.streams == 0)
		return error_set(error, -EINVAL, "not-configured", "no traffic is configured");
	if (request->burst == 0 || request->burst > PORT_BURST)
		return error_set(error, -EINVAL, "bad-value", "bursts have 1 to %u frames, not %u",
			PORT_BURST, request->burst);
	for (i = 0; i < engine->traffic.streams; i++)
		if (request->frames[i] >= TGEN_48_BITS && request->duration_ns == 0)
			return error_set(error, -EINVAL, "bad-value",
				"stream %u would never end: bound its frames or the duration", i);
	for (i = 0; i < engine->senders; i++)
		if (engine->sender[i].part.of > 1 && request->train[engine->sender[i].part.stream] != 0)
			return error_set(error, -EINVAL, "bad-value",
				"stream %u has %u workers: no gap would be after all of a burst",
				engine->sender[i].part.stream, engine->sender[i].part.of);
	return 0;
}

static int
lose_workers(struct engine *engine, struct error *error)
{
	engine_park(engine);
	return error_set(error, -EIO, "worker-lost", "a worker does not answer");
}

static void
set_bursts(struct engine *engine, const struct trial_request *request)
{
	unsigned int i;

	for (i = 0; i < engine->senders; i++) {
		struct sender *sender = &engine->sender[i];

		if (request->train[sender->part.stream] != 0)
			pacer_set_bursts(&sender->pacer, request->train[sender->part.stream],
				engine_cycles(engine, request->gap_ns));
	}
}

static void
set_steps(struct engine *engine, const struct trial_request *request)
{
	uint64_t end_ns = 0;
	unsigned int i, step;

	for (i = 0; i < engine->workers; i++)
		engine->worker[i]->steps = request->steps;
	for (step = 0; step < request->steps; step++) {
		end_ns += request->step[step].duration_ns;
		for (i = 0; i < engine->workers; i++)
			engine->worker[i]->step_end[step] = engine_cycles(engine, end_ns) +
				STEP_GRACE_TIMES * engine->worker[i]->ten_us;
	}
}

/*
 * Who receives what others send does not know how much of that is on its way, and of frames without a
 * mark nobody does. Where the ring of a port holds all that can be on its way to it, no backlog there
 * can lose anything.
 */
static void
bound_flights(struct engine *engine, const struct trial_request *request)
{
	uint64_t flying[TGEN_MAX_PORTS] = { 0 };
	bool bounded = false;
	unsigned int i;

	for (i = 0; i < engine->senders; i++) {
		const struct watch *watch = &engine->worker[0]->watch[i];
		struct flight *flight = &engine->sender[i].flight;
		uint32_t most = request->in_flight[engine->sender[i].part.stream];
		bool known = most != 0 && engine->workers == 1 &&
			!replay_has_unmarked(engine->sender[i].replay);

		memset(flight, 0, sizeof(*flight));
		flight->watch = known ? watch : NULL;
		flight->most = most;
		bounded |= known;
		flying[watch->port] += known ? most : UINT32_MAX;
	}
	for (i = 0; i < engine->receivers; i++) {
		struct receiver *receiver = &engine->receiver[i];
		uint64_t ring = engine->port[receiver->port].receive_ring;

		receiver->backlog_limit = bounded && flying[receiver->port] <= ring ?
			UINT64_MAX : RTE_MAX((uint64_t)PORT_BURST, ring / 2);
	}
}

/*
 * Workers that send together begin at one moment, which none of them can have missed; and so does who
 * sends alone, if others have to know when that is.
 */
static void
agree_on_begin(struct engine *engine)
{
	const struct trial_request *request = &engine->request;
	bool slotted = request->slot_ns != 0 && engine->workers > 1;
	bool timed = slotted || (request->latency_after_ns != 0 && engine->workers > 1);
	uint64_t begin_tsc = engine->result.started_tsc + engine_cycles(engine, BEGIN_NS);
	unsigned int sending = 0, i;

	engine->begin_tsc = begin_tsc;
	for (i = 0; i < engine->workers; i++)
		sending += engine->worker[i]->senders != 0;
	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		worker->begin_tsc = worker->senders == 0 || (sending == 1 && !timed) ? 0 :
			begin_tsc;
	}
	if (slotted)
		collect_place_slots(engine, begin_tsc);
}

int
trial_launch(struct engine *engine, enum worker_command command, struct error *error)
{
	unsigned int i;

	engine->result.stopped_early = false;
	engine->result.settled = false;
	engine->result.capture_failure.code = NULL;
	for (i = 0; i < engine->workers; i++)
		worker_command(engine->worker[i], COMMAND_PREPARE);
	for (i = 0; i < engine->workers; i++)
		if (!worker_wait(engine->worker[i], STATE_READY))
			return lose_workers(engine, error);
	/* Not reset: some devices cannot, and others read them as well. */
	for (i = 0; i < engine->ports; i++)
		engine->port[i].has_before =
			rte_eth_stats_get(engine->port[i].id, &engine->port[i].before) == 0;
	/* Until the first poll notices that one of them has begun. */
	engine->result.started_tsc = rte_rdtsc();
	engine->result.started_unix_ns = unix_now_ns();
	clock_read(&engine->begun);
	agree_on_begin(engine);
	engine->state = ENGINE_RUNNING;
	for (i = 0; i < engine->workers; i++)
		worker_command(engine->worker[i], command);
	return 0;
}

int
trial_start(struct engine *engine, const struct trial_request *request,
	enum worker_command command, struct error *error)
{
	int ret = check_request(engine, request, error);
	unsigned int i;

	if (ret == 0)
		ret = collect_prepare(engine, request, error);
	if (ret == 0)
		ret = collect_prepare_slots(engine, request, error);
	if (ret != 0)
		return ret;
	set_bursts(engine, request);
	set_steps(engine, request);
	bound_flights(engine, request);
	captures_attach(engine);
	engine->request = *request;
	for (i = 0; i < engine->workers; i++) {
		engine->worker[i]->duration_cycles = engine_cycles(engine, request->duration_ns);
		engine->worker[i]->grace_cycles = engine_cycles(engine, request->duration_ns) / GRACE_SHARE;
	}
	ret = trial_launch(engine, command, error);
	if (ret == 0)
		engine->phase = PHASE_SENDING;
	return ret;
}

int
engine_start(struct engine *engine, const struct trial_request *request, struct error *error)
{
	return trial_start(engine, request, COMMAND_SEND, error);
}

static void
start_drain(struct engine *engine)
{
	unsigned int i;

	engine->phase = PHASE_DRAINING;
	engine->drain_deadline = rte_rdtsc() + engine_cycles(engine, engine->request.drain_ns);
	for (i = 0; i < engine->workers; i++)
		worker_command(engine->worker[i], COMMAND_DRAIN);
}

static void
poll_sending(struct engine *engine)
{
	unsigned int i;

	if (turns_are_lost(engine)) {
		engine->turns_lost = true;
		turns_release(engine);
		start_drain(engine);
		return;
	}
	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->senders != 0 &&
				worker_state(engine->worker[i]) != STATE_SENT)
			return;
	start_drain(engine);
}

static bool
all_quiet(const struct engine *engine, uint64_t quiet_ns)
{
	uint64_t quiet = engine_cycles(engine, quiet_ns);
	unsigned int i;

	/* Each worker tells how long nothing has come: if one did not run, it is not quiet. */
	for (i = 0; i < engine->workers; i++)
		if (engine->worker[i]->receivers != 0 &&
				counter_read(&engine->worker[i]->quiet_cycles) < quiet + 1)
			return false;
	return true;
}

/*
 * What a worker has seen may be touched when it has parked, and not before: one whose CPU is taken
 * away is waited for.
 */
static void
poll_parking(struct engine *engine)
{
	uint64_t asked_tsc = engine->result.started_tsc;
	struct clock_moment now;

	if (!engine_parked(engine))
		return;
	collect_results(engine);
	collect_slots(engine);
	clock_read(&now);
	engine->result.tsc_hz_meanwhile = clock_hz(&engine->begun, &now);
	engine->result.started_unix_ns += clock_later_ns(asked_tsc, engine->result.started_tsc,
		engine->tsc_hz);
	captures_finish(engine);
	turns_finish(engine);
	engine->phase = PHASE_NONE;
	engine->state = ENGINE_DONE;
}

static void
poll_draining(struct engine *engine)
{
	if (all_quiet(engine, engine->request.quiet_ns) ||
			(live_all_back(engine) && all_quiet(engine, engine->request.linger_ns)))
		engine->result.settled = true;
	else if ((int64_t)(rte_rdtsc() - engine->drain_deadline) < 0)
		return;
	engine_dismiss(engine);
	engine->phase = PHASE_PARKING;
}

enum engine_state
engine_poll(struct engine *engine)
{
	switch (engine->phase) {
	case PHASE_SENDING:
		poll_sending(engine);
		break;
	case PHASE_DRAINING:
		poll_draining(engine);
		break;
	case PHASE_PARKING:
		poll_parking(engine);
		break;
	case PHASE_STALLS:
	case PHASE_STALLS_PARKING:
		stalls_poll(engine);
		break;
	case PHASE_CONNECTIONS:
	case PHASE_CONNECTIONS_PARKING:
		connections_poll(engine);
		break;
	case PHASE_LEARNING:
		respond_idle(engine);
		learn_poll(engine);
		break;
	case PHASE_NONE:
		respond_idle(engine);
		break;
	}
	return engine->state;
}

void
engine_stop(struct engine *engine)
{
	if (engine->phase == PHASE_SENDING) {
		engine->result.stopped_early = true;
		turns_release(engine);
		start_drain(engine);
	} else if (engine->phase == PHASE_STALLS) {
		engine->result.stopped_early = true;
		engine_dismiss(engine);
		engine->phase = PHASE_STALLS_PARKING;
	} else if (engine->phase == PHASE_CONNECTIONS) {
		engine->result.stopped_early = true;
		connections_stop(engine);
	} else if (engine->phase == PHASE_LEARNING) {
		engine->phase = PHASE_NONE;
		engine->state = ENGINE_DONE;
	}
}

const struct trial_result *
engine_result(const struct engine *engine)
{
	return &engine->result;
}
