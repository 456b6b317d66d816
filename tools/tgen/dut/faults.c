/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Loaded before DPDK, this has every port fail at what the variable TGEN_FAULT names. */

#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

typedef int (*enable)(uint16_t port);
typedef int (*stats_get)(uint16_t port, struct rte_eth_stats *stats);
typedef int (*set_mtu)(uint16_t port, uint16_t mtu);

static bool
fails(const char *what)
{
	const char *fault = getenv("TGEN_FAULT");

	return fault != NULL && strcmp(fault, what) == 0;
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
	if (fails("stats")) {
		memset(stats, 0x5a, sizeof(*stats));
		return -EIO;
	}
	return ((stats_get)dlsym(RTLD_NEXT, "rte_eth_stats_get"))(port, stats);
}

int
rte_eth_dev_set_mtu(uint16_t port, uint16_t mtu)
{
	if (fails("mtu"))
		return -EINVAL;
	return ((set_mtu)dlsym(RTLD_NEXT, "rte_eth_dev_set_mtu"))(port, mtu);
}
