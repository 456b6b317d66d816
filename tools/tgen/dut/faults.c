/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * Loaded before DPDK, this has every port fail at what the variable TGEN_FAULT names.
 *   full         takes nothing between two times after its first frame, TGEN_FULL=FROM-TO in ms
 *   silent       keeps who looks for frames once, TGEN_SILENT=FRAMES:MS: in the look that brings
 *                that many in all, for so long
 *   count        misses 100 frames more each time that it is asked for its counters
 *   count-first  the same, and fails each first time of two; count-second: each second time
 *   tsc          nothing; but DPDK takes the TSC for 5 % faster than it is
 *   clock        nothing; but neither processor nor kernel say that the TSC is constant
 */

#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

typedef FILE *(*open_file)(const char *path, const char *mode);
typedef int (*enable)(uint16_t port);
typedef int (*stats_get)(uint16_t port, struct rte_eth_stats *stats);
typedef int (*set_up)(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned int socket,
	const struct rte_eth_txconf *conf);
typedef int (*set_up_receive)(uint16_t port, uint16_t queue, uint16_t descriptors,
	unsigned int socket, const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
typedef uint64_t (*tsc_hz)(void);
typedef int (*set_mtu)(uint16_t port, uint16_t mtu);

static bool
fails(const char *what)
{
	const char *fault = getenv("TGEN_FAULT");

	return fault != NULL && strcmp(fault, what) == 0;
}

static uint16_t
refuse(uint16_t port, uint16_t queue, struct rte_mbuf *buffers[], uint16_t count, void *context)
{
	static uint64_t first, from_ms, to_ms;
	uint64_t ms;

	if (first == 0) {
		first = rte_rdtsc();
		sscanf(getenv("TGEN_FULL"), "%" SCNu64 "-%" SCNu64, &from_ms, &to_ms);
	}
	ms = (rte_rdtsc() - first) * 1000 / rte_get_tsc_hz();
	(void)port, (void)queue, (void)buffers, (void)context;
	return ms >= from_ms && ms < to_ms ? 0 : count;
}

int
rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned int socket,
	const struct rte_eth_txconf *conf)
{
	int ret = ((set_up)dlsym(RTLD_NEXT, "rte_eth_tx_queue_setup"))(port, queue, descriptors,
		socket, conf);

	if (ret == 0 && fails("full"))
		rte_eth_add_tx_callback(port, queue, refuse, NULL);
	return ret;
}

static uint16_t
keep(uint16_t port, uint16_t queue, struct rte_mbuf *buffers[], uint16_t count, uint16_t most,
	void *context)
{
	static uint64_t seen, frames;
	static unsigned int ms;
	static bool kept;

	(void)port, (void)queue, (void)buffers, (void)most, (void)context;
	if (ms == 0)
		sscanf(getenv("TGEN_SILENT"), "%" SCNu64 ":%u", &frames, &ms);
	seen += count;
	if (!kept && seen >= frames) {
		kept = true;
		rte_delay_us_sleep(1000 * ms);
	}
	return count;
}

int
rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned int socket,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	int ret = ((set_up_receive)dlsym(RTLD_NEXT, "rte_eth_rx_queue_setup"))(port, queue,
		descriptors, socket, conf, pool);

	if (ret == 0 && fails("silent"))
		rte_eth_add_rx_callback(port, queue, keep, NULL);
	return ret;
}

uint64_t
rte_get_tsc_hz(void)
{
	uint64_t hz = ((tsc_hz)dlsym(RTLD_NEXT, "rte_get_tsc_hz"))();

	return fails("tsc") ? hz / 20 * 21 : hz;
}

FILE *
fopen(const char *path, const char *mode)
{
	static char cpuinfo[] = "flags\t\t: fpu tsc msr rep_good\n", clocksource[] = "hpet\n";

	if (fails("clock") && strcmp(path, "/proc/cpuinfo") == 0)
		return fmemopen(cpuinfo, strlen(cpuinfo), "r");
	if (fails("clock") && strstr(path, "/current_clocksource") != NULL)
		return fmemopen(clocksource, strlen(clocksource), "r");
	return ((open_file)dlsym(RTLD_NEXT, "fopen"))(path, mode);
}

int
rte_eth_promiscuous_enable(uint16_t port)
{
	if (fails("promiscuous"))
		return -EIO;
	return ((enable)dlsym(RTLD_NEXT, "rte_eth_promiscuous_enable"))(port);
}

/* What it leaves behind then is nobody's count. */
int
rte_eth_stats_get(uint16_t port, struct rte_eth_stats *stats)
{
	static unsigned int asked[RTE_MAX_ETHPORTS];
	bool counts_first = fails("count-second"), counts_second = fails("count-first");
	bool is_first = asked[port]++ % 2 == 0;
	int ret;

	if (fails("stats") || (counts_second && is_first) || (counts_first && !is_first)) {
		memset(stats, 0x5a, sizeof(*stats));
		return -EIO;
	}
	ret = ((stats_get)dlsym(RTLD_NEXT, "rte_eth_stats_get"))(port, stats);
	if (ret == 0 && (fails("count") || counts_first || counts_second))
		stats->imissed += 100 * asked[port];
	return ret;
}

int
rte_eth_dev_set_mtu(uint16_t port, uint16_t mtu)
{
	if (fails("mtu"))
		return -EINVAL;
	return ((set_mtu)dlsym(RTLD_NEXT, "rte_eth_dev_set_mtu"))(port, mtu);
}
