/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _GNU_SOURCE /* CPU_COUNT */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include <rte_ethdev.h>

#include "build_info.h"
#include "control.h"
#include "options.h"
#include "signals.h"
#include "traces.h"

enum { EXIT_OK = 0, EXIT_USAGE = 2, EXIT_NOT_READY = 3, EXIT_LOST = 4 };

#define PATIENCE_MS 10000

static int
complain(int code, const struct error *error)
{
	fprintf(stderr, "tgen: %s: %s\n", error->code, error->text);
	return code;
}

static struct lcore_facts
describe_lcore(unsigned int lcore)
{
	struct lcore_facts facts = { .lcore = lcore, .cpu = -1 };
	rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&cpus) == 1; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			facts.cpu = cpu;
	return facts;
}

static void
describe_process(struct process_facts *facts, const struct engine *engine)
{
	struct timespec now;
	unsigned int lcore;

	clock_gettime(CLOCK_REALTIME, &now);
	*facts = (struct process_facts){
		.version = BUILD_VERSION,
		.build_type = BUILD_TYPE,
		.march = BUILD_MARCH,
		.compiler = BUILD_COMPILER,
		.dpdk = rte_version(),
		.tsc_hz = engine_tsc_hz(engine),
		.tsc_hz_dpdk = rte_get_tsc_hz(),
		.pid = getpid(),
		.main = describe_lcore(rte_get_main_lcore()),
		.first_trial = (uint8_t)(now.tv_nsec >> 10),
		.receive_offload = rte_eth_dev_rx_offload_name,
		.transmit_offload = rte_eth_dev_tx_offload_name,
	};
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (facts->workers == TGEN_MAX_WORKERS)
			break;
		facts->worker[facts->workers++] = describe_lcore(lcore);
	}
}

/* Everything between a ready EAL and its end. */
static int
serve(struct control *control, const struct options *options, struct signals *signals)
{
	struct process_facts facts;
	struct engine *engine;
	struct error error = { 0 };
	enum control_end end;

	engine = engine_create(&options->engine, &error);
	if (engine == NULL)
		return complain(EXIT_NOT_READY, &error);
	describe_process(&facts, engine);
	signals_serve(signals);
	end = control_run(control, engine, &facts, signals->event,
		options->exit_without_controller ? PATIENCE_MS : -1);
	engine_destroy(engine);
	switch (end) {
	case CONTROL_SIGNAL:
		return 128 + atomic_load(&signals->received);
	case CONTROL_QUIT:
		return EXIT_OK;
	default:
		return EXIT_LOST;
	}
}

static int
run_eal(struct control *control, const struct options *options, struct signals *signals,
	char **argv)
{
	struct traces traces;
	struct error error = { 0 };
	int code = EXIT_NOT_READY;

	if (rte_eal_init(options->eal_arguments, argv) < 0) {
		error_set(&error, rte_errno, "eal", "DPDK cannot start: %s",
			rte_strerror(rte_errno));
		complain(EXIT_NOT_READY, &error);
	} else {
		code = serve(control, options, signals);
	}
	traces_find(&traces);
	rte_eal_cleanup();
	traces_remove(&traces);
	return code;
}

/* A signal came while ports were still being set up: the main thread may never answer. */
static void
leave(void *context)
{
	struct traces traces;

	traces_find(&traces);
	traces_find_listeners(&traces);
	traces_remove(&traces);
	control_close(context);
}

int
main(int argc, char **argv)
{
	/* Not on the stack: the thread that waits for signals uses both until the process ends. */
	static struct signals signals;
	static struct control control;
	struct options options;
	struct error error = { 0 };
	int code, status;

	if (options_read(&options, argc, argv, &error) < 0) {
		complain(EXIT_USAGE, &error);
		fputs(OPTIONS_USAGE, stderr);
		return EXIT_USAGE;
	}
	if (options.help || options.version) {
		fputs(options.help ? OPTIONS_USAGE : "tgen " BUILD_VERSION "\n", stdout);
		return EXIT_OK;
	}
	status = options.control != NULL ? control_listen(&control, options.control, &error) :
		control_stdin(&control, &error);
	if (status < 0)
		return complain(EXIT_NOT_READY, &error);
	if (signals_start(&signals, leave, &control, &error) < 0) {
		control_close(&control);
		return complain(EXIT_NOT_READY, &error);
	}
	code = run_eal(&control, &options, &signals, argv);
	control_close(&control);
	return code;
}
