/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "checksum.h"
#include "frame.h"
#include "tunnel.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define MPLS_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define TCP_BYTES 20
#define VXLAN_BYTES 8
#define OUTER_BYTES (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + VXLAN_BYTES)

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8
#define TYPE_MPLS 0x8847

#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PORT_VXLAN 4789

#define IPV4_DO_NOT_FRAGMENT 0x4000
#define TCP_ACK 0x10

/* Ethernet, tags and labels, up to the IP header. */
static uint16_t
bytes_below_ip(const struct headers *headers)
{
	return (uint16_t)((headers->vxlan ? OUTER_BYTES : 0) + ETHERNET_BYTES +
		VLAN_BYTES * headers->vlans + MPLS_BYTES * headers->mpls_labels);
}

static uint16_t
bytes_of_headers(const struct headers *headers)
{
	return (uint16_t)(bytes_below_ip(headers) +
		(headers->layer3 == LAYER3_IPV4 ? IPV4_BYTES : IPV6_BYTES) +
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
	if ((headers->source_mac[0] & 1) != 0 ||
	    (headers->vxlan && (headers->outer_source_mac[0] & 1) != 0))
		return error_set(error, -EINVAL, "bad-value",
			"the source MAC is a group address");
	if (headers->vxlan && headers->vni >> 24 != 0)
		return error_set(error, -EINVAL, "bad-value", "VNI %u does not fit in 24 bits",
			headers->vni);
	return check_tags(headers, error);
}

static uint16_t
put_ethernet(uint8_t *bytes, uint16_t at, const uint8_t *destination, const uint8_t *source,
	uint16_t type)
{
	memcpy(bytes + at, destination, 6);
	memcpy(bytes + at + 6, source, 6);
	bytes_put_16(bytes + at + 12, type);
	return (uint16_t)(at + ETHERNET_BYTES);
}

/* `length`: from the first byte of this header to the end of the frame. */
static uint16_t
put_ipv4(uint8_t *bytes, uint16_t at, uint16_t length, const struct headers *headers,
	uint8_t protocol, const uint8_t *source, const uint8_t *destination)
{
	uint8_t *ip = bytes + at;

	memset(ip, 0, IPV4_BYTES);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(headers->dscp << 2);
	bytes_put_16(ip + 2, length);
	bytes_put_16(ip + 6, IPV4_DO_NOT_FRAGMENT);
	ip[8] = headers->ttl;
	ip[9] = protocol;
	memcpy(ip + 12, source, 4);
	memcpy(ip + 16, destination, 4);
	bytes_put_16(ip + 10, checksum_finish(checksum_add(0, ip, IPV4_BYTES)));
	return (uint16_t)(at + IPV4_BYTES);
}

static uint16_t
put_ipv6(uint8_t *bytes, uint16_t at, uint16_t length, const struct headers *headers,
	uint8_t protocol)
{
	uint8_t *ip = bytes + at;

	bytes_put_32(ip, UINT32_C(6) << 28 | (uint32_t)headers->dscp << 22);
	bytes_put_16(ip + 4, (uint16_t)(length - IPV6_BYTES));
	ip[6] = protocol;
	ip[7] = headers->ttl;
	memcpy(ip + 8, headers->source_ip, 16);
	memcpy(ip + 24, headers->destination_ip, 16);
	return (uint16_t)(at + IPV6_BYTES);
}

static uint16_t
put_udp(uint8_t *bytes, uint16_t at, uint16_t length, uint16_t source, uint16_t destination)
{
	bytes_put_16(bytes + at, source);
	bytes_put_16(bytes + at + 2, destination);
	bytes_put_16(bytes + at + 4, length);
	bytes_put_16(bytes + at + 6, 0);
	return (uint16_t)(at + UDP_BYTES);
}

/* A segment in the middle of a connection: no option, whole window. */
static uint16_t
put_tcp(uint8_t *bytes, uint16_t at, uint16_t source, uint16_t destination)
{
	uint8_t *tcp = bytes + at;

	memset(tcp, 0, TCP_BYTES);
	bytes_put_16(tcp, source);
	bytes_put_16(tcp + 2, destination);
	bytes_put_32(tcp + 4, 1);
	bytes_put_32(tcp + 8, 1);
	tcp[12] = (TCP_BYTES / 4) << 4;
	tcp[13] = TCP_ACK;
	bytes_put_16(tcp + 14, UINT16_MAX);
	return (uint16_t)(at + TCP_BYTES);
}

static uint16_t
put_outer(const struct headers *headers, struct frame *frame)
{
	uint8_t *bytes = frame->bytes;
	uint16_t at;

	frame->outer_ethernet = 0;
	frame->outer_ip = put_ethernet(bytes, 0, headers->outer_destination_mac,
		headers->outer_source_mac, TYPE_IPV4);
	frame->outer_udp = put_ipv4(bytes, frame->outer_ip,
		(uint16_t)(frame->length - frame->outer_ip), headers, PROTOCOL_UDP,
		headers->outer_source_ip, headers->outer_destination_ip);
	frame->vxlan = put_udp(bytes, frame->outer_udp,
		(uint16_t)(frame->length - frame->outer_udp), 0, PORT_VXLAN);
	at = frame->vxlan;
	bytes_put_32(bytes + at, UINT32_C(0x08) << 24); /* flag: there is a VNI */
	bytes_put_32(bytes + at + 4, headers->vni << 8);
	return (uint16_t)(at + VXLAN_BYTES);
}

/* Ethernet, VLAN tags, MPLS labels; each type field names what comes next. */
static uint16_t
put_layer2(const struct headers *headers, struct frame *frame, uint16_t at)
{
	uint16_t type = headers->layer3 == LAYER3_IPV4 ? TYPE_IPV4 : TYPE_IPV6;
	uint8_t *bytes = frame->bytes;
	unsigned int i;

	if (headers->mpls_labels > 0)
		type = TYPE_MPLS;
	frame->ethernet = at;
	at = put_ethernet(bytes, at, headers->destination_mac, headers->source_mac, type);
	for (i = 0; i < headers->vlans; i++) {
		bytes_put_16(bytes + at - 2,
			headers->vlans == 2 && i == 0 ? TYPE_QINQ : TYPE_VLAN);
		frame->vlan[i] = at;
		bytes_put_16(bytes + at, headers->vlan[i]);
		bytes_put_16(bytes + at + 2, type);
		at += VLAN_BYTES;
	}
	for (i = 0; i < headers->mpls_labels; i++) {
		uint32_t bottom = i + 1u == headers->mpls_labels;

		if (i == 0)
			frame->mpls = at;
		bytes_put_32(bytes + at, headers->mpls[i] << 12 | bottom << 8 | headers->ttl);
		at += MPLS_BYTES;
	}
	return at;
}

/* The sum of the pseudo header, the header and everything behind it; its checksum field is 0. */
static uint64_t
sum_of_layer4(const struct headers *headers, const struct frame *frame, uint8_t protocol)
{
	uint16_t length = (uint16_t)(frame->length - frame->layer4);
	size_t addresses = headers->layer3 == LAYER3_IPV4 ? 4 : 16;
	uint64_t sum = (uint64_t)protocol + length;

	sum = checksum_add(sum, headers->source_ip, addresses);
	sum = checksum_add(sum, headers->destination_ip, addresses);
	return checksum_add(sum, frame->bytes + frame->layer4, length);
}

static void
put_layers_3_and_4(const struct headers *headers, struct frame *frame)
{
	uint8_t protocol = headers->layer4 == LAYER4_UDP ? PROTOCOL_UDP : PROTOCOL_TCP;
	uint16_t length = (uint16_t)(frame->length - frame->ip);
	uint8_t *bytes = frame->bytes;
	uint64_t sum;

	if (headers->layer3 == LAYER3_IPV4)
		frame->layer4 = put_ipv4(bytes, frame->ip, length, headers, protocol,
			headers->source_ip, headers->destination_ip);
	else
		frame->layer4 = put_ipv6(bytes, frame->ip, length, headers, protocol);
	if (headers->layer4 == LAYER4_UDP) {
		put_udp(bytes, frame->layer4, (uint16_t)(frame->length - frame->layer4),
			headers->source_port, headers->destination_port);
		sum = sum_of_layer4(headers, frame, protocol);
		bytes_put_16(bytes + frame->layer4 + 6, checksum_finish_udp(sum));
	} else {
		put_tcp(bytes, frame->layer4, headers->source_port, headers->destination_port);
		sum = sum_of_layer4(headers, frame, protocol);
		bytes_put_16(bytes + frame->layer4 + 16, checksum_finish(sum));
	}
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
	frame->vxlan = frame->vlan[0] = frame->vlan[1] = frame->mpls = FRAME_ABSENT;
	for (at = frame->header; at < frame->payload; at++)
		frame->bytes[at] = (uint8_t)(at - frame->header);
	at = headers->vxlan ? put_outer(headers, frame) : 0;
	frame->ip = put_layer2(headers, frame, at);
	/* The payload is still zero, which adds nothing, just like every real one. */
	put_layers_3_and_4(headers, frame);
	if (headers->vxlan) {
		tunnel_find(&tunnel, frame, headers->layer3);
		tunnel_write_port(&tunnel, frame->bytes);
	}
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
