/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <rte_memcpy.h>

#include <rte_mbuf.h>

#include "transmit_replay.h"

static void
write_frame(struct rte_mbuf *buffer, const struct replay *replay, const struct replay_frame *frame)
{
	buffer->data_off = RTE_PKTMBUF_HEADROOM;
	buffer->ol_flags = 0;
	buffer->packet_type = 0;
	buffer->pkt_len = frame->length;
	buffer->data_len = frame->length;
	buffer->hash.usr = 0; /* holds no stream's fill bytes any more */
	rte_memcpy((uint8_t *)buffer->buf_addr + RTE_PKTMBUF_HEADROOM,
		replay->bytes + frame->offset, frame->length);
}

void
replay_build(struct sender *sender, unsigned int count)
{
	const struct replay *replay = sender->replay;
	unsigned int i;

	for (i = sender->held; i < sender->held + count; i++) {
		const struct replay_frame *frame = &replay->frame[sender->position];

		if (++sender->position == replay->frames)
			sender->position = 0;
		write_frame(sender->buffer[i], replay, frame);
		sender->length[i] = frame->length;
	}
}

void
replay_stamp(struct sender *sender, struct payload payload)
{
	const struct replay *replay = sender->replay;
	uint32_t position = (uint32_t)(payload.sequence % replay->frames);
	unsigned int i;

	for (i = 0; i < sender->held; i++) {
		const struct replay_frame *frame = &replay->frame[position];

		if (frame->mark != REPLAY_UNMARKED)
			payload_write((uint8_t *)sender->buffer[i]->buf_addr +
				RTE_PKTMBUF_HEADROOM + frame->mark, &payload);
		payload.sequence++;
		if (++position == replay->frames)
			position = 0;
	}
}

unsigned int
replay_marked(const struct sender *sender, unsigned int count)
{
	const struct replay *replay = sender->replay;
	uint64_t first = sender->next - sender->held;
	unsigned int marked = 0, i;

	for (i = 0; i < count; i++)
		marked += replay_frame_of(replay, first + i)->mark != REPLAY_UNMARKED;
	return marked;
}

void
replay_note_departures(struct sender *sender, unsigned int taken, uint64_t departure)
{
	uint64_t first = sender->next - sender->held, due = pacer_when(&sender->pacer, first);
	unsigned int i;

	for (i = 0; i < taken; i++) {
		uint64_t when = pacer_when(&sender->pacer, first + i);

		histogram_add(sender->departure_error,
			(int64_t)(departure - when) > 0 ? departure - when : 0);
	}
	/* What a stall held up is caught up with at no more than twice the rate. */
	sender->earliest = departure + (pacer_when(&sender->pacer, first + taken) - due) / 2;
}
