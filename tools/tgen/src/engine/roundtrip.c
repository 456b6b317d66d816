/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _GNU_SOURCE /* pthread_attr_setaffinity_np */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "roundtrip.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPINS 1024 /* looks at the line, for one at the clock: about a microsecond */
#define PEER_TIMEOUT_NS UINT64_C(10000000) /* who waits so long for the other has lost it */
#define SAMPLES (ROUNDTRIP_MOST / ROUNDTRIP_BATCH)
#define LINE 128 /* two cache lines: processors fetch them in pairs */

/*
 * The line is 0 until the second thread is there, then it counts passes. The first thread makes it
 * even, the second one odd, so each waits for its own next number and needs nothing else.
 *
 * A thread may get its CPU long after the deadline, when the caller has returned, so the last
 * one to release it frees it.
 */
struct exchange {
	_Alignas(LINE) _Atomic uint32_t line;
	_Alignas(LINE) atomic_bool over; /* either gives up, or all is done */
	atomic_uint references;
	sem_t begin; /* told by the first thread when it runs: until then the second one sleeps */
	sem_t end[2]; /* told by each thread; the first one's samples are complete then */
	uint64_t deadline_ns;
	unsigned int rounds; /* asked for, then done */
	unsigned int samples;
	uint64_t sample_ns[SAMPLES]; /* of a round */
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct exchange *
exchange_create(const struct roundtrip_request *request)
{
	struct exchange *exchange = aligned_alloc(LINE, sizeof(*exchange));

	if (exchange == NULL)
		return NULL;
	memset(exchange, 0, sizeof(*exchange)); /* and no page of it is new to a thread */
	sem_init(&exchange->begin, 0, 0);
	sem_init(&exchange->end[0], 0, 0);
	sem_init(&exchange->end[1], 0, 0);
	exchange->rounds = request->rounds;
	exchange->deadline_ns = now_ns() + request->deadline_ns;
	atomic_store(&exchange->references, 1);
	return exchange;
}

static void
exchange_release(struct exchange *exchange)
{
	if (atomic_fetch_sub(&exchange->references, 1) > 1)
		return;
	sem_destroy(&exchange->begin);
	sem_destroy(&exchange->end[0]);
	sem_destroy(&exchange->end[1]);
	free(exchange);
}

static void
exchange_end(struct exchange *exchange)
{
	atomic_store_explicit(&exchange->over, true, memory_order_relaxed);
	sem_post(&exchange->begin);
}

/*
 * Wait for the other to make the line `number`; pairs with the release in publish(). False when it
 * will not come: the other gave up, or the end is there. No pause between two looks, which would be
 * longer than what is measured.
 */
static bool
await(struct exchange *exchange, uint32_t number, uint64_t end_ns)
{
	unsigned int i;

	for (;;) {
		for (i = 0; i < SPINS; i++)
			if (atomic_load_explicit(&exchange->line, memory_order_acquire) == number)
				return true;
		if (atomic_load_explicit(&exchange->over, memory_order_relaxed) || now_ns() > end_ns)
			return false;
	}
}

static void
publish(struct exchange *exchange, uint32_t number)
{
	atomic_store_explicit(&exchange->line, number, memory_order_release);
}

/* The second thread: its CPU may have better to do, so it does not wait for one who is lost. */
static void *
run_second(void *context)
{
	struct exchange *exchange = context;
	uint32_t number = 1;

	while (sem_wait(&exchange->begin) != 0)
		continue;
	if (!atomic_load_explicit(&exchange->over, memory_order_relaxed))
		do {
			publish(exchange, number);
			number += 2;
		} while (await(exchange, number - 1, now_ns() + PEER_TIMEOUT_NS));
	exchange_end(exchange);
	sem_post(&exchange->end[1]);
	exchange_release(exchange);
	return NULL;
}

/* Returns whether all came back. */
static bool
run_batch(struct exchange *exchange, unsigned int rounds, uint32_t *number)
{
	for (; rounds > 0; rounds--) {
		publish(exchange, *number + 1);
		*number += 2;
		if (!await(exchange, *number, exchange->deadline_ns))
			return false;
	}
	return true;
}

static void *
run_first(void *context)
{
	struct exchange *exchange = context;
	unsigned int left = exchange->rounds, batch;
	uint64_t before, after;
	uint32_t number = 1;
	bool is_on;

	sem_post(&exchange->begin);
	is_on = await(exchange, number, exchange->deadline_ns);
	before = now_ns();
	while (is_on && left > 0) {
		batch = left < ROUNDTRIP_BATCH ? left : ROUNDTRIP_BATCH;
		is_on = run_batch(exchange, batch, &number);
		if (!is_on)
			break;
		after = now_ns();
		exchange->sample_ns[exchange->samples++] = (after - before + batch / 2) / batch;
		before = after;
		left -= batch;
	}
	exchange->rounds -= left;
	exchange_end(exchange);
	sem_post(&exchange->end[0]);
	exchange_release(exchange);
	return NULL;
}

/* A thread bound to a CPU; before all ordinary ones where that is allowed. Returns an errno. */
static int
start(struct exchange *exchange, unsigned int cpu, bool *real_time, void *(*run)(void *))
{
	const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
	pthread_attr_t attributes;
	pthread_t thread;
	cpu_set_t cpus;
	int status = pthread_attr_init(&attributes);

	if (status != 0)
		return status;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &least);
	atomic_fetch_add(&exchange->references, 1);
	status = EPERM;
	if (*real_time) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		status = pthread_create(&thread, &attributes, run, exchange);
	}
	if (status == EPERM) {
		*real_time = false;
		pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
		status = pthread_create(&thread, &attributes, run, exchange);
	}
	if (status != 0)
		exchange_release(exchange);
	pthread_attr_destroy(&attributes);
	return status;
}

static bool
wait_for(struct exchange *exchange, sem_t *end)
{
	uint64_t last_ns = exchange->deadline_ns + PEER_TIMEOUT_NS;
	struct timespec last = {
		.tv_sec = (time_t)(last_ns / SECOND_NS), .tv_nsec = (long)(last_ns % SECOND_NS),
	};
	int status;

	do {
		status = sem_clockwait(end, CLOCK_MONOTONIC, &last);
	} while (status != 0 && errno == EINTR);
	return status == 0;
}

static int
compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static void
sum_up(struct exchange *exchange, struct roundtrip_result *result)
{
	unsigned int last = exchange->samples - 1;

	if (exchange->samples == 0)
		return;
	qsort(exchange->sample_ns, exchange->samples, sizeof(exchange->sample_ns[0]), compare);
	result->rounds = exchange->rounds;
	result->min_ns = exchange->sample_ns[0];
	result->p50_ns = exchange->sample_ns[last / 2];
	result->p90_ns = exchange->sample_ns[last * 9 / 10];
	result->max_ns = exchange->sample_ns[last];
}

/* The second thread first: it sleeps until the first one runs, wherever they are. */
static int
run_both(struct exchange *exchange, const unsigned int cpu[2], struct roundtrip_result *result,
	struct error *error)
{
	unsigned int at = cpu[1];
	bool is_complete;
	int status;

	status = start(exchange, cpu[1], &result->real_time, run_second);
	if (status == 0) {
		at = cpu[0];
		status = start(exchange, cpu[0], &result->real_time, run_first);
		if (status != 0)
			exchange_end(exchange);
	}
	if (status == EINVAL)
		return error_set(error, EINVAL, "bad-value", "tgen may not run on CPU %u", at);
	if (status != 0)
		return error_set(error, status, "no-thread", "no thread on CPU %u: %s", at,
			strerror(status));
	is_complete = wait_for(exchange, &exchange->end[0]);
	wait_for(exchange, &exchange->end[1]);
	if (is_complete)
		sum_up(exchange, result);
	return 0;
}

int
roundtrip_measure(const struct roundtrip_request *request, struct roundtrip_result *result,
	struct error *error)
{
	struct exchange *exchange = exchange_create(request);
	int status;

	if (exchange == NULL)
		return error_set(error, ENOMEM, "no-memory", "no memory for samples");
	*result = (struct roundtrip_result){ .real_time = true };
	status = run_both(exchange, request->cpu, result, error);
	exchange_release(exchange);
	return status;
}
