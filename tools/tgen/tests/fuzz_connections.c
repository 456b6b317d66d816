/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/*
 * Whatever arrives at a client and a server of TCP or UDP, neither reads past a frame, and all connections
 * are accounted for: frames of real connections with a few fields changed and checksums made right again, and others.
 * Every input follows from the seed and its number: fuzz_connections SECONDS SEED FROM repeats from there.
 */

#include <stdio.h>
#include <time.h>

#include "wire.h"

#include "bytes.h"
#include "checksum.h"
#include "layers.h"

#define STEPS 300
#define IP 14
#define TCP 34

/* Make both checksums right, as far as the frame says where they are. */
static void
mend(uint8_t *frame, uint16_t bytes)
{
	uint16_t header = (frame[IP] & 0xf) * 4, whole = bytes_get_16(frame + IP + 2), length;
	uint16_t at = frame[IP + 9] == PROTOCOL_TCP ? 16 : frame[IP + 9] == PROTOCOL_UDP ? 6 : 2;
	const struct layer_ip pseudo = {
		.layer3 = LAYER3_IPV4, .protocol = frame[IP + 9],
		.source = frame + IP + 12, .destination = frame + IP + 16,
	};

	if (header < 20 || whole < header + 20 || IP + whole > bytes)
		return;
	length = whole - header;
	bytes_put_16(frame + IP + 10, 0);
	bytes_put_16(frame + IP + 10, checksum_finish(checksum_add(0, frame + IP, header)));
	bytes_put_16(frame + IP + header + at, 0);
	bytes_put_16(frame + IP + header + at, checksum_finish(checksum_add(
		frame[IP + 9] == PROTOCOL_ICMP ? 0 : layer_pseudo_sum(&pseudo, length),
		frame + IP + header, length)));
}

/* Now and then a few bytes of a frame are others; mostly those of headers, and mostly mended. */
static bool
change(struct wire *wire, enum wire_way way, uint8_t *frame, uint16_t bytes)
{
	unsigned int changes = unit_random(&wire->seed) % 8 == 0 ?
		1 + unit_random(&wire->seed) % 3 : 0;

	(void)way;
	while (changes-- > 0) {
		unsigned int at = IP + unit_random(&wire->seed) % (unit_random(&wire->seed) % 4 == 0 ?
			(unsigned int)bytes - IP : 44u);

		frame[at] = unit_random(&wire->seed) % 2 == 0 ? (uint8_t)unit_random(&wire->seed) :
			frame[at] ^ 1 << unit_random(&wire->seed) % 8;
	}
	if (unit_random(&wire->seed) % 8 != 0)
		mend(frame, bytes);
	return true;
}

/* To whom there are connections, whoever it was for. */
static void
hand_segment(struct wire *wire, const uint8_t *frame, uint16_t bytes)
{
	struct segment segment;

	if (segment_read(frame, bytes, &segment) != PACKET_READ)
		return;
	segment.destination = (struct packet_end){ WIRE_SERVER_IP, 80 };
	server_receive(&wire->server, &segment, wire->now);
	segment.destination = (struct packet_end){ WIRE_CLIENT_IP, 1024 };
	segment.source = (struct packet_end){ WIRE_SERVER_IP, 80 };
	client_receive(&wire->client, &segment, wire->now);
}

static void
hand_datagram(struct wire *wire, const uint8_t *frame, uint16_t bytes)
{
	const struct packet_end server = { WIRE_SERVER_IP, 80 }, client = { WIRE_CLIENT_IP, 1024 };
	struct datagram datagram;

	if (datagram_read(frame, bytes, &datagram) != PACKET_READ)
		return;
	datagram.destination = server;
	server_receive_datagram(&wire->server, &datagram, wire->now);
	datagram.source = datagram.is_unreachable ? client : server;
	datagram.destination = datagram.is_unreachable ? server : client;
	client_receive_datagram(&wire->client, &datagram, wire->now);
}

/* A frame of exactly so many bytes, so that reading past its end is noticed. */
static void
throw_in(struct wire *wire)
{
	static const uint8_t protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_ICMP };
	uint16_t bytes = unit_random(&wire->seed) % 100;
	uint8_t *frame = malloc(bytes + (bytes == 0));
	uint16_t i;

	for (i = 0; i < bytes; i++)
		frame[i] = (uint8_t)unit_random(&wire->seed);
	if (bytes > TCP) {
		memcpy(frame + 12, "\x08\x00\x45\x00\x00", 5);
		frame[17] = (uint8_t)(bytes - IP);
		frame[23] = protocols[unit_random(&wire->seed) % 3];
		memset(frame + 20, 0, 2); /* a whole packet */
		if (frame[23] == PROTOCOL_UDP && bytes >= TCP + 6)
			bytes_put_16(frame + TCP + 4, (uint16_t)(bytes - TCP));
		if (frame[23] == PROTOCOL_ICMP && unit_random(&wire->seed) % 2 != 0)
			frame[TCP] = 3;
		mend(frame, bytes);
	}
	if (wire->client.end.plan.transport == TRANSPORT_UDP)
		hand_datagram(wire, frame, bytes);
	else
		hand_segment(wire, frame, bytes);
	free(frame);
}

static void
run_one(uint64_t seed, uint64_t number)
{
	uint64_t state = seed ^ number * UINT64_C(0xd1342543de82ef95);
	struct client_plan plan = wire_client_plan(2000);
	struct wire *wire;
	unsigned int i;

	plan.end.transport = (enum transport)(unit_random(&state) % 2);
	plan.turned = unit_random(&state) % 2 * (64512 - 1 - unit_random(&state) % 10);
	plan.end.ports = 1 + unit_random(&state) % 20;
	plan.requests = 1 + unit_random(&state) % 3;
	plan.pause_cycles = unit_random(&state) % 2 * 10 * WIRE_STEP;
	plan.hold_cycles = unit_random(&state) % 2 * 10 * WIRE_STEP;
	if (unit_random(&state) % 2 != 0) {
		plan.requests = 1;
		plan.intended = 20;
		plan.asking = (struct asking_plan){
			.rate_mfps = UINT64_C(20000) * 1000, .intended = 1 + unit_random(&state) % 300,
			.duration_cycles = 150 * WIRE_STEP, .grace_cycles = WIRE_STEP,
			.quiet_cycles = 5 * WIRE_STEP,
		};
	}
	plan.end.repeat_cycles = 20 * WIRE_STEP;
	plan.end.patience_cycles = 50 * WIRE_STEP;
	if (plan.end.transport == TRANSPORT_UDP) {
		wire = wire_create(&plan, CONTENT_BYTES, 200, 100 + unit_random(&state) % 1300);
	} else {
		wire = wire_create(&plan, (enum content_kind)(unit_random(&state) % 2), 200,
			100 + unit_random(&state) % 4000);
		wire->request.is_known = wire->response.is_known = unit_random(&state) % 2;
	}
	wire->seed = state;
	wire->lost = wire->twice = wire->late = 20000;
	wire->full = 10000;
	wire->device = change;
	client_begin(&wire->client, wire->now);
	for (i = 0; i < STEPS; i++) {
		wire_step(wire);
		throw_in(wire);
	}
	wire_check(wire, false);
	client_end(&wire->client, wire->now, 0, UINT32_MAX);
	server_end(&wire->server, wire->now, 0, UINT32_MAX);
	wire_check(wire, true);
	wire_destroy(wire);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 0) : 0, first = number;
	time_t end = time(NULL) + (time_t)seconds;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	for (; time(NULL) < end; number++) {
		if (number % 100 == 0)
			printf("from %llu\n", (unsigned long long)number);
		run_one(seed, number);
	}
	printf("%llu inputs\n", (unsigned long long)(number - first));
	return 0;
}
