/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _GNU_SOURCE /* CPU_ISSET */

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "roundtrip.h"

#define MILLISECOND_NS UINT64_C(1000000)
#define GENEROUS_NS (20 * MILLISECOND_NS) /* sanitizers, and other work on the machine */

/* The first two CPUs that this process may use; skips where there is one only. */
static struct roundtrip_request
two_cpus(void)
{
	struct roundtrip_request request = { .rounds = 1990, .deadline_ns = GENEROUS_NS };
	unsigned int cpu, found = 0;
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	for (cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			request.cpu[found++] = cpu;
	if (found < 2)
		skip();
	return request;
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A machine with other work may be late a few times, but not always. */
static struct roundtrip_result
measure(const struct roundtrip_request *request)
{
	struct roundtrip_result result;
	struct error error = { 0 };
	unsigned int tries;

	for (tries = 0; tries < 50; tries++) {
		assert_int_equal(roundtrip_measure(request, &result, &error), 0);
		if (result.rounds == request->rounds)
			break;
	}
	return result;
}

static void
assert_is_whole(const struct roundtrip_request *request, const struct roundtrip_result *result)
{
	assert_int_equal(result->rounds, request->rounds);
	assert_true(result->min_ns > 0);
	assert_true(result->min_ns <= result->p50_ns && result->p50_ns <= result->p90_ns);
	assert_true(result->p90_ns <= result->max_ns);
}

static void
test_a_line_goes_both_ways_between_any_two_cpus(void **state)
{
	struct roundtrip_request request = two_cpus();
	struct roundtrip_result result;
	unsigned int first = request.cpu[0];

	(void)state;
	result = measure(&request);
	assert_is_whole(&request, &result);
	request.cpu[0] = request.cpu[1];
	request.cpu[1] = first;
	request.rounds = 1;
	result = measure(&request);
	assert_is_whole(&request, &result);
}

struct hog {
	unsigned int cpu;
	atomic_bool stop;
};

/* What a thread in poll mode does to its CPU. */
static void *
run_hog(void *context)
{
	struct hog *hog = context;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(hog->cpu, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	while (!atomic_load_explicit(&hog->stop, memory_order_relaxed))
		continue;
	return NULL;
}

static void
test_a_cpu_that_is_never_idle_takes_part(void **state)
{
	struct roundtrip_request request = two_cpus();
	struct roundtrip_result result;
	struct hog hog = { .cpu = request.cpu[1] };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_hog, &hog), 0);
	result = measure(&request);
	atomic_store(&hog.stop, true);
	pthread_join(thread, NULL);
	assert_is_whole(&request, &result);
}

static void
test_it_ends_at_its_deadline_whatever_is_missing(void **state)
{
	struct roundtrip_request request = two_cpus();
	struct roundtrip_result result;
	struct error error = { 0 };
	uint64_t before;

	(void)state;
	request.rounds = ROUNDTRIP_MOST;
	request.deadline_ns = 1;
	before = now_ns();
	assert_int_equal(roundtrip_measure(&request, &result, &error), 0);
	assert_true(now_ns() - before < 1000 * MILLISECOND_NS); /* a bound against hanging only */
	assert_true(result.rounds < ROUNDTRIP_MOST);
}

static void
test_a_cpu_that_is_not_there_is_an_error(void **state)
{
	struct roundtrip_request request = two_cpus();
	struct roundtrip_result result;
	struct error error = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		request = two_cpus();
		request.cpu[i] = ROUNDTRIP_CPUS - 1;
		assert_true(roundtrip_measure(&request, &result, &error) < 0);
		assert_string_equal(error.code, "bad-value");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_goes_both_ways_between_any_two_cpus),
		cmocka_unit_test(test_a_cpu_that_is_never_idle_takes_part),
		cmocka_unit_test(test_it_ends_at_its_deadline_whatever_is_missing),
		cmocka_unit_test(test_a_cpu_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
