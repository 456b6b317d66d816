/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include <rte_ethdev.h>

#include "engine_private.h"
#include "respond.h"
#include "workers.h"

#define IDLE_BURSTS 32 /* of a queue in one look: a switch may flood us for ever */

/* The answer as a frame, or NULL: nobody asked for one of us, or there is no buffer. */
static struct rte_mbuf *
make_answer(const struct answers *answers, const struct rte_mbuf *request)
{
	uint8_t copy[NEIGHBOURS_REQUEST], answer[NEIGHBOURS_ANSWER];
	uint16_t length = (uint16_t)RTE_MIN(request->pkt_len, (uint32_t)NEIGHBOURS_REQUEST);
	const uint8_t *bytes = rte_pktmbuf_read(request, 0, length, copy);
	struct rte_mbuf *buffer;

	length = neighbours_answer(&answers->neighbours, bytes, length, answer);
	if (length == 0)
		return NULL;
	buffer = rte_pktmbuf_alloc(answers->pool);
	if (buffer == NULL)
		return NULL;
	buffer->hash.usr = 0; /* holds no stream's fill bytes any more */
	memcpy(rte_pktmbuf_mtod(buffer, void *), answer, length);
	buffer->data_len = length;
	buffer->pkt_len = length;
	return buffer;
}

bool
respond_to(const struct receiver *receiver, const struct rte_mbuf *request)
{
	struct answers *answers = receiver->answers;
	struct rte_mbuf *answer = make_answer(answers, request);

	if (answer == NULL)
		return false;
	if (rte_ring_enqueue(answers->ring, answer) == 0)
		return true;
	rte_pktmbuf_free(answer);
	return false;
}

/* What the port does not take is asked for again. */
static void
send_answers(uint16_t port, struct rte_mbuf **answer, unsigned int count)
{
	uint16_t taken = rte_eth_tx_burst(port, 0, answer, (uint16_t)count);

	if (taken != count)
		rte_pktmbuf_free_bulk(answer + taken, count - taken);
}

static void
send_waiting(struct answers *answers)
{
	struct rte_mbuf *answer[PORT_BURST];
	unsigned int count = rte_ring_dequeue_burst(answers->ring, (void **)answer, PORT_BURST,
		NULL);

	if (count != 0)
		send_answers(answers->port, answer, count);
}

void
respond_send(struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < worker->answering; i++)
		send_waiting(worker->answers[i]);
}

static bool
look_at(const struct receiver *receiver)
{
	struct rte_mbuf *request[PORT_BURST], *answer[PORT_BURST];
	uint16_t count = rte_eth_rx_burst(receiver->device, receiver->queue, request, PORT_BURST);
	unsigned int answers = 0, i;

	if (listening_is_on(receiver->listening))
		listening_add(receiver->listening, request, count, rte_rdtsc());
	for (i = 0; i < count && receiver->answers != NULL; i++) {
		answer[answers] = make_answer(receiver->answers, request[i]);
		answers += answer[answers] != NULL;
	}
	if (answers != 0)
		send_answers(receiver->device, answer, answers);
	if (count != 0)
		rte_pktmbuf_free_bulk(request, count);
	return count == PORT_BURST;
}

void
respond_idle(struct engine *engine)
{
	unsigned int i, bursts;

	if (!(engine->responder.on || engine_listens(engine)) || !engine_parked(engine))
		return;
	/* Those that a trial left behind go first. */
	for (i = 0; i < engine->ports && engine->responder.on; i++)
		send_waiting(engine->answers[i]);
	for (i = 0; i < engine->receivers; i++)
		for (bursts = 0; bursts < IDLE_BURSTS; bursts++)
			if (!look_at(&engine->receiver[i]))
				break;
}

static int
create_answers(struct engine *engine, unsigned int index, struct error *error)
{
	struct answers *answers = calloc(1, sizeof(*answers));
	char name[RTE_RING_NAMESIZE];

	if (answers == NULL)
		return error_set(error, -ENOMEM, "no-memory", "no memory for the responder");
	engine->answers[index] = answers;
	answers->port = engine->port[index].id;
	answers->pool = port_transmit_pool(&engine->port[index], NEIGHBOURS_ANSWER, error);
	if (answers->pool == NULL)
		return -ENOMEM;
	snprintf(name, sizeof(name), "tgen_answers_%u", answers->port);
	answers->ring = rte_ring_create(name, PORT_ANSWERS, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (answers->ring == NULL)
		return error_set(error, -rte_errno, "no-memory",
			"no memory for answers of port %u (%s)", answers->port,
			rte_strerror(rte_errno));
	return 0;
}

void
respond_free(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->workers; i++)
		engine->worker[i]->answering = 0;
	for (i = 0; i < engine->receivers && engine->receiver != NULL; i++)
		engine->receiver[i].answers = NULL;
	for (i = 0; i < engine->ports; i++) {
		struct rte_mbuf *answer;

		if (engine->answers[i] == NULL)
			continue;
		while (engine->answers[i]->ring != NULL &&
				rte_ring_dequeue(engine->answers[i]->ring, (void **)&answer) == 0)
			rte_pktmbuf_free(answer);
		rte_ring_free(engine->answers[i]->ring);
		free(engine->answers[i]);
		engine->answers[i] = NULL;
	}
}

/* Each receiver to its port's answers, and these to the worker that sends on the first queue. */
static void
share_answers(struct engine *engine)
{
	unsigned int port, i, queue = 0;

	for (port = 0; port < engine->ports; port++) {
		struct answers *answers = engine->answers[port];
		struct worker *worker = engine_transmitter(engine, queue);

		neighbours_fill(&answers->neighbours, (uint16_t)port, &engine->responder,
			&engine->traffic);
		worker->answers[worker->answering++] = answers;
		for (i = 0; i < engine->receivers; i++)
			if (engine->receiver[i].port == port)
				engine->receiver[i].answers = answers;
		queue += engine->port[port].transmit_queues;
	}
}

int
respond_prepare(struct engine *engine, struct error *error)
{
	unsigned int port;
	int ret;

	respond_free(engine);
	if (!engine->responder.on)
		return 0;
	for (port = 0; port < engine->ports; port++) {
		ret = create_answers(engine, port, error);
		if (ret != 0) {
			respond_free(engine);
			engine->responder.on = false;
			return ret;
		}
	}
	share_answers(engine);
	return 0;
}

int
engine_respond(struct engine *engine, const struct responder *responder, struct error *error)
{
	int ret = engine_check_idle(engine, error);

	if (ret != 0)
		return ret;
	engine->responder = *responder;
	return respond_prepare(engine, error);
}
