/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Devices that do something wrong with connections: each is told from all others by what is counted. */

#include "wire.h"

#include "bytes.h"
#include "checksum.h"

#define ENTRIES 1000
#define RATE 2500
#define TCP 34 /* where it is in a frame */
#define FLAGS (TCP + 13)
#define DATA (TCP + 20)

static bool
has(const uint8_t *frame, uint8_t flags, uint8_t of)
{
	return (frame[FLAGS] & of) == flags;
}

static bool
is_syn(const uint8_t *frame)
{
	return has(frame, SEGMENT_SYN, SEGMENT_SYN | SEGMENT_ACK);
}

/* A change of 16 bits, and a checksum that goes by it. */
static void
change(uint8_t *frame, unsigned int at, uint16_t value)
{
	uint16_t before = bytes_get_16(frame + at);

	bytes_put_16(frame + at, value);
	bytes_put_16(frame + TCP + 16,
		checksum_change(bytes_get_16(frame + TCP + 16), before, value));
}

static bool
drop_every_thousandth_syn(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)way;
	(void)bytes;
	return !is_syn(frame) || ++wire->count % 1000 != 0;
}

static bool
answer_from_another_port(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)bytes;
	if (way == TO_CLIENT)
		change(frame, TCP, 81);
	return true;
}

/* It knows a connection from its SYN to the first FIN of the server, and forwards no other. */
static bool
know_so_many(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	static bool known[2][UINT16_MAX + 1];
	uint16_t port = bytes_get_16(frame + TCP + (way == TO_SERVER ? 0 : 2));
	bool *entry = &known[frame[14 + (way == TO_SERVER ? 15 : 19)] & 1][port];

	(void)bytes;
	if (is_syn(frame) && !*entry) {
		if (wire->count == ENTRIES)
			return false;
		wire->count++;
		*entry = true;
	}
	if (*entry && way == TO_CLIENT && has(frame, SEGMENT_FIN, SEGMENT_FIN)) {
		wire->count--;
		*entry = false;
		return true;
	}
	return *entry || (way == TO_SERVER && has(frame, SEGMENT_ACK, SEGMENT_ACK));
}

static bool
forget_fins(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)bytes;
	return way != TO_SERVER || !has(frame, SEGMENT_FIN, SEGMENT_FIN);
}

/* Of a response, and the checksum goes by it: nobody but who knows what was sent can see that. */
static bool
flip_a_byte(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	if (way == TO_CLIENT && has(frame, SEGMENT_PSH, SEGMENT_PSH) && bytes > DATA + 50 &&
			++wire->count % 100 == 0)
		change(frame, DATA + 40, bytes_get_16(frame + DATA + 40) ^ 0x2000);
	return true;
}

/* The same of a request. */
static bool
flip_a_byte_of_a_request(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	if (way == TO_SERVER && has(frame, SEGMENT_PSH, SEGMENT_PSH) && bytes > DATA + 50 &&
			++wire->count % 100 == 0)
		change(frame, DATA + 40, bytes_get_16(frame + DATA + 40) ^ 0x2000);
	return true;
}

/* With a checksum that does not: it is lost, and comes again. */
static bool
flip_a_byte_and_be_found_out(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	if (way == TO_CLIENT && has(frame, SEGMENT_PSH, SEGMENT_PSH) && bytes > DATA + 50 &&
			++wire->count % 100 == 0)
		frame[DATA + 40] ^= 0x20;
	return true;
}

static bool
reset_the_open(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)bytes;
	if (way == TO_CLIENT && has(frame, SEGMENT_PSH, SEGMENT_PSH))
		change(frame, TCP + 12,
			(uint16_t)((bytes_get_16(frame + TCP + 12) & ~0xff) | SEGMENT_RST));
	return true;
}

static bool
swallow_responses(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	(void)wire;
	(void)bytes;
	return way == TO_SERVER || !has(frame, SEGMENT_PSH, SEGMENT_PSH);
}

/* As a proxy of SYNs does: it says that it takes nothing, and that it does once it knows who asks. */
static bool
take_nothing_before_the_handshake_is_over(struct wire *wire, enum wire_way way, uint8_t *frame,
	uint16_t bytes)
{
	struct segment segment;

	if (segment_read(frame, bytes, &segment) != PACKET_READ)
		return true;
	if (way == TO_CLIENT && (segment.flags & SEGMENT_SYN) != 0)
		change(frame, TCP + 14, 0);
	if (way == TO_SERVER && segment.flags == SEGMENT_ACK && segment.bytes == 0)
		client_receive(&wire->client, &(struct segment){
			.source = segment.destination, .destination = segment.source,
			.sequence = segment.acknowledgement, .acknowledgement = segment.sequence,
			.window = UINT16_MAX, .flags = SEGMENT_ACK,
		}, wire->now);
	return true;
}

/* Of clients, and says so. */
static bool
take_nothing(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	struct segment segment;

	(void)wire;
	if (way == TO_CLIENT)
		change(frame, TCP + 14, 0);
	return way == TO_CLIENT || segment_read(frame, bytes, &segment) != PACKET_READ ||
		segment.bytes == 0;
}

/* The same of a server. */
static bool
take_no_response(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	struct segment segment;

	(void)wire;
	if (way == TO_SERVER)
		change(frame, TCP + 14, 0);
	return way == TO_SERVER || segment_read(frame, bytes, &segment) != PACKET_READ ||
		segment.bytes == 0;
}

/* All outcomes but these two have none. */
static void
assert_outcomes(const struct wire *wire, uint64_t completed, enum client_outcome cause,
	uint64_t failed)
{
	const uint64_t *outcome = wire->client.counts.outcome;

	assert_int_equal(outcome[cause], failed);
	assert_int_equal(outcome[CLIENT_COMPLETED], completed);
	assert_int_equal(completed + failed, wire_sum(outcome, CLIENT_OUTCOMES));
}

static struct wire *
through(wire_device device, const struct client_plan *plan)
{
	struct wire *wire = wire_create(plan, CONTENT_BYTES, 100, 100);

	wire->device = device;
	wire_run(wire, 20);
	return wire;
}

static void
test_a_thousandth_syn_that_is_dropped_is_one_without_an_answer(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire;

	(void)state;
	/* Whoever sends each SYN once sees the loss, */
	plan.end.attempts = 1;
	wire = through(drop_every_thousandth_syn, &plan);
	assert_outcomes(wire, RATE - 2, CLIENT_NO_ANSWER, 2);
	assert_int_equal(wire->client.counts.misanswers, 0);
	wire_destroy(wire);
	/* and who sends it again sees that it had to. */
	plan.end.attempts = 3;
	wire = through(drop_every_thousandth_syn, &plan);
	assert_outcomes(wire, RATE, CLIENT_NO_ANSWER, 0);
	assert_int_equal(wire->client.counts.repeated_syns, 2);
	wire_destroy(wire);
}

static void
test_answers_from_another_port_are_told_from_none(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(answer_from_another_port, &plan);

	(void)state;
	assert_outcomes(wire, 0, CLIENT_MISANSWERED, RATE);
	assert_true(wire->client.counts.misanswers >= RATE);
	wire_destroy(wire);
}

static void
test_a_full_table_is_seen_by_how_many_were_established(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire;

	(void)state;
	plan.hold_cycles = 5 * WIRE_HZ;
	wire = through(know_so_many, &plan);
	assert_outcomes(wire, ENTRIES, CLIENT_NO_ANSWER, RATE - ENTRIES);
	assert_int_equal(wire->client.counts.most_established, ENTRIES);
	wire_destroy(wire);
}

static void
test_a_fin_that_is_forgotten_leaves_a_connection_that_is_not_closed(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(forget_fins, &plan);

	(void)state;
	assert_outcomes(wire, 0, CLIENT_NOT_CLOSED, RATE);
	assert_int_equal(wire->client.counts.responses, RATE);
	/* Nor is it left at the server: the client tells that it has given up. */
	assert_int_equal(wire->server.counts.outcome[SERVER_RESET], RATE);
	wire_destroy(wire);
}

static void
test_a_byte_that_was_flipped_is_a_wrong_payload(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(flip_a_byte, &plan);

	(void)state;
	assert_outcomes(wire, RATE - RATE / 100, CLIENT_WRONG_PAYLOAD, RATE / 100);
	assert_int_equal(wire->client.end.counts.damaged, 0);
	wire_destroy(wire);
}

static void
test_a_request_with_a_flipped_byte_is_reset_by_the_server_that_saw_it(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(flip_a_byte_of_a_request, &plan);

	(void)state;
	assert_outcomes(wire, RATE - RATE / 100, CLIENT_RESET, RATE / 100);
	assert_int_equal(wire->server.counts.outcome[SERVER_WRONG_PAYLOAD], RATE / 100);
	wire_destroy(wire);
}

static void
test_a_flipped_byte_that_the_checksum_shows_is_damage_and_is_made_good(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(flip_a_byte_and_be_found_out, &plan);

	(void)state;
	assert_outcomes(wire, RATE, CLIENT_WRONG_PAYLOAD, 0);
	assert_int_equal(wire->client.end.counts.damaged, RATE / 100);
	assert_int_equal(wire->server.end.counts.repeated, RATE / 100);
	wire_destroy(wire);
}

static void
test_resets_and_missing_responses_have_causes_of_their_own(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(reset_the_open, &plan);

	(void)state;
	assert_outcomes(wire, 0, CLIENT_RESET, RATE);
	wire_destroy(wire);
	wire = through(swallow_responses, &plan);
	assert_outcomes(wire, 0, CLIENT_NO_RESPONSE, RATE);
	wire_destroy(wire);
}

static void
test_what_is_taken_after_the_handshake_is_sent_then(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(take_nothing_before_the_handshake_is_over, &plan);

	(void)state;
	assert_outcomes(wire, RATE, CLIENT_NO_RESPONSE, 0);
	/* The answer to the SYN is acknowledged by a segment of its own. */
	assert_int_equal(wire->client.end.counts.sent, 5 * RATE);
	assert_int_equal(wire->client.end.counts.repeated, 0);
	assert_int_equal(wire->histogram[1].count, RATE);
	assert_true(wire->histogram[1].maximum < plan.end.repeat_cycles);
	wire_destroy(wire);
}

static void
test_who_takes_nothing_is_asked_as_often_as_anybody_and_given_up(void **state)
{
	struct client_plan plan = wire_client_plan(RATE);
	struct wire *wire = through(take_nothing, &plan);

	(void)state;
	assert_outcomes(wire, 0, CLIENT_NO_RESPONSE, RATE);
	assert_int_equal(wire->server.counts.established, RATE);
	assert_int_equal(wire->server.counts.outcome[SERVER_RESET], RATE);
	/* A byte, as often as a connection attempts to send anything. */
	assert_int_equal(wire->client.end.counts.repeated, 2 * RATE);
	wire_destroy(wire);
	wire = through(take_no_response, &plan);
	assert_outcomes(wire, 0, CLIENT_NO_RESPONSE, RATE);
	/* By then the server has asked after 100 ms, and 200, 400 and 800. */
	assert_int_equal(wire->server.end.counts.repeated, 3 * RATE);
	wire_destroy(wire);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thousandth_syn_that_is_dropped_is_one_without_an_answer),
		cmocka_unit_test(test_answers_from_another_port_are_told_from_none),
		cmocka_unit_test(test_a_full_table_is_seen_by_how_many_were_established),
		cmocka_unit_test(test_a_fin_that_is_forgotten_leaves_a_connection_that_is_not_closed),
		cmocka_unit_test(test_a_byte_that_was_flipped_is_a_wrong_payload),
		cmocka_unit_test(test_a_request_with_a_flipped_byte_is_reset_by_the_server_that_saw_it),
		cmocka_unit_test(test_a_flipped_byte_that_the_checksum_shows_is_damage_and_is_made_good),
		cmocka_unit_test(test_resets_and_missing_responses_have_causes_of_their_own),
		cmocka_unit_test(test_what_is_taken_after_the_handshake_is_sent_then),
		cmocka_unit_test(test_who_takes_nothing_is_asked_as_often_as_anybody_and_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
