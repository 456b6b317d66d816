/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ether.h>

#include "bytes.h"
#include "checksum.h"
#include "payload.h"
#include "pcap.h"
#include "replay.h"

#define LEAST (TGEN_MIN_FRAME - TGEN_FCS)
#define ETHERNET_HEADER 14
#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define UDP_HEADER 8
#define TCP_HEADER 20
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define FRAGMENT_BITS 0x3fff /* more of them, or not the first one */

/* From the start of the frame. */
struct layers {
	uint16_t layer4, end; /* of the IP packet */
	uint8_t protocol;
};

static bool
find_ipv4(const uint8_t *bytes, uint16_t length, uint16_t ip, struct layers *layers)
{
	uint16_t header, total;

	if (length - ip < IPV4_HEADER || bytes[ip] >> 4 != 4)
		return false;
	header = (bytes[ip] & 0xf) * 4;
	total = bytes_get_16(bytes + ip + 2);
	if (header < IPV4_HEADER || total < header || total > length - ip)
		return false;
	/* The checksum of a fragment is in another frame. */
	if ((bytes_get_16(bytes + ip + 6) & FRAGMENT_BITS) != 0)
		return false;
	layers->protocol = bytes[ip + 9];
	layers->layer4 = ip + header;
	layers->end = ip + total;
	return true;
}

/* Extension headers are not looked behind. */
static bool
find_ipv6(const uint8_t *bytes, uint16_t length, uint16_t ip, struct layers *layers)
{
	uint16_t payload;

	if (length - ip < IPV6_HEADER || bytes[ip] >> 4 != 6)
		return false;
	payload = bytes_get_16(bytes + ip + 4);
	if (payload > length - ip - IPV6_HEADER)
		return false;
	layers->protocol = bytes[ip + 6];
	layers->layer4 = ip + IPV6_HEADER;
	layers->end = layers->layer4 + payload;
	return true;
}

static bool
find_layers(const uint8_t *bytes, uint16_t length, struct layers *layers)
{
	uint16_t offset = 2 * RTE_ETHER_ADDR_LEN, type = bytes_get_16(bytes + offset);

	while ((type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) &&
			length - offset >= 2 + 4) {
		offset += 4;
		type = bytes_get_16(bytes + offset);
	}
	offset += 2;
	if (type == RTE_ETHER_TYPE_IPV4)
		return find_ipv4(bytes, length, offset, layers);
	return type == RTE_ETHER_TYPE_IPV6 && find_ipv6(bytes, length, offset, layers);
}

/* What such a port carries has a frame of its own inside, which a mark would damage. */
static bool
is_tunnel(uint16_t port)
{
	static const uint16_t ports[] = {
		1701 /* L2TP */, 2152 /* GTP-U */, 4500 /* IPsec */, 4754 /* GRE */, 4789 /* VXLAN */,
		4790 /* VXLAN-GPE */, 6081 /* Geneve */, 6635 /* MPLS */, 8472 /* VXLAN, as of Linux */,
	};
	unsigned int i;

	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		if (port == ports[i])
			return true;
	return false;
}

/* Where the payload of UDP or TCP begins; 0 when it is neither, or not one that we may change. */
static uint16_t
find_payload(const uint8_t *bytes, const struct layers *layers)
{
	const uint8_t *header = bytes + layers->layer4;
	uint16_t size = layers->end - layers->layer4;

	if (layers->protocol == PROTOCOL_UDP && size >= UDP_HEADER &&
			bytes_get_16(header + 4) == size && !is_tunnel(bytes_get_16(header)) &&
			!is_tunnel(bytes_get_16(header + 2)))
		return layers->layer4 + UDP_HEADER;
	if (layers->protocol == PROTOCOL_TCP && size >= TCP_HEADER &&
			header[12] >> 4 >= TCP_HEADER / 4 && (header[12] >> 4) * 4 <= size)
		return layers->layer4 + (header[12] >> 4) * 4;
	return 0;
}

/*
 * Any mark adds up to zero, so what is left is to take the bytes out of the checksum that it will
 * stand in place of.
 */
static void
mend_checksum(uint8_t *bytes, const struct layers *layers, uint16_t mark)
{
	bool is_udp = layers->protocol == PROTOCOL_UDP;
	uint8_t *where = bytes + layers->layer4 + (is_udp ? 6 : 16);
	uint16_t checksum = bytes_get_16(where);
	uint16_t sum = checksum_fold(checksum_add(0, bytes + mark, TGEN_PAYLOAD_BYTES));
	uint64_t rest;

	if (is_udp && checksum == 0)
		return; /* there is none */
	if ((mark - layers->layer4) % 2 != 0)
		sum = (uint16_t)(sum << 8 | sum >> 8);
	rest = checksum_without(checksum, sum);
	bytes_put_16(where, is_udp ? checksum_finish_udp(rest) : checksum_finish(rest));
}

uint16_t
replay_mark(uint8_t *bytes, uint16_t length, uint16_t *fill)
{
	uint16_t mark = length - TGEN_PAYLOAD_BYTES, payload = 0;
	struct payload old;
	struct layers layers;

	if (find_layers(bytes, length, &layers))
		payload = find_payload(bytes, &layers);
	if (payload != 0 && layers.end - payload >= TGEN_PAYLOAD_BYTES) {
		mark = layers.end - TGEN_PAYLOAD_BYTES;
		mend_checksum(bytes, &layers, mark);
		memset(bytes + mark, 0, TGEN_PAYLOAD_BYTES);
		*fill = payload;
		return mark;
	}
	/* A frame that tgen once made, in a tunnel: a new mark takes the place of its old one. */
	if (payload_read(bytes + mark, &old) == PAYLOAD_OURS) {
		*fill = mark;
		return mark;
	}
	*fill = length;
	return REPLAY_UNMARKED;
}

/* What is wrong with this very frame, if anything. */
static int
check_frame(const struct pcap *pcap, const struct pcap_frame *frame, uint16_t longest,
	struct error *error)
{
	uint32_t number = pcap->frame;

	if (frame->captured < frame->length)
		return error_set(error, -EINVAL, "bad-file",
			"of frame %" PRIu32 " there are %" PRIu32 " of %" PRIu32 " bytes: it was cut "
			"when it was captured; capture whole frames (tcpdump -s 0)",
			number, frame->captured, frame->length);
	if (frame->captured > frame->length)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " is said to have %" PRIu32 " bytes, and %" PRIu32
			" were captured: the file is damaged", number, frame->length,
			frame->captured);
	if (frame->captured < ETHERNET_HEADER)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " has %" PRIu32 " bytes, too few for Ethernet", number,
			frame->captured);
	if (frame->captured + TGEN_FCS > longest)
		return error_set(error, -EINVAL, "bad-file",
			"frame %" PRIu32 " has %" PRIu32 " bytes with its FCS, and the port takes "
			"%u (--max-frame)", number, frame->captured + TGEN_FCS, longest);
	if (number > REPLAY_MOST_FRAMES)
		return error_set(error, -E2BIG, "bad-file", "it has more than %" PRIu32 " frames",
			REPLAY_MOST_FRAMES);
	return 0;
}

/* Look at every frame: how many there are, and how many bytes they take. */
static int
measure(const void *bytes, size_t length, uint16_t longest, uint32_t *frames, size_t *total,
	struct error *error)
{
	struct pcap_frame frame;
	struct pcap pcap;
	int ret = pcap_begin(&pcap, bytes, length, error);

	if (ret != 0)
		return ret;
	*total = 0;
	while ((ret = pcap_next(&pcap, &frame, error)) > 0) {
		ret = check_frame(&pcap, &frame, longest, error);
		if (ret != 0)
			return ret;
		*total += frame.captured > LEAST ? frame.captured : LEAST;
	}
	*frames = pcap.frame;
	if (ret == 0 && *frames == 0)
		return error_set(error, -EINVAL, "bad-file", "there is no frame in it");
	return ret;
}

static void
take_frame(struct replay *replay, const struct pcap_frame *from, struct replay_frame *frame)
{
	uint8_t *bytes = replay->bytes + frame->offset;

	frame->length = (uint16_t)(from->captured > LEAST ? from->captured : LEAST);
	memcpy(bytes, from->bytes, from->captured);
	memset(bytes + from->captured, 0, frame->length - from->captured);
	replay->padded += from->captured < LEAST;
	frame->mark = replay_mark(bytes, frame->length, &frame->fill);
	replay->unmarked += frame->mark == REPLAY_UNMARKED;
	replay->sum += frame->length + TGEN_FCS;
	if (frame->length > replay->longest)
		replay->longest = frame->length;
	if (frame->length < replay->shortest)
		replay->shortest = frame->length;
}

/* The clock of a capture may step back: such a frame follows the one before it at once. */
static void
take_all(struct replay *replay, const void *bytes, size_t length)
{
	uint64_t first_ns = 0, last_ns = 0;
	struct pcap_frame frame = { 0 };
	struct error error;
	struct pcap pcap;
	uint32_t offset = 0, i;

	pcap_begin(&pcap, bytes, length, &error);
	replay->shortest = UINT16_MAX;
	for (i = 0; i < replay->frames; i++) {
		pcap_next(&pcap, &frame, &error);
		if (i == 0)
			first_ns = frame.when_ns;
		if (frame.when_ns > first_ns && frame.when_ns - first_ns > last_ns)
			last_ns = frame.when_ns - first_ns;
		replay->frame[i].when_ns = last_ns;
		replay->frame[i].offset = offset;
		take_frame(replay, &frame, &replay->frame[i]);
		offset += replay->frame[i].length;
	}
	/* The next round begins after the mean distance of two frames. */
	if (last_ns != 0)
		replay->period_ns = last_ns + last_ns / (replay->frames - 1);
}

struct replay *
replay_parse(const void *bytes, size_t length, uint16_t longest, struct error *error)
{
	struct replay *replay;
	uint32_t frames;
	size_t total;

	if (measure(bytes, length, longest, &frames, &total, error) != 0)
		return NULL;
	replay = calloc(1, sizeof(*replay));
	if (replay != NULL) {
		replay->frames = frames;
		replay->frame = calloc(frames, sizeof(*replay->frame));
		replay->bytes = malloc(total);
	}
	if (replay == NULL || replay->frame == NULL || replay->bytes == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory for its %" PRIu32 " frames", frames);
		replay_free(replay);
		return NULL;
	}
	take_all(replay, bytes, length);
	if (replay->frame[frames - 1].when_ns > REPLAY_MOST_NS) {
		error_set(error, -EINVAL, "bad-file",
			"its last frame comes more than 30 days after its first one");
		replay_free(replay);
		return NULL;
	}
	return replay;
}

void
replay_free(struct replay *replay)
{
	if (replay == NULL)
		return;
	free(replay->frame);
	free(replay->bytes);
	free(replay);
}

/* Not of a pipe or a device, whose end may never come; NULL with an error's text. */
static void *
read_file(int file, uint64_t room, uint64_t *size, struct error *error)
{
	struct stat facts;
	size_t done = 0;
	ssize_t got;
	char *bytes;

	if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
		error_set(error, -EINVAL, "bad-file", "it is no regular file");
		return NULL;
	}
	if ((uint64_t)facts.st_size > room) {
		error_set(error, -E2BIG, "bad-file",
			"it has %" PRIu64 " bytes; all files together may have %" PRIu64,
			(uint64_t)facts.st_size, (uint64_t)REPLAY_MOST_BYTES);
		return NULL;
	}
	*size = (uint64_t)facts.st_size;
	bytes = malloc(*size + 1);
	if (bytes == NULL) {
		error_set(error, -ENOMEM, "no-memory", "no memory for its %" PRIu64 " bytes", *size);
		return NULL;
	}
	while (done < *size) {
		got = read(file, bytes + done, *size - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			error_set(error, -EIO, "bad-file", "%s",
				got < 0 ? strerror(errno) : "it became shorter while it was read");
			free(bytes);
			return NULL;
		}
		done += (size_t)got;
	}
	return bytes;
}

struct replay *
replay_read(const char *path, uint16_t longest, uint64_t room, uint64_t *size,
	struct error *error)
{
	/* Without waiting for the other end, should it be a pipe. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct replay *replay = NULL;
	struct error why = { 0 };
	void *bytes = NULL;

	if (file < 0)
		error_set(&why, -errno, "bad-file", "%s", strerror(errno));
	else
		bytes = read_file(file, room, size, &why);
	if (file >= 0)
		close(file);
	if (bytes != NULL)
		replay = replay_parse(bytes, *size, longest, &why);
	free(bytes);
	if (replay == NULL)
		error_set(error, -EINVAL, why.code, "%s: %s", path, why.text);
	return replay;
}

uint64_t
replay_count_unmarked(const struct replay *replay, uint64_t frames)
{
	uint64_t count = frames / replay->frames * replay->unmarked;
	uint32_t i, rest = (uint32_t)(frames % replay->frames);

	for (i = 0; i < rest; i++)
		count += replay->frame[i].mark == REPLAY_UNMARKED;
	return count;
}
