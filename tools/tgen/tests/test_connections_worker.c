/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* A worker with connections at a port of this test, which takes as many frames as a test wants it to. */

#include "unit.h"

#include <errno.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "connections_worker.h"

#define BUFFERS (CONNECTIONS_HELD + 2 * PORT_BURST)
#define ROOM (RTE_PKTMBUF_HEADROOM + 256)
#define HZ UINT64_C(1000000000) /* or so: nothing here depends on it */
#define CLIENT_IP UINT32_C(0xc6120001)
#define SERVER_IP UINT32_C(0xc6130001)
#define SETTLED 2000 /* calls to send, after which all that can pile up has done so */
#define CALLS 4000
#define LOOPED 200 /* connections over a port that gives back what it gets */

static struct worker worker;
static struct receiver receiver;
static struct connections connections;
static struct histogram lateness, looped[4];
static struct rte_mempool pool;
static struct rte_mbuf buffers[BUFFERS];
static uint8_t rooms[BUFFERS][ROOM];
static void *unused[BUFFERS];
static unsigned int left; /* of these */
static uint16_t taken; /* frames in a call, at most */
static unsigned int calls;
static uint64_t polls, busy_cycles; /* when all had settled */

static int
make(struct rte_mempool *mempool)
{
	(void)mempool;
	return 0;
}

static int
give_back(struct rte_mempool *mempool, void *const *objects, unsigned int count)
{
	(void)mempool;
	while (count-- > 0)
		unused[left++] = objects[count];
	return 0;
}

static int
take(struct rte_mempool *mempool, void **objects, unsigned int count)
{
	(void)mempool;
	if (left < count)
		return -ENOBUFS;
	while (count-- > 0)
		objects[count] = unused[--left];
	return 0;
}

static unsigned int
count_left(const struct rte_mempool *mempool)
{
	(void)mempool;
	return left;
}

static uint16_t
nothing_comes(void *queue, struct rte_mbuf **frames, uint16_t most)
{
	(void)queue;
	(void)frames;
	(void)most;
	return 0;
}

/* As many as a port has taken, in their order, of a device that gives them back. */
static struct rte_mbuf *under_way[BUFFERS];
static uint16_t under_way_count;

static uint16_t
give_frames(void *queue, struct rte_mbuf **frames, uint16_t most)
{
	uint16_t count = under_way_count < most ? under_way_count : most;

	(void)queue;
	memcpy(frames, under_way, count * sizeof(frames[0]));
	under_way_count -= count;
	memmove(under_way, under_way + count, under_way_count * sizeof(frames[0]));
	return count;
}

static uint16_t
send_back(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	(void)queue;
	memcpy(under_way + under_way_count, frames, count * sizeof(frames[0]));
	under_way_count += count;
	return count;
}

static uint16_t
take_frames(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	uint16_t i;

	(void)queue;
	for (i = 0; i < count && i < taken; i++)
		rte_pktmbuf_free(frames[i]);
	if (++calls == SETTLED) {
		polls = receiver.polls;
		busy_cycles = worker.busy_cycles;
	}
	if (calls == CALLS)
		worker_command(&worker, COMMAND_PARK);
	return i;
}

static void
prepare_port(void)
{
	static RTE_ATOMIC(void *) callbacks[1];
	static void *queues[1];
	static int ops = -1;
	unsigned int i;

	if (ops < 0)
		ops = rte_mempool_register_ops(&(struct rte_mempool_ops){
			.name = "test", .alloc = make, .enqueue = give_back, .dequeue = take,
			.get_count = count_left,
		});
	assert_true(ops >= 0);
	pool.ops_index = ops;
	left = 0;
	for (i = 0; i < BUFFERS; i++) {
		buffers[i] = (struct rte_mbuf){
			.buf_addr = rooms[i], .buf_len = ROOM, .pool = &pool, .nb_segs = 1,
		};
		rte_mbuf_refcnt_set(&buffers[i], 1);
		unused[left++] = &buffers[i];
	}
	rte_eth_fp_ops[0].rx_pkt_burst = nothing_comes;
	rte_eth_fp_ops[0].rxq.data = queues;
	rte_eth_fp_ops[0].rxq.clbk = callbacks;
	rte_eth_fp_ops[0].tx_pkt_burst = take_frames;
	rte_eth_fp_ops[0].txq.data = queues;
	rte_eth_fp_ops[0].txq.clbk = callbacks;
}

/* A client whose second connection is due in a quarter of an hour, and a flood that is always due. */
static int
begin(void **state)
{
	struct connections_port *port = &connections.port[0];
	const struct output output = { .context = port, .room = connections_room };
	const struct client_plan plan = {
		.end = {
			.first = { CLIENT_IP, 1024 }, .addresses = 1, .ports = 2, .most = 1460,
			.attempts = 1, .repeat_cycles = 1000 * HZ, .patience_cycles = HZ,
			.tsc_hz = HZ,
		},
		.target = { SERVER_IP, 80 }, .targets = 1, .requests = 1, .rate_mfps = 1,
		.intended = 2, .burst = 32,
	};
	struct error error;

	(void)state;
	prepare_port();
	memset(&connections, 0, sizeof(connections));
	memset(&worker, 0, sizeof(worker));
	receiver = (struct receiver){ .backlog_limit = UINT64_MAX };
	calls = 0;
	connections.request.client.is_here = true;
	connections.request.flood.rate_mfps = UINT64_C(100000000000);
	connections.ports = 1;
	port->short_pool = port->long_pool = &pool;
	port->client = &connections.client;
	port->flood = &connections.flood;
	port->receiver[port->receivers++] = &receiver;
	assert_int_equal(client_create(&connections.client, &plan, &connections.question,
		&connections.response, &output, rte_rdtsc(), &error), 0);
	histogram_clear(&lateness);
	connections.client.lateness = &lateness;
	connections.flood = (struct flood){
		.plan = {
			.first = { CLIENT_IP + 0x8000, 1024 }, .addresses = 256, .ports = 64512,
			.target = { SERVER_IP, 80 }, .targets = 1, .tsc_hz = HZ, .most = 1460,
			.rate_mfps = connections.request.flood.rate_mfps, .burst = 32,
		},
		.output = output,
	};
	worker.connections = &connections;
	worker.ten_us = HZ / 100000;
	worker_command(&worker, COMMAND_CONNECTIONS);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	client_destroy(&connections.client);
	assert_int_equal(left, BUFFERS); /* none is lost, and none given back twice */
	return 0;
}

static void
a_port_that_takes_less_than_a_flood_is_still_listened_to(void **state)
{
	(void)state;
	taken = 1;
	connections_run(&worker);
	assert_true(connections.flood.counts.sent > CALLS / 2);
	assert_true(receiver.polls > polls);
	assert_int_equal(connections.client.counts.outcome[CLIENT_GIVEN_UP], 1);
}

static void
who_sends_a_flood_is_busy(void **state)
{
	(void)state;
	taken = PORT_BURST;
	connections_run(&worker);
	assert_int_equal(connections.client.end.counts.sent, 1);
	assert_true(worker.busy_cycles > busy_cycles);
}

/* Both ends at one port, which gives back what it gets. */
static void
begin_both(enum transport transport)
{
	struct connections_port *port = &connections.port[0];
	const struct output output = { .context = port, .room = connections_room };
	const struct client_plan client = {
		.end = {
			.transport = transport, .first = { CLIENT_IP, 1024 }, .addresses = 1,
			.ports = LOOPED, .most = 1460, .attempts = 8, .repeat_cycles = 10 * HZ,
			.patience_cycles = 100 * HZ, .tsc_hz = HZ,
		},
		.target = { SERVER_IP, 80 }, .targets = 1, .requests = 2,
		.rate_mfps = UINT64_C(1000000000), .intended = LOOPED, .burst = 8,
	};
	struct server_plan server = { .end = client.end, .capacity = LOOPED };
	struct error error;
	unsigned int i;

	assert_int_equal(begin(NULL), 0);
	client_destroy(&connections.client);
	connections.request.transport = transport;
	connections.request.flood.rate_mfps = 0;
	connections.request.server.is_here = true;
	connections.drain_cycles = connections.quiet_cycles = 1000 * HZ;
	port->flood = NULL;
	port->server = &connections.server;
	server.end.first = client.target;
	server.end.ports = 1;
	assert_int_equal(content_create(&connections.question, CONTENT_BYTES, true, 60, &error), 0);
	assert_int_equal(content_create(&connections.response, CONTENT_BYTES, false, 90, &error), 0);
	assert_int_equal(client_create(&connections.client, &client, &connections.question,
		&connections.response, &output, rte_rdtsc(), &error), 0);
	assert_int_equal(server_create(&connections.server, &server, &connections.response,
		&connections.question, &output, rte_rdtsc(), &error), 0);
	for (i = 0; i < 4; i++)
		histogram_clear(&looped[i]);
	connections.client.handshake = &looped[0];
	connections.client.first = &looped[1];
	connections.client.response = &looped[2];
	connections.client.lateness = &looped[3];
	rte_eth_fp_ops[0].rx_pkt_burst = give_frames;
	rte_eth_fp_ops[0].tx_pkt_burst = send_back;
}

static void
connections_of_either_kind_come_to_their_end_over_a_port(void **state)
{
	enum transport transport;

	(void)state;
	for (transport = TRANSPORT_TCP; transport <= TRANSPORT_UDP; transport++) {
		begin_both(transport);
		connections_run(&worker);
		assert_true(connections.settled);
		assert_int_equal(connections.client.counts.outcome[CLIENT_COMPLETED], LOOPED);
		assert_int_equal(connections.server.counts.requests, 2 * LOOPED);
		assert_int_equal(connections.client.end.counts.received,
			connections.server.end.counts.sent);
		assert_int_equal(receiver.foreign, 0);
		assert_int_equal(under_way_count, 0);
		assert_int_equal(left, BUFFERS);
		client_destroy(&connections.client);
		server_destroy(&connections.server);
		content_destroy(&connections.question);
		content_destroy(&connections.response);
	}
}

/* One that is damaged, one of TCP where all are of UDP, and one that is nobody's. */
static void
frames_that_are_not_theirs_are_counted_as_what_they_are(void **state)
{
	const struct packet_end client = { CLIENT_IP, 1024 }, server = { SERVER_IP, 80 };
	const struct segment segment = { .source = client, .destination = server };
	const struct datagram datagram = { .source = client, .destination = { SERVER_IP + 1, 80 } };
	const struct datagram damaged = { .source = client, .destination = server };
	struct rte_mbuf *frame[3];
	unsigned int i;

	(void)state;
	begin_both(TRANSPORT_UDP);
	for (i = 0; i < 3; i++) {
		frame[i] = rte_pktmbuf_alloc(&pool);
		frame[i]->data_len = PACKET_SHORTEST;
		frame[i]->pkt_len = PACKET_SHORTEST;
	}
	segment_write(rte_pktmbuf_mtod(frame[0], uint8_t *), &(struct packet_macs){ 0 }, &segment);
	datagram_write(rte_pktmbuf_mtod(frame[1], uint8_t *), &(struct packet_macs){ 0 },
		&datagram);
	datagram_write(rte_pktmbuf_mtod(frame[2], uint8_t *), &(struct packet_macs){ 0 }, &damaged);
	rte_pktmbuf_mtod(frame[2], uint8_t *)[40] ^= 1;
	send_back(NULL, frame, 3);
	connections_run(&worker);
	assert_int_equal(connections.client.counts.outcome[CLIENT_COMPLETED], LOOPED);
	assert_int_equal(receiver.foreign, 2);
	assert_int_equal(receiver.corrupted, 1);
	server_destroy(&connections.server);
	content_destroy(&connections.question);
	content_destroy(&connections.response);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_port_that_takes_less_than_a_flood_is_still_listened_to, begin, end),
		cmocka_unit_test_setup_teardown(who_sends_a_flood_is_busy, begin, end),
		cmocka_unit_test(connections_of_either_kind_come_to_their_end_over_a_port),
		cmocka_unit_test_teardown(frames_that_are_not_theirs_are_counted_as_what_they_are,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
