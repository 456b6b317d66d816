/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Requests and responses over UDP, and devices between that do something wrong with them. */

#include "wire.h"

#include "bytes.h"
#include "checksum.h"

#define UDP 34 /* where it is in a frame */
#define NUMBER (UDP + 8)
#define ENTRIES 500

static uint64_t
became(const struct wire *wire, enum client_outcome outcome)
{
	return wire->client.counts.outcome[outcome];
}

static struct client_plan
flows(uint64_t rate)
{
	struct client_plan plan = wire_client_plan(rate);

	plan.end.transport = TRANSPORT_UDP;
	return plan;
}

static struct wire *
run(const struct client_plan *plan, wire_device device)
{
	struct wire *wire = wire_create(plan, CONTENT_BYTES, 60, 200);

	wire->device = device;
	wire_run(wire, 10);
	return wire;
}

static void
test_each_flow_is_a_request_and_its_response(void **state)
{
	struct client_plan plan = flows(5000);
	struct wire *wire = run(&plan, NULL);
	const struct server_counts *server = &wire->server.counts;

	(void)state;
	assert_int_equal(became(wire, CLIENT_COMPLETED), 5000);
	assert_int_equal(wire->client.counts.requests, 5000);
	assert_int_equal(wire->client.counts.responses, 5000);
	assert_int_equal(wire->client.counts.response_bytes, 5000 * 200);
	assert_int_equal(server->accepted, 5000);
	assert_int_equal(server->outcome[SERVER_CLOSED], 5000);
	assert_int_equal(server->requests, 5000);
	assert_int_equal(server->request_bytes, 5000 * 60);
	assert_int_equal(wire->client.end.counts.sent, 5000);
	assert_int_equal(wire->server.end.counts.sent, 5000);
	assert_int_equal(wire->client.end.counts.repeated, 0);
	assert_int_equal(wire->client.end.counts.disordered, 0);
	wire_destroy(wire);
}

static void
test_times_count_from_when_a_request_was_due(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 60, 60);
	unsigned int i;

	(void)state;
	wire->delay = 20 * WIRE_STEP;
	wire_run(wire, 5);
	for (i = 0; i < 3; i++) { /* handshake, first response and response are one */
		assert_uint_in_range(wire->histogram[i].minimum, 40 * WIRE_STEP, 42 * WIRE_STEP);
		assert_uint_in_range(wire->histogram[i].maximum, 40 * WIRE_STEP, 44 * WIRE_STEP);
	}
	wire_destroy(wire);
}

/* Count addresses with ports, each by its first request. */
static bool
count_ports(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	static bool seen[2][UINT16_MAX + 1];
	uint16_t port = bytes_get_16(frame + UDP);
	bool *known = &seen[frame[14 + 15] & 1][port];

	(void)bytes;
	if (wire->count == 0)
		memset(seen, 0, sizeof(seen));
	if (way == TO_SERVER) {
		wire->count += !*known;
		*known = true;
	}
	return true;
}

static void
test_each_flow_has_a_port_of_its_own(void **state)
{
	struct client_plan plan = flows(5000);
	struct wire *wire = run(&plan, count_ports);

	(void)state;
	assert_int_equal(wire->count, 5000);
	wire_destroy(wire);
}

static bool
lose_all(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)way;
	(void)frame;
	(void)bytes;
	return false;
}

static void
test_who_is_not_answered_asks_again_and_gives_up(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire = run(&plan, lose_all);

	(void)state;
	assert_int_equal(became(wire, CLIENT_NO_ANSWER), 1000);
	assert_int_equal(wire->client.end.counts.sent, 3 * 1000);
	assert_int_equal(wire->client.end.counts.repeated, 2 * 1000);
	assert_int_equal(wire->client.counts.repeated_syns, 2 * 1000);
	wire_destroy(wire);
}

static bool
lose_first_responses(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)frame;
	(void)bytes;
	return way == TO_SERVER || ++wire->count > 100;
}

static void
test_a_response_that_is_lost_is_asked_for_again(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire = run(&plan, lose_first_responses);

	(void)state;
	assert_int_equal(became(wire, CLIENT_COMPLETED), 1000);
	assert_int_equal(wire->client.end.counts.repeated, 100);
	assert_int_equal(wire->server.counts.requests, 1100);
	assert_true(wire->histogram[1].maximum > plan.end.repeat_cycles);
	wire_destroy(wire);
}

static void
test_nobody_at_a_port_is_told_by_icmp(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 60, 60);

	(void)state;
	wire->client.plan.target.port = 81;
	wire_run(wire, 5);
	assert_int_equal(became(wire, CLIENT_REFUSED), 1000);
	assert_int_equal(wire->server.end.counts.stray, 1000);
	assert_int_equal(wire->server.end.counts.sent, 1000);
	assert_int_equal(wire->server.counts.accepted, 0);
	assert_int_equal(wire->client.end.counts.repeated, 0);
	wire_destroy(wire);
}

static void
change(uint8_t *frame, unsigned int at, uint16_t value)
{
	uint16_t before = bytes_get_16(frame + at);

	bytes_put_16(frame + at, value);
	bytes_put_16(frame + UDP + 6, checksum_finish_udp(
		checksum_without(bytes_get_16(frame + UDP + 6), before) + checksum_words(value)));
}

static bool
answer_from_another_port(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)bytes;
	if (way == TO_CLIENT)
		change(frame, UDP, 81);
	return true;
}

static bool
flip_a_byte(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)bytes;
	if (way == TO_CLIENT && ++wire->count % 100 == 0)
		change(frame, NUMBER + 40, bytes_get_16(frame + NUMBER + 40) ^ 0x2000);
	return true;
}

static bool
flip_a_byte_of_a_request(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)bytes;
	if (way == TO_SERVER && ++wire->count % 100 == 0)
		change(frame, NUMBER + 40, bytes_get_16(frame + NUMBER + 40) ^ 0x2000);
	return true;
}

static bool
drop_every_thousandth_request(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)frame;
	(void)bytes;
	return way == TO_CLIENT || ++wire->count % 1000 != 0;
}

/* It knows so many flows, and never forgets one. */
static bool
know_so_many(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	static bool known[2][UINT16_MAX + 1];
	bool *entry = &known[frame[14 + (way == TO_SERVER ? 15 : 19)] & 1][
		bytes_get_16(frame + UDP + (way == TO_SERVER ? 0 : 2))];

	(void)bytes;
	if (way == TO_SERVER && !*entry && wire->count < ENTRIES) {
		wire->count++;
		*entry = true;
	}
	return *entry;
}

static void
test_a_device_that_is_broken_is_told_apart_by_what_is_counted(void **state)
{
	static const struct {
		wire_device device;
		enum client_outcome outcome;
		uint64_t count, repeated, misanswers, wrong_requests;
	} broken[] = {
		{ drop_every_thousandth_request, CLIENT_COMPLETED, 2500, 2, 0, 0 },
		{ answer_from_another_port, CLIENT_MISANSWERED, 2500, 5000, 7500, 0 },
		{ know_so_many, CLIENT_NO_ANSWER, 2500 - ENTRIES, 2 * (2500 - ENTRIES), 0, 0 },
		{ flip_a_byte, CLIENT_WRONG_PAYLOAD, 25, 0, 0, 0 },
		{ flip_a_byte_of_a_request, CLIENT_COMPLETED, 2500, 25, 0, 25 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct client_plan plan = flows(2500);
		struct wire *wire = run(&plan, broken[i].device);

		assert_int_equal(became(wire, broken[i].outcome), broken[i].count);
		assert_int_equal(wire->client.end.counts.repeated, broken[i].repeated);
		assert_int_equal(wire->client.counts.misanswers, broken[i].misanswers);
		assert_int_equal(wire->server.counts.outcome[SERVER_WRONG_PAYLOAD],
			broken[i].wrong_requests);
		assert_int_equal(became(wire, CLIENT_COMPLETED) + became(wire, broken[i].outcome) *
			(broken[i].outcome != CLIENT_COMPLETED), 2500);
		wire_destroy(wire);
	}
}

/* It forgets a flow that was silent for two seconds, and takes one in that a client begins. */
static bool
forget_silent_ones(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	static uint64_t heard[2][UINT16_MAX + 1];
	uint64_t *last = &heard[frame[14 + (way == TO_SERVER ? 15 : 19)] & 1][
		bytes_get_16(frame + UDP + (way == TO_SERVER ? 0 : 2))];
	bool is_known = *last != 0 && wire->now - *last < 2 * WIRE_HZ;

	(void)bytes;
	if (way == TO_SERVER || is_known)
		*last = wire->now;
	return way == TO_SERVER || is_known;
}

static void
test_a_flow_that_is_held_is_spoken_to_then_and_hears_it_only_where_it_is_known(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 3 * WIRE_HZ / 2;
	wire = run(&plan, forget_silent_ones);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 1000);
	assert_int_equal(wire->client.counts.most_established, 1000);
	assert_int_equal(wire->server.counts.most, 1000);
	assert_int_equal(wire->client.end.counts.sent, 1000);
	assert_int_equal(wire->server.end.counts.sent, 2000);
	assert_int_equal(wire->client.counts.responses, 1000);
	wire_destroy(wire);
	plan.hold_cycles = 5 * WIRE_HZ / 2;
	wire = run(&plan, forget_silent_ones);
	assert_int_equal(wire->client.counts.answered, 1000);
	assert_int_equal(became(wire, CLIENT_NO_RESPONSE), 1000);
	wire_destroy(wire);
}

/* A first response that comes twice is no second one. */
static void
test_what_comes_twice_does_not_end_a_flow_that_is_held(void **state)
{
	struct client_plan plan = flows(500);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 2 * WIRE_HZ;
	wire = wire_create(&plan, CONTENT_BYTES, 60, 60);
	wire->twice = 300000;
	wire_run(wire, 10);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 500);
	assert_int_equal(wire->client.counts.most_established, 500);
	wire_destroy(wire);
}

static void
test_a_server_keeps_no_more_than_it_has_room_for(void **state)
{
	struct client_plan plan = flows(1000);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 2 * WIRE_HZ;
	wire = wire_create(&plan, CONTENT_BYTES, 60, 60);
	wire->server.plan.capacity = 700;
	wire_run(wire, 20);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 700);
	assert_int_equal(became(wire, CLIENT_NO_RESPONSE), 300);
	assert_int_equal(wire->server.counts.full, 300);
	wire_destroy(wire);
}

static void
test_many_requests_go_over_one_flow(void **state)
{
	struct client_plan plan = flows(200);
	struct wire *wire;

	(void)state;
	plan.requests = 5;
	plan.pause_cycles = WIRE_HZ / 50;
	wire = run(&plan, count_ports);
	assert_int_equal(wire->count, 200);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 200);
	assert_int_equal(wire->client.counts.responses, 1000);
	assert_int_equal(wire->server.counts.requests, 1000);
	wire_destroy(wire);
}

/* Each response comes twice, and the second one late. */
static void
test_a_response_that_comes_twice_is_none_to_what_was_asked_since(void **state)
{
	struct client_plan plan = flows(200);
	struct wire *wire;

	(void)state;
	plan.requests = 5;
	wire = wire_create(&plan, CONTENT_BYTES, 60, 60);
	wire->delay = 20 * WIRE_STEP;
	wire->twice = 300000;
	wire_run(wire, 10);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 200);
	assert_int_equal(wire->client.counts.responses, 1000);
	assert_true(wire->histogram[2].minimum >= 2 * wire->delay);
	assert_true(wire->client.end.counts.disordered > 0);
	assert_true(wire->server.counts.requests > 1000);
	wire_destroy(wire);
}

static struct wire *
asked_by_a_clock(uint64_t connections, uint64_t requests)
{
	struct client_plan plan = flows(connections);

	plan.rate_mfps = UINT64_C(2000) * 1000;
	plan.asking = (struct asking_plan){
		.rate_mfps = requests * 1000, .intended = requests, .duration_cycles = WIRE_HZ,
		.grace_cycles = WIRE_STEP, .quiet_cycles = WIRE_HZ / 10,
	};
	return wire_create(&plan, CONTENT_BYTES, 50, 50);
}

static void
test_flows_ask_in_turn_by_a_clock(void **state)
{
	struct wire *wire = asked_by_a_clock(100, 3000);
	const struct asking_counts *counts = &wire->client.asking.counts;

	(void)state;
	wire_run(wire, 10);
	assert_int_equal(counts->asked, 3000);
	assert_int_equal(counts->replied, 3000);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 100);
	assert_int_equal(wire->client.end.counts.sent, 3100);
	assert_int_equal(wire->server.end.counts.sent, 3100);
	wire_destroy(wire);
}

/* One in the middle of the time. */
static bool
lose_one(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)frame;
	(void)bytes;
	return way == TO_CLIENT || ++wire->count != 1600;
}

static void
test_a_request_by_a_clock_that_is_lost_leaves_its_flow_waiting(void **state)
{
	struct wire *wire = asked_by_a_clock(100, 3000);
	const struct asking_counts *counts = &wire->client.asking.counts;

	(void)state;
	wire->device = lose_one;
	wire_run(wire, 10);
	assert_int_equal(counts->asked + counts->waiting, 3000);
	assert_true(counts->waiting > 0);
	assert_int_equal(counts->replied, counts->asked);
	assert_int_equal(wire->client.end.counts.repeated, 1);
	wire_destroy(wire);
}

static void
test_small_losses_are_made_good(void **state)
{
	struct client_plan plan = flows(2000);
	struct wire *wire;

	(void)state;
	plan.requests = 2;
	plan.end.attempts = 8;
	wire = wire_create(&plan, CONTENT_BYTES, 100, 1400);
	wire->lost = wire->twice = wire->damaged = 10000;
	wire->late = 50000;
	wire->full = 1000;
	wire_run(wire, 100);
	assert_int_equal(became(wire, CLIENT_COMPLETED), 2000);
	assert_int_equal(wire->client.counts.responses, 4000);
	assert_true(wire->client.end.counts.repeated > 0);
	assert_true(wire->client.end.counts.damaged + wire->server.end.counts.damaged > 0);
	wire_destroy(wire);
}

/* Whatever the wire does, and whenever the end comes, accounts add up: wire_run() looks. */
static void
test_accounts_add_up_over_any_wire(void **state)
{
	uint64_t seed = 43;
	unsigned int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		struct client_plan plan = flows(100 + unit_random(&seed) % 400);
		uint32_t bytes = DATAGRAM_NUMBER + unit_random(&seed) % 1400;
		struct wire *wire;

		plan.requests = 1 + unit_random(&seed) % 3;
		plan.pause_cycles = unit_random(&seed) % 2 * WIRE_HZ / 20;
		plan.hold_cycles = unit_random(&seed) % 2 * WIRE_HZ / 5;
		plan.end.attempts = 1 + unit_random(&seed) % 4;
		plan.end.ports = 1 + unit_random(&seed) % 300;
		plan.turned = (uint16_t)(unit_random(&seed) % 64512);
		wire = wire_create(&plan, CONTENT_BYTES, bytes,
			DATAGRAM_NUMBER + unit_random(&seed) % 1400);
		wire->seed = seed;
		wire->lost = unit_random(&seed) % 300000;
		wire->twice = unit_random(&seed) % 300000;
		wire->late = unit_random(&seed) % 500000;
		wire->full = unit_random(&seed) % 100000;
		wire_run(wire, 1 + unit_random(&seed) % 10);
		assert_int_equal(became(wire, CLIENT_WRONG_PAYLOAD), 0);
		assert_int_equal(became(wire, CLIENT_REFUSED), 0);
		assert_int_equal(wire->client.counts.misanswers, 0);
		wire_destroy(wire);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_flow_is_a_request_and_its_response),
		cmocka_unit_test(test_times_count_from_when_a_request_was_due),
		cmocka_unit_test(test_each_flow_has_a_port_of_its_own),
		cmocka_unit_test(test_who_is_not_answered_asks_again_and_gives_up),
		cmocka_unit_test(test_a_response_that_is_lost_is_asked_for_again),
		cmocka_unit_test(test_nobody_at_a_port_is_told_by_icmp),
		cmocka_unit_test(test_a_device_that_is_broken_is_told_apart_by_what_is_counted),
		cmocka_unit_test(
			test_a_flow_that_is_held_is_spoken_to_then_and_hears_it_only_where_it_is_known),
		cmocka_unit_test(test_what_comes_twice_does_not_end_a_flow_that_is_held),
		cmocka_unit_test(test_a_server_keeps_no_more_than_it_has_room_for),
		cmocka_unit_test(test_many_requests_go_over_one_flow),
		cmocka_unit_test(test_a_response_that_comes_twice_is_none_to_what_was_asked_since),
		cmocka_unit_test(test_flows_ask_in_turn_by_a_clock),
		cmocka_unit_test(test_a_request_by_a_clock_that_is_lost_leaves_its_flow_waiting),
		cmocka_unit_test(test_small_losses_are_made_good),
		cmocka_unit_test(test_accounts_add_up_over_any_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
