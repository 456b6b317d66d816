/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <rte_ethdev.h>

#include "captures.h"
#include "collect.h"
#include "connections_end.h"
#include "engine_private.h"
#include "loop.h"
#include "prepare.h"
#include "turns_end.h"
#include "workers.h"

static int
start_ports(struct engine *engine, const struct engine_options *options, struct error *error)
{
	uint16_t id;
	int ret;

	RTE_ETH_FOREACH_DEV(id) {
		uint16_t receive = options->queues, transmit = options->queues;

		if (engine->ports == TGEN_MAX_PORTS)
			return error_set(error, -E2BIG, "too-many-ports", "more than %u ports",
				TGEN_MAX_PORTS);
		ret = port_limit_queues(id, &receive, &transmit, error);
		if (ret == 0)
			ret = port_start(&engine->port[engine->ports], id, receive, transmit,
				(uint16_t)engine_transmitters(engine), options, error);
		if (ret != 0)
			return ret;
		engine->ports++;
		engine->receivers += receive;
	}
	if (engine->ports == 0)
		return error_set(error, -ENODEV, "no-ports",
			"EAL found no port: name some with --vdev or --allow");
	return 0;
}

/* Queues of all ports in a row go to the receiving workers in turn. */
static int
share_receivers(struct engine *engine, struct error *error)
{
	unsigned int port, queue, number = 0;

	engine->receiver = rte_zmalloc("receivers",
		engine->receivers * sizeof(*engine->receiver), RTE_CACHE_LINE_SIZE);
	if (engine->receiver == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for %u receive queues",
			engine->receivers);
	for (port = 0; port < engine->ports; port++) {
		for (queue = 0; queue < engine->port[port].receive_queues; queue++, number++) {
			struct worker *worker = engine_receiver(engine, number);

			if (worker->receivers == WORKER_MAX_QUEUES)
				return error_set(error, -E2BIG, "too-many-queues",
					"more than %u receive queues for a worker",
					WORKER_MAX_QUEUES);
			engine->receiver[number].port = (uint16_t)port;
			engine->receiver[number].device = engine->port[port].id;
			engine->receiver[number].queue = (uint16_t)queue;
			engine->receiver[number].listening = &engine->listening[port];
			worker->receiver[worker->receivers++] = &engine->receiver[number];
		}
	}
	return 0;
}

static int
create_workers(struct engine *engine, struct error *error)
{
	unsigned int lcore;

	RTE_LCORE_FOREACH_WORKER(lcore) {
		struct worker *worker;

		if (engine->workers == TGEN_MAX_WORKERS)
			break;
		worker = rte_zmalloc_socket("worker", sizeof(*worker), RTE_CACHE_LINE_SIZE,
			(int)rte_lcore_to_socket_id(lcore));
		if (worker == NULL)
			return error_set(error, -ENOMEM, "no-memory", "no memory for a worker");
		worker->lcore = lcore;
		engine->worker[engine->workers++] = worker;
	}
	if (engine->workers == 0)
		return error_set(error, -EINVAL, "no-workers",
			"no worker lcore: give EAL one beside the main lcore, such as "
			"--lcores=0@0,1@0 where both share a CPU");
	return 0;
}

static int
launch_workers(struct engine *engine, struct error *error)
{
	unsigned int i;
	int ret;

	for (i = 0; i < engine->workers; i++) {
		struct worker *worker = engine->worker[i];

		worker_command(worker, COMMAND_PARK);
		worker->state = STATE_BUSY; /* until it says that it is parked */
		ret = rte_eal_remote_launch(loop_main, worker, worker->lcore);
		if (ret != 0) {
			worker->state = STATE_GONE;
			return error_set(error, ret, "worker-lost", "lcore %u does not start",
				worker->lcore);
		}
	}
	if (!engine_park(engine))
		return error_set(error, -EIO, "worker-lost", "a worker does not answer");
	return 0;
}

struct engine *
engine_create(const struct engine_options *options, struct error *error)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	unsigned int i;

	if (engine == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory for the engine");
		return NULL;
	}
	if (clock_begin(&engine->created, error) != 0 || create_workers(engine, error) != 0 ||
			start_ports(engine, options, error) != 0 ||
			share_receivers(engine, error) != 0 ||
			launch_workers(engine, error) != 0) {
		engine_destroy(engine);
		return NULL;
	}
	engine->tsc_hz = clock_calibrate(&engine->created);
	engine->result.tsc_hz = engine->tsc_hz;
	for (i = 0; i < engine->workers; i++)
		engine->worker[i]->ten_us = engine->tsc_hz / 100000;
	return engine;
}

uint64_t
engine_tsc_hz(const struct engine *engine)
{
	return engine->tsc_hz;
}

void
engine_destroy(struct engine *engine)
{
	unsigned int i;

	if (engine == NULL)
		return;
	/* Before ports are closed: the other side of one has to run for that. */
	turns_release(engine);
	for (i = 0; i < engine->workers; i++)
		worker_command(engine->worker[i], COMMAND_QUIT);
	for (i = 0; i < engine->workers; i++)
		rte_eal_wait_lcore(engine->worker[i]->lcore);
	turns_finish(engine);
	turns_free(engine);
	connections_free(engine);
	captures_forget(engine);
	listen_forget(engine);
	respond_free(engine);
	prepare_free(engine);
	collect_free(engine);
	for (i = 0; i < engine->ports; i++)
		port_stop(&engine->port[i]);
	for (i = 0; i < engine->workers; i++) {
		free(engine->worker[i]->gaps);
		rte_free(engine->worker[i]);
	}
	rte_free(engine->receiver);
	free(engine);
}

uint16_t
engine_ports(const struct engine *engine)
{
	return engine->ports;
}

void
engine_port_facts(const struct engine *engine, uint16_t port, struct port_facts *facts)
{
	port_read_facts(&engine->port[port], facts);
	facts->id = port;
}

int
engine_configure(struct engine *engine, const struct traffic *traffic, struct error *error)
{
	int ret = engine_check_idle(engine, error);
	struct error ignored;

	if (ret != 0)
		return ret;
	ret = prepare_traffic(engine, traffic, error);
	if (ret == 0)
		ret = respond_prepare(engine, error);
	if (ret == 0)
		return 0;
	/* Half a traffic is none, and nobody answers any more for the one before. */
	prepare_free(engine);
	respond_prepare(engine, &ignored);
	return ret;
}
