/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* SYNs of nobody, beside connections of a client and a server. */

#include "wire.h"

#include "flood.h"

#define FLOOD_IP (WIRE_CLIENT_IP + 0x8000)

/* To a server, by the wire that connections go over. */
static struct flood
begun(struct wire *wire, uint64_t rate)
{
	const struct flood_plan plan = {
		.first = { FLOOD_IP, 65500 }, .addresses = 4, .ports = 36,
		.target = { WIRE_SERVER_IP, 80 }, .targets = 2,
		.rate_mfps = rate * 1000, .tsc_hz = WIRE_HZ, .most = 1460, .burst = 32,
	};
	struct flood flood;

	flood_begin(&flood, &plan, &(struct output){ &wire->port[TO_SERVER], wire_room },
		wire->now);
	return flood;
}

static void
run(struct wire *wire, struct flood *flood, unsigned int steps)
{
	while (steps-- > 0) {
		flood_send(flood, wire->now);
		wire_step(wire);
	}
}

static struct flood *answered_to; /* the wire knows ends of connections alone */

static bool
hand_answers_over(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	struct segment segment;

	(void)wire;
	if (way == TO_SERVER || segment_read(frame, bytes, &segment) != PACKET_READ)
		return true;
	return !flood_receive(answered_to, &segment);
}

static void
test_a_server_counts_a_flood_and_keeps_nothing_of_it(void **state)
{
	struct client_plan plan = wire_client_plan(1000);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 50000);

	(void)state;
	client_begin(&wire->client, wire->now);
	run(wire, &flood, 10000);
	assert_uint_in_range(flood.counts.sent, 49990, 50010);
	assert_uint_in_range(wire->server.counts.flooded, flood.counts.sent - 10, flood.counts.sent);
	assert_int_equal(wire->server.counts.accepted, 1000);
	wire_run(wire, 2);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 1000);
	assert_int_equal(wire->server.end.counts.stray, 0);
	/* Its segments are those of connections. */
	assert_int_equal(wire->server.end.counts.received, wire->client.end.counts.sent);
	wire_destroy(wire);
}

static void
test_half_open_connections_are_answered_and_nobody_goes_on(void **state)
{
	struct client_plan plan = wire_client_plan(100);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 1000);

	(void)state;
	wire->server.plan.answers_flood = true;
	wire->device = hand_answers_over;
	answered_to = &flood;
	client_begin(&wire->client, wire->now);
	run(wire, &flood, 10000);
	assert_uint_in_range(flood.counts.answered, flood.counts.sent - 5, flood.counts.sent);
	assert_int_equal(flood.counts.refused, 0);
	assert_int_equal(wire->server.counts.accepted, 100);
	assert_int_equal(wire->client.end.counts.stray, 0);
	wire_run(wire, 2);
	assert_int_equal(wire->client.counts.outcome[CLIENT_COMPLETED], 100);
	assert_int_equal(wire->server.end.counts.received, 4 * 100);
	assert_int_equal(wire->server.end.counts.sent, 3 * 100);
	wire_destroy(wire);
}

/* The device sees addresses and ports. */
static bool
note_source(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	struct segment segment;
	uint32_t number;

	if (way == TO_CLIENT || segment_read(frame, bytes, &segment) != PACKET_READ)
		return true;
	number = (segment.source.ip - FLOOD_IP) * 36 + (segment.source.port - 65500u);
	assert_true(number < 4 * 36);
	wire->count |= number == 4 * 36 - 1;
	assert_int_equal(segment.window, FLOOD_WINDOW);
	assert_int_equal(segment.flags, SEGMENT_SYN);
	return true;
}

static void
test_each_comes_from_another_address_or_port_until_all_have_been_used(void **state)
{
	struct client_plan plan = wire_client_plan(1);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 100000);

	(void)state;
	wire->client.counts.launched = plan.intended; /* the flood is alone */
	wire->client.asking.phase = ASKING_IS_OVER;
	wire->device = note_source;
	run(wire, &flood, 100);
	assert_true(flood.counts.sent > 4 * 36 && wire->count == 1);
	wire_destroy(wire);
}

static void
test_a_flood_goes_on_behind_the_one_before(void **state)
{
	struct client_plan plan = wire_client_plan(1);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 1000);
	struct segment segment;

	(void)state;
	flood.plan.before = 4 * 36 + 6;
	flood_send(&flood, wire->now);
	assert_int_equal(flood.counts.sent, 1);
	assert_int_equal(segment_read(wire->frame[0]->data, wire->frame[0]->bytes, &segment),
		PACKET_READ);
	assert_int_equal(segment.source.ip, FLOOD_IP + 2);
	assert_int_equal(segment.source.port, 65501);
	wire_destroy(wire);
}

static void
test_what_could_not_be_sent_is_not_made_up_for(void **state)
{
	struct client_plan plan = wire_client_plan(1);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 10000);

	(void)state;
	wire->now += WIRE_HZ;
	flood_send(&flood, wire->now);
	assert_int_equal(flood.counts.sent, 32);
	flood_send(&flood, wire->now);
	assert_int_equal(flood.counts.sent, 33);
	wire->full = 1000000;
	wire->now += WIRE_HZ;
	flood_send(&flood, wire->now);
	assert_int_equal(flood.counts.sent, 33);
	wire->full = 0;
	wire->now += 10 * WIRE_STEP;
	flood_send(&flood, wire->now);
	assert_int_equal(flood.counts.sent, 33 + 11);
	wire_destroy(wire);
}

static void
test_what_comes_back_is_counted_and_what_is_not_its_own_is_left_alone(void **state)
{
	struct client_plan plan = wire_client_plan(1);
	struct wire *wire = wire_create(&plan, CONTENT_BYTES, 1, 1);
	struct flood flood = begun(wire, 1000);
	struct segment segment = { .destination = { FLOOD_IP + 3, 70 }, .flags = SEGMENT_RST };

	(void)state;
	assert_true(flood_receive(&flood, &segment));
	segment.flags = SEGMENT_SYN | SEGMENT_ACK;
	assert_true(flood_receive(&flood, &segment));
	assert_int_equal(flood.counts.refused, 1);
	assert_int_equal(flood.counts.answered, 1);
	segment.destination.ip++;
	assert_false(flood_receive(&flood, &segment));
	segment.window = FLOOD_WINDOW;
	assert_false(flood_is(&segment));
	segment.flags = SEGMENT_SYN;
	assert_true(flood_is(&segment));
	wire_destroy(wire);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_server_counts_a_flood_and_keeps_nothing_of_it),
		cmocka_unit_test(test_half_open_connections_are_answered_and_nobody_goes_on),
		cmocka_unit_test(test_each_comes_from_another_address_or_port_until_all_have_been_used),
		cmocka_unit_test(test_a_flood_goes_on_behind_the_one_before),
		cmocka_unit_test(test_what_could_not_be_sent_is_not_made_up_for),
		cmocka_unit_test(test_what_comes_back_is_counted_and_what_is_not_its_own_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
