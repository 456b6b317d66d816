/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Marks in frames of a file: where there is room, with checksums as right or wrong as they were. */

#include "unit.h"

#include "replay.h"
#include "samples.h"

/* Of the file: what our own generator makes, with another payload in place of the test payload. */
static void
build(const struct headers *headers, uint16_t size, struct frame *frame, uint64_t *seed)
{
	struct error error = { 0 };
	uint64_t sum;
	unsigned int i;
	uint8_t *where;

	assert_int_equal(frame_build(headers, size, frame, &error), 0);
	for (i = frame->header; i < frame->length; i++)
		frame->bytes[i] = (uint8_t)unit_random(seed);
	where = frame->bytes + frame->layer4 + (headers->layer4 == LAYER4_UDP ? 6 : 16);
	bytes_put_16(where, 0);
	sum = (uint16_t)~sample_layer4_sum(frame);
	bytes_put_16(where, sum != 0 ? (uint16_t)sum : UINT16_MAX);
	assert_int_equal(sample_layer4_sum(frame), UINT16_MAX);
}

static void
a_mark_keeps_checksums_right_at_odd_places_too(void **state)
{
	uint64_t seed = 3;
	unsigned int round;

	(void)state;
	for (round = 0; round < 4000; round++) {
		struct headers headers = sample_headers();
		struct payload payload = { .trial = 3, .sequence = round, .departure = seed };
		struct frame frame;
		uint16_t mark, fill = 0;

		headers.layer3 = round & 1 ? LAYER3_IPV6 : LAYER3_IPV4;
		headers.layer4 = round & 2 ? LAYER4_TCP : LAYER4_UDP;
		headers.vlans = round % 3;
		build(&headers, (uint16_t)(120 + unit_random(&seed) % 200), &frame, &seed);
		mark = replay_mark(frame.bytes, frame.length, &fill);
		assert_int_equal(mark, frame.length - TGEN_PAYLOAD_BYTES);
		assert_int_equal(fill, frame.header);
		assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
		payload_write(frame.bytes + mark, &payload);
		assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX);
	}
}

static void
a_checksum_that_was_wrong_stays_wrong_by_as_much(void **state)
{
	struct headers headers = sample_headers();
	struct frame frame;
	uint64_t seed = 5;
	uint16_t fill;

	(void)state;
	build(&headers, 128, &frame, &seed);
	bytes_put_16(frame.bytes + frame.layer4 + 6, checksum_change(
		bytes_get_16(frame.bytes + frame.layer4 + 6), (uint16_t)0, (uint16_t)77));
	assert_true(replay_mark(frame.bytes, frame.length, &fill) != REPLAY_UNMARKED);
	assert_int_equal(sample_layer4_sum(&frame), UINT16_MAX - 77);
}

static void
udp_without_a_checksum_gets_none(void **state)
{
	struct headers headers = sample_headers();
	struct frame frame;
	uint64_t seed = 5;
	uint16_t fill;

	(void)state;
	build(&headers, 128, &frame, &seed);
	bytes_put_16(frame.bytes + frame.layer4 + 6, 0);
	assert_true(replay_mark(frame.bytes, frame.length, &fill) != REPLAY_UNMARKED);
	assert_int_equal(bytes_get_16(frame.bytes + frame.layer4 + 6), 0);
}

static void
a_trailer_stays_behind_the_mark(void **state)
{
	struct headers headers = sample_headers();
	struct frame frame;
	uint64_t seed = 5;
	uint16_t mark, fill;

	(void)state;
	build(&headers, 128, &frame, &seed);
	memset(frame.bytes + frame.length, 0x5a, 7);
	mark = replay_mark(frame.bytes, (uint16_t)(frame.length + 7), &fill);
	assert_int_equal(mark, frame.length - TGEN_PAYLOAD_BYTES);
	assert_int_equal(frame.bytes[frame.length], 0x5a);
}

/* Each change makes a frame that nobody may write into. */
static void
frames_without_room_are_left_as_they_are(void **state)
{
	static const struct {
		const char *what;
		uint16_t offset; /* from the IP header */
		uint8_t value;
	} changes[] = {
		{ "no IP", 0, 0x00 }, { "options longer than the packet", 0, 0x4f },
		{ "longer than the frame", 2, 0x7f }, { "more fragments", 6, 0x20 },
		{ "a later fragment", 7, 1 }, { "GRE", 9, 47 }, { "ICMP", 9, 1 },
		{ "to GTP-U", 22, 2152 >> 8 }, { "UDP and IP disagree", 25, 40 },
	};
	struct headers headers = sample_headers();
	struct frame frame, before;
	uint64_t seed = 5;
	unsigned int i;
	uint16_t fill;

	(void)state;
	headers.destination_port = 2152 & UINT8_MAX;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		build(&headers, 64 + (i == 1), &frame, &seed);
		frame.bytes[frame.ip + changes[i].offset] = changes[i].value;
		before = frame;
		assert_int_equal(replay_mark(frame.bytes, frame.length, &fill), REPLAY_UNMARKED);
		assert_memory_equal(frame.bytes, before.bytes, frame.length);
	}
}

static void
a_payload_needs_eighteen_bytes(void **state)
{
	struct headers headers = sample_headers();
	struct frame frame;
	uint64_t seed = 5;
	uint16_t fill;

	(void)state;
	build(&headers, 64, &frame, &seed);
	assert_int_equal(replay_mark(frame.bytes, frame.length, &fill), 42);
	build(&headers, 64, &frame, &seed);
	bytes_put_16(frame.bytes + frame.ip + 2, 20 + 8 + 17);
	bytes_put_16(frame.bytes + frame.layer4 + 4, 8 + 17);
	assert_int_equal(replay_mark(frame.bytes, frame.length, &fill), REPLAY_UNMARKED);
}

/* As it was captured from tgen: the mark in the tunnel is tgen's own, and may be another one. */
static void
an_old_mark_in_a_tunnel_gives_way_to_a_new_one(void **state)
{
	struct payload payload = { .trial = 9, .sequence = 5, .departure = 77 };
	struct headers headers = sample_headers();
	struct error error = { 0 };
	struct frame frame;
	uint16_t fill;

	(void)state;
	sample_outer(&headers, ENCAPSULATION_VXLAN, LAYER3_IPV4, 7);
	assert_int_equal(frame_build(&headers, 128, &frame, &error), 0);
	assert_int_equal(replay_mark(frame.bytes, frame.length, &fill), REPLAY_UNMARKED);
	payload_write(frame.bytes + frame.payload, &payload);
	assert_int_equal(replay_mark(frame.bytes, frame.length, &fill), frame.payload);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_keeps_checksums_right_at_odd_places_too),
		cmocka_unit_test(a_checksum_that_was_wrong_stays_wrong_by_as_much),
		cmocka_unit_test(udp_without_a_checksum_gets_none),
		cmocka_unit_test(a_trailer_stays_behind_the_mark),
		cmocka_unit_test(frames_without_room_are_left_as_they_are),
		cmocka_unit_test(a_payload_needs_eighteen_bytes),
		cmocka_unit_test(an_old_mark_in_a_tunnel_gives_way_to_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
