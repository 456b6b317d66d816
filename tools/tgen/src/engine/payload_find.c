/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include <rte_ether.h>

#include "bytes.h"
#include "payload_find.h"
#include "traffic.h"

/* Where the network layer says that the frame ends; 0 when it says nothing that we know. */
static uint32_t
find_end(const uint8_t *bytes, uint32_t length)
{
	uint32_t offset = 2 * RTE_ETHER_ADDR_LEN, end;
	uint16_t type;

	if (length < offset + 2)
		return 0;
	type = bytes_get_16(bytes + offset);
	while (type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) {
		offset += 4;
		if (length < offset + 2)
			return 0;
		type = bytes_get_16(bytes + offset);
	}
	offset += 2;
	if (length < offset + 6)
		return 0;
	if (type == RTE_ETHER_TYPE_IPV4)
		end = offset + bytes_get_16(bytes + offset + 2);
	else if (type == RTE_ETHER_TYPE_IPV6)
		end = offset + 40 + bytes_get_16(bytes + offset + 4);
	else
		return 0;
	return end < length ? end : 0;
}

/*
 * Read the payload of a frame that has it not intact at its end: something on the way may have put
 * padding or a trailer behind it (then it ends where IP says). Whatever is neither is foreign.
 */
static enum payload_state
read_bytes(const uint8_t *bytes, uint32_t length, uint8_t trial, uint8_t streams,
	struct payload *payload)
{
	const uint8_t *last = bytes + length - TGEN_PAYLOAD_BYTES;
	enum payload_state state = payload_read(last, payload);
	uint8_t mended[TGEN_PAYLOAD_BYTES];
	bool plausible;
	uint32_t end;

	if (state != PAYLOAD_FOREIGN)
		return state;
	plausible = payload->trial == trial && payload->stream < streams;
	end = find_end(bytes, length);
	if (end >= TGEN_PAYLOAD_BYTES) {
		state = payload_read(bytes + end - TGEN_PAYLOAD_BYTES, payload);
		if (state != PAYLOAD_FOREIGN)
			return state;
	}
	if (likely(!plausible))
		return PAYLOAD_FOREIGN;
	/* With the right magic it adds up: what was damaged is the magic itself. */
	memcpy(mended, last, TGEN_PAYLOAD_BYTES);
	mended[0] = TGEN_MAGIC & UINT8_MAX;
	mended[1] = TGEN_MAGIC >> 8;
	return payload_read(mended, payload) == PAYLOAD_OURS ? PAYLOAD_CORRUPTED : PAYLOAD_FOREIGN;
}

static __rte_noinline enum payload_state
read_segments(const struct rte_mbuf *buffer, uint8_t trial, uint8_t streams,
	struct payload *payload)
{
	uint8_t copy[TGEN_MAX_FRAME];
	const uint8_t *bytes;

	if (buffer->pkt_len > sizeof(copy))
		return PAYLOAD_FOREIGN;
	bytes = rte_pktmbuf_read(buffer, 0, buffer->pkt_len, copy);
	if (bytes == NULL)
		return PAYLOAD_FOREIGN;
	return read_bytes(bytes, buffer->pkt_len, trial, streams, payload);
}

enum payload_state
payload_find(const struct rte_mbuf *buffer, uint8_t trial, uint8_t streams,
	struct payload *payload)
{
	if (buffer->pkt_len < TGEN_MIN_FRAME - TGEN_FCS)
		return PAYLOAD_FOREIGN;
	if (buffer->nb_segs != 1)
		return read_segments(buffer, trial, streams, payload);
	return read_bytes(rte_pktmbuf_mtod(buffer, const uint8_t *), buffer->data_len, trial,
		streams, payload);
}
