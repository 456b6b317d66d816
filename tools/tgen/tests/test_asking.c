/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Requests by a clock, on connections that are open. */

#include "wire.h"

#include "bytes.h"
#include "checksum.h"

/* So many connections, and requests for a second on all of them. */
static struct wire *
asked_by_a_clock(uint64_t connections, uint64_t requests)
{
	struct client_plan plan = wire_client_plan(connections);

	plan.rate_mfps = UINT64_C(2000) * 1000;
	plan.asking = (struct asking_plan){
		.rate_mfps = requests * 1000, .intended = requests, .duration_cycles = WIRE_HZ,
		.grace_cycles = WIRE_STEP, .quiet_cycles = WIRE_HZ / 10,
	};
	return wire_create(&plan, CONTENT_BYTES, 50, 50);
}

static const struct asking_counts *
counts(const struct wire *wire)
{
	return &wire->client.asking.counts;
}

static void
test_each_request_that_is_due_is_asked_and_answered(void **state)
{
	struct wire *wire = asked_by_a_clock(100, 3000);

	(void)state;
	wire_run(wire, 10);
	assert_int_equal(counts(wire)->asked, 3000);
	assert_int_equal(counts(wire)->replied, 3000);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 100);
	assert_int_equal(wire->client.counts.responses, 3100);
	assert_int_equal(wire->server.counts.requests, 3100);
	/* Each is a request, its response, and what acknowledges that; beside what makes a connection. */
	assert_int_equal(wire->client.end.counts.sent, 5 * 100 + 2 * 3000);
	assert_int_equal(wire->server.end.counts.sent, 3 * 100 + 3000);
	assert_int_equal(wire->client.end.counts.repeated, 0);
	wire_destroy(wire);
}

static void
test_connections_ask_in_turn_and_are_closed_as_fast_as_they_were_opened(void **state)
{
	struct wire *wire = asked_by_a_clock(1000, 1000);
	uint64_t begun, heard, over;

	(void)state;
	client_begin(&wire->client, wire->now);
	while (wire->client.asking.phase != ASKING_GOES_ON)
		wire_step(wire);
	begun = wire->now;
	assert_int_equal(wire->client.resting, 1000);
	while (wire->client.asking.phase != ASKING_CLOSES)
		wire_step(wire);
	heard = wire->now;
	/* One has been asked by each, the last of them a thousandth before the second is over. */
	assert_uint_in_range(heard - begun, WIRE_HZ * 1099 / 1000,
		WIRE_HZ * 1099 / 1000 + 20 * WIRE_STEP);
	assert_int_equal(wire->client.counts.established, 1000);
	while (!client_is_done(&wire->client))
		wire_step(wire);
	over = wire->now;
	assert_uint_in_range(over - heard, WIRE_HZ * 999 / 2000, WIRE_HZ / 2 + 20 * WIRE_STEP);
	assert_int_equal(counts(wire)->replied, 1000);
	wire_run(wire, 1);
	wire_destroy(wire);
}

static void
test_connections_that_nobody_looked_after_are_not_closed_at_once(void **state)
{
	struct wire *wire = asked_by_a_clock(1000, 1000);

	(void)state;
	client_begin(&wire->client, wire->now);
	while (wire->client.asking.phase != ASKING_CLOSES)
		wire_step(wire);
	wire->now += WIRE_HZ;
	wire_step(wire);
	/* All are due. A burst leaves, and others at twice the rate: 4 in a millisecond. */
	assert_int_equal(wire->client.counts.established, 1000 - 32);
	wire->now += WIRE_HZ / 100;
	wire_step(wire);
	assert_int_equal(wire->client.counts.established, 1000 - 64);
	wire_step(wire);
	assert_int_equal(wire->client.counts.established, 1000 - 64);
	wire_run(wire, 5);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 1000);
	wire_destroy(wire);
}

static void
test_times_count_from_when_a_request_was_due(void **state)
{
	struct wire *wire = asked_by_a_clock(100, 1000);

	(void)state;
	wire->delay = 20 * WIRE_STEP;
	wire_run(wire, 10);
	assert_int_equal(wire->histogram[2].count, 1000);
	assert_uint_in_range(wire->histogram[2].minimum, 40 * WIRE_STEP, 42 * WIRE_STEP);
	assert_uint_in_range(wire->histogram[2].maximum, 40 * WIRE_STEP, 44 * WIRE_STEP);
	wire_destroy(wire);
}

/* A response gets lost, once. */
static bool
lose_one(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)frame;
	if (way == TO_SERVER || bytes < 100 || counts(wire)->asked < 50)
		return true;
	return wire->count++ != 0;
}

static void
test_what_had_to_be_sent_again_is_seen_and_its_connection_does_not_ask_meanwhile(void **state)
{
	struct wire *wire = asked_by_a_clock(10, 1000);

	(void)state;
	wire->device = lose_one;
	wire_run(wire, 10);
	/* The response would have acknowledged the request. */
	assert_int_equal(wire->client.end.counts.repeated, 1);
	assert_int_equal(wire->server.end.counts.repeated, 1);
	/* Its turn comes each 10 ms, and what was lost is sent again after 100. */
	assert_uint_in_range(counts(wire)->waiting, 9, 11);
	assert_int_equal(counts(wire)->asked, 1000 - counts(wire)->waiting);
	assert_int_equal(counts(wire)->replied, counts(wire)->asked);
	assert_int_equal(counts(wire)->gone, 0);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 10);
	wire_destroy(wire);
}

/* From some time on, whatever one of the connections says is lost. */
static bool
forget_one(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)bytes;
	return way == TO_CLIENT || counts(wire)->asked < 500 ||
		bytes_get_16(frame + 34) != wire->client.plan.end.first.port;
}

static void
test_a_connection_that_failed_asks_nothing_any_more(void **state)
{
	struct wire *wire = asked_by_a_clock(20, 2000);

	(void)state;
	wire->device = forget_one; /* both addresses have a connection of this port */
	wire_run(wire, 20);
	assert_int_equal(wire->client.counts.outcome[CLIENT_NO_RESPONSE], 2);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 18);
	assert_int_equal(counts(wire)->asked - counts(wire)->replied, 2);
	/* For 700 ms it is tried again. */
	assert_true(counts(wire)->waiting > 0 && counts(wire)->gone > 0);
	assert_int_equal(asking_issued(&wire->client.asking), 2000);
	wire_destroy(wire);
}

static void
test_what_is_not_asked_in_time_is_not_asked(void **state)
{
	struct wire *wire = asked_by_a_clock(10, 1000);

	(void)state;
	client_begin(&wire->client, wire->now);
	while (counts(wire)->asked < 100)
		wire_step(wire);
	wire->now += WIRE_HZ; /* nobody looked after it */
	while (wire->client.asking.phase == ASKING_GOES_ON)
		wire_step(wire);
	assert_true(asking_issued(&wire->client.asking) < 200);
	wire_run(wire, 10);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 10);
	assert_int_equal(counts(wire)->replied, counts(wire)->asked);
	wire_destroy(wire);
}

static void
test_a_pause_moves_the_requests_that_are_due(void **state)
{
	struct wire *wire = asked_by_a_clock(10, 1000);

	(void)state;
	client_begin(&wire->client, wire->now);
	while (counts(wire)->asked < 100)
		wire_step(wire);
	wire->now += WIRE_HZ;
	client_pause(&wire->client, WIRE_HZ);
	wire_run(wire, 10);
	assert_int_equal(counts(wire)->replied, 1000);
	wire_destroy(wire);
}

static void
test_where_nothing_was_opened_nothing_is_asked(void **state)
{
	struct wire *wire = asked_by_a_clock(10, 1000);

	(void)state;
	wire->client.plan.target.port = 81; /* which refuses */
	wire_run(wire, 10);
	assert_int_equal(wire->client.counts.outcome[CLIENT_REFUSED], 10);
	assert_int_equal(counts(wire)->gone, 1000);
	assert_int_equal(counts(wire)->asked, 0);
	wire_destroy(wire);
}

/* A server takes nothing of two connections, and says so. */
static bool
take_nothing_of_one_port(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	uint16_t port = bytes_get_16(frame + (way == TO_SERVER ? 34 : 36));
	struct segment segment;

	if (port != wire->client.plan.end.first.port ||
			segment_read(frame, bytes, &segment) != PACKET_READ)
		return true;
	if (way == TO_SERVER)
		return segment.bytes == 0;
	bytes_put_16(frame + 48, 0);
	bytes_put_16(frame + 50, checksum_change(bytes_get_16(frame + 50), segment.window, 0));
	return true;
}

static void
test_what_nobody_takes_keeps_no_other_connection_from_being_asked(void **state)
{
	struct wire *wire = asked_by_a_clock(20, 2000);

	(void)state;
	wire->device = take_nothing_of_one_port;
	wire_run(wire, 20);
	assert_int_equal(wire->client.counts.outcome[CLIENT_NO_RESPONSE], 2);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 18);
	assert_int_equal(counts(wire)->gone, 200);
	assert_int_equal(counts(wire)->replied, 1800);
	wire_destroy(wire);
}

/* Whatever the wire does, and whenever the end comes, each request has one outcome: wire_run() looks. */
static void
test_accounts_add_up_over_any_wire(void **state)
{
	uint64_t seed = 43;
	unsigned int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		struct wire *wire = asked_by_a_clock(1 + unit_random(&seed) % 50,
			1 + unit_random(&seed) % 3000);

		wire->seed = seed;
		wire->lost = unit_random(&seed) % 300000;
		wire->twice = unit_random(&seed) % 300000;
		wire->late = unit_random(&seed) % 500000;
		wire->damaged = unit_random(&seed) % 300000;
		wire->full = unit_random(&seed) % 100000;
		wire_run(wire, 1 + unit_random(&seed) % 10);
		assert_int_equal(wire->client.counts.outcome[CLIENT_WRONG_PAYLOAD], 0);
		wire_destroy(wire);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_request_that_is_due_is_asked_and_answered),
		cmocka_unit_test(test_connections_ask_in_turn_and_are_closed_as_fast_as_they_were_opened),
		cmocka_unit_test(test_connections_that_nobody_looked_after_are_not_closed_at_once),
		cmocka_unit_test(test_times_count_from_when_a_request_was_due),
		cmocka_unit_test(test_what_had_to_be_sent_again_is_seen_and_its_connection_does_not_ask_meanwhile),
		cmocka_unit_test(test_a_connection_that_failed_asks_nothing_any_more),
		cmocka_unit_test(test_what_is_not_asked_in_time_is_not_asked),
		cmocka_unit_test(test_a_pause_moves_the_requests_that_are_due),
		cmocka_unit_test(test_where_nothing_was_opened_nothing_is_asked),
		cmocka_unit_test(test_what_nobody_takes_keeps_no_other_connection_from_being_asked),
		cmocka_unit_test(test_accounts_add_up_over_any_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
