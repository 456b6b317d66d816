/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "frame.h"
#include "layers.h"
#include "outer.h"
#include "tunnel.h"

/* Ethernet, tags and labels, up to the IP header. */
static uint16_t
bytes_below_ip(const struct headers *headers)
{
	return (uint16_t)(outer_bytes(&headers->outer) +
		(frame_has_ethernet(headers) ? ETHERNET_BYTES : 0) +
		VLAN_BYTES * headers->vlans + MPLS_BYTES * headers->mpls_labels);
}

static uint16_t
bytes_of_headers(const struct headers *headers)
{
	return (uint16_t)(bytes_below_ip(headers) +
		layer_ip_bytes(headers->layer3) +
		(headers->layer4 == LAYER4_UDP ? UDP_BYTES : TCP_BYTES));
}

uint16_t
frame_smallest(const struct headers *headers)
{
	uint16_t size = (uint16_t)(bytes_of_headers(headers) + TGEN_PAYLOAD_BYTES + TGEN_FCS);

	return size > TGEN_MIN_FRAME ? size : TGEN_MIN_FRAME;
}

static int
check_tags(const struct headers *headers, struct error *error)
{
	unsigned int label;

	if (headers->vlans > 2)
		return error_set(error, -EINVAL, "bad-value",
			"%u VLAN tags: there can be 0 to 2", headers->vlans);
	if (headers->mpls_labels > 3)
		return error_set(error, -EINVAL, "bad-value",
			"%u MPLS labels: there can be 0 to 3", headers->mpls_labels);
	for (label = 0; label < headers->mpls_labels; label++)
		if (headers->mpls[label] >> 20 != 0)
			return error_set(error, -EINVAL, "bad-value",
				"MPLS label %u does not fit in 20 bits", headers->mpls[label]);
	return 0;
}

static int
check_headers(const struct headers *headers, struct error *error)
{
	int result;

	if (headers->layer3 != LAYER3_IPV4 && headers->layer3 != LAYER3_IPV6)
		return error_set(error, -EINVAL, "bad-value",
			"layer 3 is neither IPv4 nor IPv6");
	if (headers->layer4 != LAYER4_UDP && headers->layer4 != LAYER4_TCP)
		return error_set(error, -EINVAL, "bad-value", "layer 4 is neither UDP nor TCP");
	if (headers->dscp > 63)
		return error_set(error, -EINVAL, "bad-value", "DSCP %u is above 63",
			headers->dscp);
	if (headers->ttl == 0)
		return error_set(error, -EINVAL, "bad-value",
			"a TTL of 0 would be dropped by every router: take 1 to 255");
	if ((headers->source_mac[0] & 1) != 0)
		return error_set(error, -EINVAL, "bad-value",
			"the source MAC is a group address");
	result = outer_check(headers, error);
	return result != 0 ? result : check_tags(headers, error);
}

/* Ethernet, VLAN tags, MPLS labels; each type field names what comes next. */
static uint16_t
put_layer2(const struct headers *headers, struct frame *frame, uint16_t at)
{
	uint16_t type = headers->mpls_labels > 0 ? TYPE_MPLS : layer_type_of(headers->layer3);
	uint8_t *bytes = frame->bytes;
	unsigned int i;

	if (!frame_has_ethernet(headers))
		return at;
	frame->ethernet = at;
	at = layer_ethernet(bytes, at, headers->destination_mac, headers->source_mac, type);
	at = layer_vlans(bytes, at, headers->vlans, headers->vlan, type, frame->vlan);
	for (i = 0; i < headers->mpls_labels; i++) {
		uint32_t bottom = i + 1u == headers->mpls_labels;

		if (i == 0)
			frame->mpls = at;
		bytes_put_32(bytes + at, headers->mpls[i] << 12 | bottom << 8 | headers->ttl);
		at += MPLS_BYTES;
	}
	return at;
}

static void
put_layers_3_and_4(const struct headers *headers, struct frame *frame)
{
	bool is_udp = headers->layer4 == LAYER4_UDP;
	const struct layer_ip ip = {
		.layer3 = headers->layer3,
		.dscp = headers->dscp,
		.ttl = headers->ttl,
		.protocol = is_udp ? PROTOCOL_UDP : PROTOCOL_TCP,
		.may_fragment = headers->may_fragment,
		.length = (uint16_t)(frame->length - frame->ip),
		.source = headers->source_ip,
		.destination = headers->destination_ip,
	};
	uint8_t *bytes = frame->bytes;
	uint16_t length;
	uint64_t sum;

	frame->layer4 = layer_ip(bytes, frame->ip, &ip);
	length = (uint16_t)(frame->length - frame->layer4);
	if (is_udp)
		layer_udp(bytes, frame->layer4, length, headers->source_port,
			headers->destination_port);
	else
		layer_tcp(bytes, frame->layer4, headers->source_port, headers->destination_port,
			&headers->tcp);
	/* Of the pseudo header, the header and everything behind it; the checksum field is 0. */
	sum = checksum_add(layer_pseudo_sum(&ip, length), bytes + frame->layer4, length);
	if (is_udp)
		bytes_put_16(bytes + frame->layer4 + 6, checksum_finish_udp(sum));
	else
		bytes_put_16(bytes + frame->layer4 + 16, checksum_finish(sum));
}

int
frame_build(const struct headers *headers, uint16_t size, struct frame *frame,
	struct error *error)
{
	struct tunnel tunnel;
	uint16_t at;
	int result = check_headers(headers, error);

	if (result != 0)
		return result;
	memset(frame, 0, sizeof(*frame));
	frame->smallest = frame_smallest(headers);
	if (size < frame->smallest)
		return error_set(error, -EINVAL, "bad-size",
			"a frame of %u bytes is too small: these headers and the test payload need "
			"%u with FCS", size, frame->smallest);
	if (size > TGEN_MAX_FRAME)
		return error_set(error, -EINVAL, "bad-size",
			"a frame of %u bytes is too large: the most is %u with FCS", size,
			TGEN_MAX_FRAME);
	frame->length = (uint16_t)(size - TGEN_FCS);
	frame->header = bytes_of_headers(headers);
	frame->payload = (uint16_t)(frame->length - TGEN_PAYLOAD_BYTES);
	frame->outer_ethernet = frame->outer_ip = frame->outer_udp = FRAME_ABSENT;
	frame->tunnel = frame->ethernet = frame->mpls = FRAME_ABSENT;
	frame->vlan[0] = frame->vlan[1] = FRAME_ABSENT;
	for (at = frame->header; at < frame->payload; at++)
		frame->bytes[at] = (uint8_t)(at - frame->header);
	frame->ip = put_layer2(headers, frame, outer_put(headers, frame));
	/* The payload is still zero, which adds nothing, just like every real one. */
	put_layers_3_and_4(headers, frame);
	tunnel_init(&tunnel, headers, frame);
	if (tunnel.outer_udp != FRAME_ABSENT)
		tunnel_write(&tunnel, frame->bytes);
	return 0;
}

int
frame_genome(const char *genome, uint16_t *sizes, uint16_t room, struct error *error)
{
	static const uint16_t letters[] = { 64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000 };
	size_t length = strlen(genome), i;

	if (length == 0 || length > room)
		return error_set(error, -EINVAL, "bad-genome",
			"an IMIX genome of %zu letters: there can be 1 to %u", length, room);
	for (i = 0; i < length; i++) {
		if (genome[i] < 'a' || genome[i] > 'i')
			return error_set(error, -EINVAL, "bad-genome",
				"letter %zu of the IMIX genome is not one of a to i: "
				"for other sizes give a list", i + 1);
		sizes[i] = letters[genome[i] - 'a'];
	}
	return (int)length;
}
