/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pool.h"
#include "port.h"

#define POOL_CACHE 512
#define POOL_CACHE_LONG 128 /* of buffers for jumbo frames, which are some MB otherwise */
#define ORDINARY_MTU 1500
#define LEAST_ROOM 2048 /* several drivers want no less */
#define FRAME_OVERHEAD 18 /* Ethernet header and FCS: what the MTU does not count */

static uint16_t
clamp_ring(uint16_t asked, const struct rte_eth_desc_lim *limits)
{
	uint16_t size = asked;

	if (limits->nb_max != 0 && size > limits->nb_max)
		size = limits->nb_max;
	if (size < limits->nb_min)
		size = limits->nb_min;
	if (limits->nb_align > 1)
		size -= size % limits->nb_align;
	return size;
}

/* A stream has a sender for each of its workers on this port; all streams have no more than so many. */
static uint32_t
most_senders(const struct port *port)
{
	uint32_t each = RTE_MIN(port->workers, port->transmit_queues);

	return RTE_MIN(each * TGEN_MAX_STREAMS, (uint32_t)TGEN_MAX_PARTS);
}

static struct rte_mempool *
create_pool(const struct port *port, const char *use, uint32_t descriptors, uint16_t room,
	struct error *error)
{
	struct pool_holders holders = {
		.descriptors = descriptors,
		.lcores = rte_lcore_count(),
		.cache = room > LEAST_ROOM + PORT_TAGS ? POOL_CACHE_LONG : POOL_CACHE,
		.queues = port->receive_queues,
		.senders = most_senders(port),
		.waiting = PORT_ANSWERS,
	};
	uint32_t count = pool_size(&holders);
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];
	int socket = rte_eth_dev_socket_id(port->id);

	snprintf(name, sizeof(name), "tgen_%s_%u_%u", use, port->id, room);
	pool = rte_pktmbuf_pool_create(name, count, holders.cache, 0,
		RTE_PKTMBUF_HEADROOM + room, socket);
	if (pool == NULL)
		error_set(error, -rte_errno, "no-memory",
			"port %u: no memory for %u buffers of %u bytes (%s); reserve more hugepages",
			port->id, count, RTE_PKTMBUF_HEADROOM + room,
			rte_strerror(rte_errno));
	return pool;
}

struct rte_mempool *
port_transmit_pool(struct port *port, uint16_t length, struct error *error)
{
	const uint16_t rooms[PORT_POOLS] = {
		port->fast_free ? RTE_MAX(port->max_frame, LEAST_ROOM) : LEAST_ROOM, TGEN_MAX_FRAME,
	};
	unsigned int i = 0;

	if (length <= PORT_SHORT && !port->fast_free)
		return port->receive_pool;
	while (rooms[i] < length)
		i++;
	if (port->transmit_pool[i] == NULL)
		port->transmit_pool[i] = create_pool(port, "transmit",
			(uint32_t)port->transmit_ring * port->transmit_queues, rooms[i], error);
	return port->transmit_pool[i];
}

static void
free_pools(struct port *port)
{
	unsigned int i;

	rte_mempool_free(port->receive_pool);
	port->receive_pool = NULL;
	for (i = 0; i < PORT_POOLS; i++) {
		rte_mempool_free(port->transmit_pool[i]);
		port->transmit_pool[i] = NULL;
	}
}

static int
configure(struct port *port, const struct rte_eth_dev_info *info, struct error *error)
{
	struct rte_eth_conf conf;
	int ret;

	memset(&conf, 0, sizeof(conf));
	/* A virtio_user port takes up a switch that comes back only when it is told that the one
	 * before is gone.
	 */
	conf.intr_conf.lsc = (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
	if (port->receive_queues > 1 && info->flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads &
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
	}
	if (port->fast_free)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	ret = rte_eth_dev_configure(port->id, port->receive_queues, port->transmit_queues, &conf);
	if (ret != 0)
		return error_set(error, ret, "port-refused",
			"port %u: the driver refused %u receive and %u transmit queues (%s)",
			port->id, port->receive_queues, port->transmit_queues, rte_strerror(-ret));
	port->receive_offloads = conf.rxmode.offloads;
	port->transmit_offloads = conf.txmode.offloads;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->receive_ring, &port->transmit_ring);
	if (ret != 0 && ret != -ENOTSUP)
		return error_set(error, ret, "port-refused",
			"port %u: no ring of %u or %u descriptors (%s)", port->id,
			port->receive_ring, port->transmit_ring, rte_strerror(-ret));
	return 0;
}

/* For the longest frame; a device that cannot says so in its facts. */
static void
set_mtu(const struct port *port, const struct rte_eth_dev_info *info)
{
	uint16_t mtu = RTE_MAX(port->max_frame - FRAME_OVERHEAD, ORDINARY_MTU);

	if (info->max_mtu != 0 && mtu > info->max_mtu)
		mtu = info->max_mtu;
	rte_eth_dev_set_mtu(port->id, mtu);
}

static int
set_up_queues(struct port *port, const struct rte_eth_dev_info *info, struct error *error)
{
	struct rte_eth_txconf transmit = info->default_txconf;
	struct rte_eth_rxconf receive = info->default_rxconf;
	int socket = rte_eth_dev_socket_id(port->id);
	uint16_t queue;
	int ret;

	transmit.offloads = port->transmit_offloads;
	receive.offloads = port->receive_offloads;
	for (queue = 0; queue < port->transmit_queues; queue++) {
		ret = rte_eth_tx_queue_setup(port->id, queue, port->transmit_ring, socket,
			&transmit);
		if (ret != 0)
			return error_set(error, ret, "port-refused",
				"port %u: transmit queue %u with %u descriptors refused (%s)",
				port->id, queue, port->transmit_ring, rte_strerror(-ret));
	}
	for (queue = 0; queue < port->receive_queues; queue++) {
		ret = rte_eth_rx_queue_setup(port->id, queue, port->receive_ring, socket,
			&receive, port->receive_pool);
		if (ret != 0)
			return error_set(error, ret, "port-refused",
				"port %u: receive queue %u with %u descriptors refused (%s)",
				port->id, queue, port->receive_ring, rte_strerror(-ret));
	}
	return 0;
}

static int
start_device(struct port *port, const struct rte_eth_dev_info *info, struct error *error)
{
	int ret = configure(port, info, error);

	if (ret != 0)
		return ret;
	set_mtu(port, info);
	port->receive_pool = create_pool(port, "receive",
		(uint32_t)port->receive_ring * port->receive_queues +
		(uint32_t)port->transmit_ring * port->transmit_queues,
		RTE_MAX(port->max_frame + PORT_TAGS, LEAST_ROOM), error);
	if (port->receive_pool == NULL)
		return -ENOMEM;
	ret = set_up_queues(port, info, error);
	if (ret != 0)
		return ret;
	ret = rte_eth_dev_start(port->id);
	if (ret != 0)
		return error_set(error, ret, "port-refused", "port %u does not start (%s)",
			port->id, rte_strerror(-ret));
	/* Frames for a device under test are not addressed to us; some drivers filter nothing. */
	ret = rte_eth_promiscuous_enable(port->id);
	if (ret != 0 && ret != -ENOTSUP) {
		rte_eth_dev_stop(port->id);
		return error_set(error, ret, "port-refused",
			"port %u does not take frames for others (%s)", port->id, rte_strerror(-ret));
	}
	return 0;
}

int
port_limit_queues(uint16_t id, uint16_t *receive, uint16_t *transmit, struct error *error)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(id, &info);

	if (ret != 0)
		return error_set(error, ret, "port-refused", "port %u tells nothing of itself (%s)",
			id, rte_strerror(-ret));
	if (*receive > info.max_rx_queues)
		*receive = info.max_rx_queues;
	if (*transmit > info.max_tx_queues)
		*transmit = info.max_tx_queues;
	return 0;
}

int
port_start(struct port *port, uint16_t id, uint16_t receive_queues, uint16_t transmit_queues,
	uint16_t workers, const struct engine_options *options, struct error *error)
{
	struct rte_eth_dev_info info;
	int ret;

	ret = rte_eth_dev_info_get(id, &info);
	if (ret != 0)
		return error_set(error, ret, "port-refused", "port %u tells nothing of itself (%s)",
			id, rte_strerror(-ret));
	memset(port, 0, sizeof(*port));
	port->id = id;
	port->max_frame = options->max_frame;
	port->receive_queues = receive_queues;
	port->transmit_queues = transmit_queues;
	port->workers = workers;
	port->receive_ring = clamp_ring(options->ring, &info.rx_desc_lim);
	port->transmit_ring = clamp_ring(options->ring, &info.tx_desc_lim);
	port->shares_buffers = strcmp(info.driver_name, "net_ring") == 0 ||
		strcmp(info.driver_name, "net_memif") == 0;
	port->fast_free = !port->shares_buffers &&
		(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	ret = start_device(port, &info, error);
	if (ret != 0) {
		rte_eth_dev_close(id);
		free_pools(port);
	}
	return ret;
}

void
port_stop(struct port *port)
{
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	free_pools(port);
}

/* From DPDK 26.11 on, the buffer's size is asked for. */
static int
read_name(uint16_t id, char *name, size_t size)
{
#if RTE_VERSION >= RTE_VERSION_NUM(26, 11, 0, 0)
	return rte_eth_dev_get_name_by_port(id, name, size);
#else
	return size < RTE_ETH_NAME_MAX_LEN ? -ERANGE : rte_eth_dev_get_name_by_port(id, name);
#endif
}

/*
 * Packet sockets say that they are up whatever the device does, and take frames that it never sends:
 * the kernel is asked.
 */
static void
read_kernel_facts(unsigned int index, struct port_facts *facts)
{
	struct ifreq request = { 0 };
	int asking;

	if (index == 0 || if_indextoname(index, request.ifr_name) == NULL)
		return;
	asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (asking < 0)
		return;
	if (ioctl(asking, SIOCGIFFLAGS, &request) == 0) {
		facts->kernel_up = (request.ifr_flags & IFF_UP) != 0 &&
			(request.ifr_flags & IFF_RUNNING) != 0;
		if (ioctl(asking, SIOCGIFMTU, &request) == 0) {
			facts->kernel_mtu = (uint32_t)request.ifr_mtu;
			facts->has_kernel = true;
		}
	}
	close(asking);
}

void
port_read_facts(const struct port *port, struct port_facts *facts)
{
	struct rte_eth_rxq_info receive;
	struct rte_eth_txq_info transmit;
	struct rte_ether_addr mac;
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	memset(facts, 0, sizeof(*facts));
	facts->id = port->id;
	facts->receive_queues = port->receive_queues;
	facts->transmit_queues = port->transmit_queues;
	facts->receive_ring = port->receive_ring;
	facts->transmit_ring = port->transmit_ring;
	facts->receive_offloads = port->receive_offloads;
	facts->transmit_offloads = port->transmit_offloads;
	facts->numa_node = rte_eth_dev_socket_id(port->id);
	if (read_name(port->id, facts->name, sizeof(facts->name)) != 0)
		facts->name[0] = '\0';
	if (rte_eth_dev_info_get(port->id, &info) == 0) {
		snprintf(facts->driver, sizeof(facts->driver), "%s", info.driver_name);
		read_kernel_facts(info.if_index, facts);
	}
	if (rte_eth_macaddr_get(port->id, &mac) == 0)
		memcpy(facts->mac, mac.addr_bytes, sizeof(facts->mac));
	if (rte_eth_dev_get_mtu(port->id, &facts->mtu) != 0)
		facts->mtu = 0;
	if (rte_eth_link_get_nowait(port->id, &link) == 0) {
		facts->link_up = link.link_status != 0;
		if (link.link_speed != (uint32_t)RTE_ETH_SPEED_NUM_UNKNOWN)
			facts->link_mbps = link.link_speed;
	}
	/* A driver may round the rings that it was given, or take what the other end has. */
	if (rte_eth_rx_queue_info_get(port->id, 0, &receive) == 0 && receive.nb_desc != 0)
		facts->receive_ring = receive.nb_desc;
	if (rte_eth_tx_queue_info_get(port->id, 0, &transmit) == 0 && transmit.nb_desc != 0)
		facts->transmit_ring = transmit.nb_desc;
}
