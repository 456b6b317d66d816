/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * A reference DUT: a forwarder between two ports that does known wrong to known frames, and writes
 * down what it did. tgen is held against it.
 *
 *     tgen-dut [EAL options] -- --report PATH [--period N] [--rule ACTION=OFFSET[:ARGUMENT]]...
 *                               [--delay NS[,NS]] [--work N]
 *
 * With --work it multiplies N times more for each 8 frames, and so is slower than it need be.
 * With one port it returns frames where they came from. It ends on SIGINT or SIGTERM.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "forward.h"

#define BUFFERS (4 * DUT_LINE)
#define RING 1024

/* A signal handler has no other way to reach the loop. */
static RTE_ATOMIC(bool) stopped;

static void
on_signal(int number)
{
	(void)number;
	rte_atomic_store_explicit(&stopped, true, rte_memory_order_relaxed); /* read by forward_run */
}

struct options {
	const char *report;
	uint64_t delay_ns[DUT_MAX_PORTS];
	uint32_t work;
};

static int
read_delay(const char *text, struct options *options)
{
	char rest;
	int found = sscanf(text, "%" SCNu64 ",%" SCNu64 "%c", &options->delay_ns[0],
		&options->delay_ns[1], &rest);

	if (found == 1)
		options->delay_ns[1] = options->delay_ns[0];
	return found == 1 || found == 2 ? 0 : -EINVAL;
}

static int
read_options(int argc, char **argv, struct options *options, struct rules *rules)
{
	static const struct option known[] = {
		{ "report", required_argument, NULL, 'o' },
		{ "period", required_argument, NULL, 'p' },
		{ "rule", required_argument, NULL, 'r' },
		{ "delay", required_argument, NULL, 'd' },
		{ "work", required_argument, NULL, 'w' },
		{ 0 },
	};
	int letter, ret = 0;

	rules->period = 1;
	while (ret == 0 && (letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (letter) {
		case 'o':
			options->report = optarg;
			break;
		case 'p':
			rules->period = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			ret = rules_add(rules, optarg);
			break;
		case 'd':
			ret = read_delay(optarg, options);
			break;
		case 'w':
			options->work = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		default:
			ret = -EINVAL;
		}
	}
	if (ret != 0 || options->report == NULL || optind != argc)
		return -EINVAL;
	return rules_prepare(rules);
}

static int
start_port(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = { 0 };
	uint16_t receive = RING, transmit = RING;
	int ret;

	ret = rte_eth_dev_configure(port, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &transmit);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port, 0, receive, SOCKET_ID_ANY, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port, 0, transmit, SOCKET_ID_ANY, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(port);
	if (ret == 0)
		rte_eth_promiscuous_enable(port); /* virtual ports may not know it, nor need it */
	return ret;
}

static int
start(struct dut *dut, const struct options *options)
{
	uint16_t port;
	int ret = 0;

	dut->work = options->work;
	dut->ports = rte_eth_dev_count_avail();
	if (dut->ports == 0 || dut->ports > DUT_MAX_PORTS)
		return -ENODEV;
	dut->pool = rte_pktmbuf_pool_create("frames", BUFFERS, 256, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (dut->pool == NULL)
		return -ENOMEM;
	for (port = 0; port < dut->ports && ret == 0; port++) {
		dut->delay_cycles[port] = (uint64_t)((double)options->delay_ns[port] *
			(double)rte_get_tsc_hz() / 1e9);
		dut->line[port] = rte_zmalloc("line", sizeof(struct line), 0);
		ret = dut->line[port] == NULL ? -ENOMEM : start_port(port, dut->pool);
	}
	return ret;
}

static double
to_ns(uint64_t cycles)
{
	return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

static void
report_port(FILE *file, const struct record *record)
{
	unsigned int action;

	fprintf(file, "{\"received\": %" PRIu64 ", \"other\": %" PRIu64 ", \"sent\": %" PRIu64
		", \"kept\": %" PRIu64, record->received, record->other, record->sent, record->kept);
	for (action = 0; action < ACTION_KINDS; action++)
		fprintf(file, ", \"%s\": %" PRIu64, action_name(action), record->done[action]);
	if (record->delayed != 0)
		fprintf(file, ", \"held_ns\": {\"least\": %.1f, \"mean\": %.1f, \"most\": %.1f}",
			to_ns(record->held_least),
			to_ns(record->held_cycles) / (double)record->delayed,
			to_ns(record->held_most));
	fprintf(file, "}");
}

static int
report(const struct dut *dut, const char *path)
{
	FILE *file = fopen(path, "w");
	uint16_t port;

	if (file == NULL)
		return -errno;
	fprintf(file, "{\"ports\": [");
	for (port = 0; port < dut->ports; port++) {
		fprintf(file, port == 0 ? "" : ", ");
		report_port(file, &dut->record[port]);
	}
	fprintf(file, "]}\n");
	return fclose(file) == 0 ? 0 : -errno;
}

static void
finish(struct dut *dut)
{
	uint16_t port;

	for (port = 0; port < dut->ports && port < DUT_MAX_PORTS; port++) {
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
		rte_free(dut->line[port]);
	}
	rules_free(&dut->rules);
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct options options = { 0 };
	struct dut dut = { 0 };
	int taken, ret;

	taken = rte_eal_init(argc, argv);
	if (taken < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (read_options(argc - taken, argv + taken, &options, &dut.rules) != 0)
		rte_exit(2, "usage: tgen-dut [EAL options] -- --report PATH [--period N] "
			"[--rule ACTION=OFFSET[:ARGUMENT]]... [--delay NS[,NS]] [--work N]\n");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	ret = start(&dut, &options);
	if (ret == 0) {
		forward_run(&dut, &stopped);
		ret = report(&dut, options.report);
	}
	finish(&dut);
	rte_eal_cleanup();
	if (ret != 0)
		fprintf(stderr, "tgen-dut: %s\n", strerror(-ret));
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
