/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Connections over a wire that does nothing wrong, and over one that does everything wrong. */

#include "wire.h"

#include "bytes.h"

static uint64_t
completed(const struct wire *wire)
{
	return wire->client.counts.outcome[CLIENT_COMPLETED];
}

static void
test_every_connection_is_opened_served_and_closed(void **state)
{
	struct client_plan plan = wire_client_plan(5000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	const struct server_counts *server = &wire->server.counts;

	(void)state;
	wire_run(wire, 5);
	assert_int_equal(completed(wire), 5000);
	assert_int_equal(server->outcome[SERVER_CLOSED], 5000);
	assert_int_equal(server->established, 5000);
	assert_int_equal(server->requests, 5000);
	assert_int_equal(wire->client.counts.response_bytes, 5000);
	/* SYN, request, FIN and the last acknowledgement; SYN-ACK, response, FIN. */
	assert_int_equal(wire->client.end.counts.sent, 4 * 5000);
	assert_int_equal(wire->server.end.counts.sent, 3 * 5000);
	assert_int_equal(wire->client.end.counts.received, 3 * 5000);
	assert_int_equal(wire->client.end.counts.repeated, 0);
	assert_int_equal(wire->client.end.counts.stray, 0);
	wire_destroy(wire);
}

static void
test_times_count_from_when_a_syn_was_due(void **state)
{
	struct client_plan plan = wire_client_plan(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 100, 100);

	(void)state;
	wire->delay = 20 * WIRE_STEP;
	wire_run(wire, 5);
	/* Steps are 100 us, and so late a SYN is at most. */
	assert_uint_in_range(wire->histogram[0].minimum, 40 * WIRE_STEP, 42 * WIRE_STEP);
	assert_uint_in_range(wire->histogram[0].maximum, 40 * WIRE_STEP, 44 * WIRE_STEP);
	assert_uint_in_range(wire->histogram[1].minimum, 80 * WIRE_STEP, 84 * WIRE_STEP);
	assert_uint_in_range(wire->histogram[2].maximum, 40 * WIRE_STEP, 44 * WIRE_STEP);
	wire_destroy(wire);
}

static void
test_a_client_that_was_away_counts_the_time_that_its_syns_were_late(void **state)
{
	struct client_plan plan = wire_client_plan(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);

	(void)state;
	client_begin(&wire->client, wire->now);
	wire->now += WIRE_HZ / 10;
	wire_run(wire, 0); /* begins anew, and ends */
	client_begin(&wire->client, wire->now);
	wire->now += WIRE_HZ / 2;
	client_launch(&wire->client, wire->now);
	/* The first one was due at once; and no more than a burst leaves. */
	assert_int_equal(wire->client.counts.launched, plan.burst);
	assert_int_equal(wire->histogram[3].maximum, WIRE_HZ / 2);
	client_launch(&wire->client, wire->now);
	assert_int_equal(wire->client.counts.launched, plan.burst);
	client_pause(&wire->client, WIRE_HZ);
	wire->now += WIRE_HZ / 10;
	client_launch(&wire->client, wire->now);
	assert_int_equal(wire->client.counts.launched, plan.burst);
	client_end(&wire->client, wire->now, 0, UINT32_MAX);
	wire_destroy(wire);
}

static void
test_long_messages_go_in_segments_and_many_requests_by_one_connection(void **state)
{
	struct client_plan plan = wire_client_plan(200);
	struct wire *wire;

	(void)state;
	plan.requests = 5;
	plan.pause_cycles = WIRE_HZ / 50;
	wire = wire_create(&plan, CONTENT_HTTP, 3000, 100000);
	wire_run(wire, 5);
	assert_int_equal(completed(wire), 200);
	assert_int_equal(wire->client.counts.responses, 1000);
	assert_int_equal(wire->server.counts.requests, 1000);
	assert_int_equal(wire->client.counts.response_bytes, 1000 * 100000);
	assert_int_equal(wire->server.counts.request_bytes, 1000 * 3000);
	wire_destroy(wire);
}

static void
test_connections_are_held_as_long_as_they_should_be(void **state)
{
	struct client_plan plan = wire_client_plan(2000);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 2 * WIRE_HZ;
	wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	wire_run(wire, 6);
	assert_int_equal(completed(wire), 2000);
	/* The first one is closed after all have been opened. */
	assert_int_equal(wire->client.counts.most_established, 2000);
	assert_int_equal(wire->server.counts.most, 2000);
	wire_destroy(wire);
}

static void
test_without_a_free_port_connections_stay_unsent(void **state)
{
	struct client_plan plan = wire_client_plan(2000);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 10 * WIRE_HZ;
	plan.end.ports = 300;
	wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	wire_run(wire, 2);
	assert_int_equal(wire->client.counts.answered, 600);
	assert_int_equal(wire->client.counts.outcome[CLIENT_UNFINISHED], 600);
	assert_int_equal(client_unsent(&wire->client), 1400);
	assert_true(wire->client.counts.no_port > 0);
	/* What was reset at the end would be so at the server, too. */
	wire_destroy(wire);
}

static void
test_ports_are_taken_again_when_their_connections_are_over(void **state)
{
	struct client_plan plan = wire_client_plan(4000);
	struct wire *wire;

	(void)state;
	plan.end.ports = 50;
	wire = wire_create(&plan, CONTENT_BYTES, 10, 10);
	wire_run(wire, 10);
	assert_int_equal(completed(wire), 4000);
	assert_int_equal(wire->server.counts.outcome[SERVER_CLOSED], 4000);
	wire_destroy(wire);
}

/* The first port that the wire sees is noted, and the last one. */
static uint16_t first_port, last_port;

static bool
note_ports(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)bytes;
	if (way == TO_SERVER && wire->count++ == 0)
		first_port = bytes_get_16(frame + 34);
	if (way == TO_SERVER)
		last_port = bytes_get_16(frame + 34);
	return true;
}

static void
test_ports_begin_where_they_are_told_to_and_go_round_to_the_first_one(void **state)
{
	struct client_plan plan = wire_client_plan(100);
	struct wire *wire;

	(void)state;
	plan.end.addresses = 1;
	plan.end.ports = 100;
	plan.turned = 64512 - 90;
	wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	wire->device = note_ports;
	wire_run(wire, 5);
	assert_int_equal(completed(wire), 100);
	assert_int_equal(first_port, 65536 - 90);
	assert_int_equal(last_port, 1024 + 9);
	assert_int_equal(wire->client.end.counts.stray, 0);
	wire_destroy(wire);
}

static void
test_a_server_that_is_full_answers_nobody_else(void **state)
{
	struct client_plan plan = wire_client_plan(2000);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 5 * WIRE_HZ;
	wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	server_destroy(&wire->server);
	wire->server.plan.capacity = 700;
	assert_int_equal(server_create(&wire->server, &(struct server_plan){
		.end = wire->server.plan.end, .capacity = 700 }, &wire->response, &wire->request,
		&(struct output){ &wire->port[TO_CLIENT], wire_room }, wire->now,
		&(struct error){ 0 }), 0);
	wire_run(wire, 10);
	assert_int_equal(completed(wire), 700);
	assert_int_equal(wire->client.counts.outcome[CLIENT_NO_ANSWER], 1300);
	assert_int_equal(wire->server.counts.full, 3 * 1300);
	wire_destroy(wire);
}

static void
test_another_port_refuses(void **state)
{
	struct client_plan plan = wire_client_plan(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);

	(void)state;
	wire->client.plan.target.port = 81;
	wire_run(wire, 5);
	assert_int_equal(wire->client.counts.outcome[CLIENT_REFUSED], 1000);
	assert_int_equal(wire->server.end.counts.stray, 1000);
	assert_int_equal(wire->server.counts.accepted, 0);
	wire_destroy(wire);
}

/* All segments of a response but the first get lost, once. */
static bool
lose_a_flight(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)frame;
	if (way == TO_SERVER || bytes < 1000)
		return true;
	wire->count++;
	return wire->count < 2 || wire->count > END_FLIGHT;
}

static void
test_what_was_lost_together_is_sent_again_without_a_time_out_for_each(void **state)
{
	struct client_plan plan = wire_client_plan(1);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 100, 1460 * END_FLIGHT);

	(void)state;
	wire->device = lose_a_flight;
	wire_run(wire, 10);
	assert_int_equal(completed(wire), 1);
	assert_int_equal(wire->server.end.counts.repeated, END_FLIGHT - 1);
	assert_true(wire->histogram[1].maximum > plan.end.repeat_cycles);
	assert_true(wire->histogram[1].maximum < 2 * plan.end.repeat_cycles);
	wire_destroy(wire);
}

static void
test_small_losses_are_made_good(void **state)
{
	struct client_plan plan = wire_client_plan(2000);
	struct wire *wire;

	(void)state;
	plan.end.attempts = 8;
	plan.end.patience_cycles = 60 * WIRE_HZ;
	wire = wire_create(&plan, CONTENT_HTTP, 2000, 20000);
	wire->lost = wire->twice = wire->damaged = 10000;
	wire->late = 50000;
	wire->full = 1000;
	wire_run(wire, 200);
	assert_int_equal(completed(wire), 2000);
	assert_int_equal(wire->client.counts.response_bytes, 2000 * 20000);
	assert_true(wire->client.counts.repeated_syns > 0);
	assert_true(wire->client.end.counts.disordered > 0);
	assert_true(wire->client.end.counts.damaged > 0);
	wire_destroy(wire);
}

/* Whatever the wire does, and whenever the end comes, accounts add up: wire_run() looks. */
static void
test_accounts_add_up_over_any_wire(void **state)
{
	uint64_t seed = 42;
	unsigned int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		struct client_plan plan = wire_client_plan(100 + unit_random(&seed) % 400);
		uint32_t bytes = 1 + unit_random(&seed) % 5000;
		struct wire *wire;

		plan.requests = 1 + unit_random(&seed) % 3;
		plan.pause_cycles = unit_random(&seed) % 2 * WIRE_HZ / 20;
		plan.hold_cycles = unit_random(&seed) % 2 * WIRE_HZ / 5;
		plan.end.attempts = 1 + unit_random(&seed) % 4;
		plan.end.ports = 1 + unit_random(&seed) % 300;
		wire = wire_create(&plan, CONTENT_BYTES, bytes, 1 + unit_random(&seed) % 5000);
		wire->seed = seed;
		wire->lost = unit_random(&seed) % 300000;
		wire->twice = unit_random(&seed) % 300000;
		wire->late = unit_random(&seed) % 500000;
		wire->damaged = unit_random(&seed) % 300000;
		wire->full = unit_random(&seed) % 100000;
		wire_run(wire, 1 + unit_random(&seed) % 10);
		/* Nobody is told anything wrong by a wire that only loses and damages. */
		assert_int_equal(wire->client.counts.outcome[CLIENT_WRONG_PAYLOAD], 0);
		assert_int_equal(wire->client.counts.misanswers, 0);
		assert_int_equal(wire->client.counts.outcome[CLIENT_REFUSED], 0);
		wire_destroy(wire);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_connection_is_opened_served_and_closed),
		cmocka_unit_test(test_times_count_from_when_a_syn_was_due),
		cmocka_unit_test(test_a_client_that_was_away_counts_the_time_that_its_syns_were_late),
		cmocka_unit_test(test_long_messages_go_in_segments_and_many_requests_by_one_connection),
		cmocka_unit_test(test_connections_are_held_as_long_as_they_should_be),
		cmocka_unit_test(test_without_a_free_port_connections_stay_unsent),
		cmocka_unit_test(test_ports_are_taken_again_when_their_connections_are_over),
		cmocka_unit_test(
			test_ports_begin_where_they_are_told_to_and_go_round_to_the_first_one),
		cmocka_unit_test(test_a_server_that_is_full_answers_nobody_else),
		cmocka_unit_test(test_another_port_refuses),
		cmocka_unit_test(test_what_was_lost_together_is_sent_again_without_a_time_out_for_each),
		cmocka_unit_test(test_small_losses_are_made_good),
		cmocka_unit_test(test_accounts_add_up_over_any_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
