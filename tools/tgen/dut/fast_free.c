/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * Loaded before DPDK, this makes every port one that frees fast (MBUF_FAST_FREE), as many network
 * NICs are and no virtual port is, and holds whoever uses it to what it promises in return: all
 * buffers of a queue are of one pool, and nobody else's. It aborts when one is not.
 */

#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define FAST_FREE RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE

typedef int (*info_get)(uint16_t port, struct rte_eth_dev_info *info);
typedef int (*configure)(uint16_t port, uint16_t receive_queues, uint16_t transmit_queues,
	const struct rte_eth_conf *conf);
typedef int (*set_up)(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned int socket,
	const struct rte_eth_txconf *conf);

int
rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	int ret = ((info_get)dlsym(RTLD_NEXT, "rte_eth_dev_info_get"))(port, info);

	info->tx_offload_capa |= FAST_FREE;
	return ret;
}

/* Drivers and DPDK itself are not to hear of it. */
int
rte_eth_dev_configure(uint16_t port, uint16_t receive_queues, uint16_t transmit_queues,
	const struct rte_eth_conf *conf)
{
	struct rte_eth_conf plain = *conf;

	plain.txmode.offloads &= ~FAST_FREE;
	return ((configure)dlsym(RTLD_NEXT, "rte_eth_dev_configure"))(port, receive_queues,
		transmit_queues, &plain);
}

static uint16_t
check(uint16_t port, uint16_t queue, struct rte_mbuf *buffers[], uint16_t count, void *context)
{
	struct rte_mempool **pool = context;
	uint16_t i;

	for (i = 0; i < count; i++) {
		const struct rte_mbuf *buffer = buffers[i];

		if (*pool == NULL)
			*pool = buffer->pool;
		if (buffer->pool == *pool && rte_mbuf_refcnt_read(buffer) == 1 &&
				buffer->nb_segs == 1 && buffer->next == NULL &&
				RTE_MBUF_DIRECT(buffer))
			continue;
		fprintf(stderr, "port %u, queue %u cannot free a buffer of %s fast after one of %s\n",
			port, queue, buffer->pool->name, (*pool)->name);
		abort();
	}
	return count;
}

int
rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned int socket,
	const struct rte_eth_txconf *conf)
{
	static struct rte_mempool *pools[RTE_MAX_ETHPORTS][64];
	struct rte_eth_txconf plain = *conf;
	bool is_fast = (plain.offloads & FAST_FREE) != 0;
	int ret;

	plain.offloads &= ~FAST_FREE;
	ret = ((set_up)dlsym(RTLD_NEXT, "rte_eth_tx_queue_setup"))(port, queue, descriptors, socket,
		&plain);
	if (ret == 0 && is_fast)
		rte_eth_add_tx_callback(port, queue, check, &pools[port][queue]);
	return ret;
}
