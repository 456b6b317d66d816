/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "layers.h"
#include "tunnel.h"

/* The outer UDP checksum's sum, without the port and whatever else varies. */
static uint64_t
sum_of_rest(const struct tunnel *tunnel, const struct outer *outer, const struct frame *frame)
{
	const struct layer_ip ip = {
		.layer3 = outer->layer3,
		.protocol = PROTOCOL_UDP,
		.source = outer->source_ip,
		.destination = outer->destination_ip,
	};
	uint16_t length = (uint16_t)(frame->length - frame->outer_udp);
	uint64_t sum = checksum_add(layer_pseudo_sum(&ip, length),
		frame->bytes + frame->outer_udp, length);

	/* The complement subtracts; so do the port and the checksum that may be there already. */
	sum += (uint16_t)~checksum_fold(tunnel_varying(tunnel, frame->bytes));
	sum += (uint16_t)~bytes_get_16(frame->bytes + frame->outer_udp);
	return sum + (uint16_t)~bytes_get_16(frame->bytes + tunnel->checksum);
}

void
tunnel_init(struct tunnel *tunnel, const struct headers *headers, const struct frame *frame)
{
	const struct outer *outer = &headers->outer;
	bool is_ipv4 = headers->layer3 == LAYER3_IPV4;

	memset(tunnel, 0, sizeof(*tunnel));
	tunnel->outer_udp = frame->outer_udp;
	tunnel->checksum = FRAME_ABSENT;
	tunnel->ethernet = frame->ethernet;
	tunnel->vlan = frame->vlan[0];
	tunnel->addresses = (uint16_t)(frame->layer4 - (is_ipv4 ? 8 : 32));
	tunnel->addresses_end = (uint16_t)(frame->layer4 + 4);
	tunnel->addresses_subtracted = is_ipv4 ? frame->layer4 : tunnel->addresses;
	if (frame->outer_udp == FRAME_ABSENT || outer->layer3 == LAYER3_IPV4)
		return;
	tunnel->id = (uint16_t)(frame->tunnel + 4);
	tunnel->checksum = (uint16_t)(frame->outer_udp + 6);
	tunnel->sum = sum_of_rest(tunnel, outer, frame);
}
