/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include "payload.h"
#include "receive_fill.h"

/* So many bytes before the last `end` ones: counted from there, since tags may have come or gone. */
static bool
bytes_intact(const struct rte_mbuf *buffer, uint32_t end, const uint8_t *expected, uint32_t length)
{
	uint8_t copy[TGEN_MAX_FRAME];
	const void *bytes;

	if (buffer->pkt_len < length + end)
		return false;
	bytes = rte_pktmbuf_read(buffer, buffer->pkt_len - end - length, length, copy);
	return bytes != NULL && memcmp(bytes, expected, length) == 0;
}

bool
fill_intact(const struct watch *watch, const struct rte_mbuf *buffer, uint64_t sequence)
{
	const struct template *template;
	const struct replay_frame *frame;

	if (watch->replay != NULL) {
		frame = replay_frame_of(watch->replay, sequence);
		return frame->mark == REPLAY_UNMARKED || bytes_intact(buffer,
			frame->length - frame->mark, watch->replay->bytes + frame->offset +
			frame->fill, frame->mark - frame->fill);
	}
	template = template_of(watch, sequence);
	return bytes_intact(buffer, TGEN_PAYLOAD_BYTES, template->frame->bytes + template->header,
		template->payload - template->header);
}
