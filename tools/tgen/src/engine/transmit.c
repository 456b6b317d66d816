/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include <rte_cycles.h>
#include <rte_memcpy.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "flight.h"
#include "payload.h"
#include "slots_worker.h"
#include "transmit.h"
#include "transmit_replay.h"
#include "transmit_steps.h"

#define DEPARTURE_GROUPS 8
/* What a stall held up is caught up with at no more than twice the rate: flat out, the generator's
 * stall would be a burst that no load of the trial has.
 */
#define CATCH_UP_SHIFT 1

/* Headers in whole pieces: the loop is one store of a vector for most frames. */
static inline void
copy_headers(uint8_t *bytes, const struct template *template)
{
	unsigned int offset = 0;

	do {
		memcpy(bytes + offset, template->headers + offset, TEMPLATE_COPY);
		offset += TEMPLATE_COPY;
	} while (unlikely(offset < template->copy));
}

/*
 * A buffer that last held a frame of this stream has its fill bytes up to where that frame's payload
 * was, so only a longer one needs more of them. All others are written as a whole; of a short frame
 * the headers' pieces are that.
 */
static void
write_fill(const struct sender *sender, const struct rte_mbuf *buffer, uint8_t *bytes,
	const struct template *template)
{
	uint32_t before = buffer->hash.usr ^ sender->tag; /* length, if it was of this stream */
	uint32_t from = before - TGEN_PAYLOAD_BYTES;

	if (sender->shares_buffers && template->payload <= template->copy)
		return;
	if (sender->shares_buffers || before > sender->fill->length)
		from = 0;
	if (from < template->payload)
		rte_memcpy(bytes + from, sender->fill->bytes + from, template->payload - from);
}

static inline void
build_frame(struct sender *sender, struct rte_mbuf *buffer, const struct template *template,
	uint64_t sequence)
{
	uint8_t *bytes = (uint8_t *)buffer->buf_addr + RTE_PKTMBUF_HEADROOM;
	uint32_t tag = sender->tag ^ template->length;

	buffer->data_off = RTE_PKTMBUF_HEADROOM;
	buffer->ol_flags = 0;
	buffer->packet_type = 0;
	buffer->pkt_len = template->length;
	buffer->data_len = template->length;
	if (buffer->hash.usr != tag || sender->shares_buffers)
		write_fill(sender, buffer, bytes, template);
	buffer->hash.usr = tag;
	copy_headers(bytes, template);
	if (sender->varies)
		flow_apply(&template->edits, bytes,
			flow_number(&sender->plan, part_frame(&sender->part, sequence)));
	if (unlikely(broadcast_is(&sender->broadcast, sequence)))
		broadcast_address(bytes);
}

/* Build `count` more frames behind those that are held; false when the pool is empty. */
static bool
build_frames(struct sender *sender, unsigned int count)
{
	struct rte_mbuf **buffer = &sender->buffer[sender->held];
	uint16_t *length = &sender->length[sender->held];
	unsigned int i;

	if (unlikely(rte_mempool_get_bulk(sender->pool, (void **)buffer, count) != 0)) {
		sender->no_buffers++;
		return false;
	}
	if (unlikely(sender->replay != NULL)) {
		replay_build(sender, count);
	} else {
		for (i = 0; i < count; i++) {
			const struct template *template = sender->pattern[sender->position];

			if (unlikely(sender->sizes > 1) && ++sender->position == sender->sizes)
				sender->position = 0;
			build_frame(sender, buffer[i], template, sender->next + i);
			length[i] = template->length;
		}
	}
	sender->next += count;
	sender->held += count;
	return true;
}

static inline void
stamp_frames(struct sender *sender, uint64_t departure)
{
	struct payload payload = {
		.trial = sender->trial,
		.stream = sender->number,
		.departure = departure & TGEN_48_BITS,
		.sequence = sender->next - sender->held,
	};
	unsigned int i;

	if (unlikely(sender->replay != NULL)) {
		replay_stamp(sender, payload);
		return;
	}
	for (i = 0; i < sender->held; i++) {
		uint8_t *bytes = (uint8_t *)sender->buffer[i]->buf_addr + RTE_PKTMBUF_HEADROOM;

		payload_write(bytes + sender->length[i] - TGEN_PAYLOAD_BYTES, &payload);
		payload.sequence++;
	}
}

/*
 * The first frame's time is exact; those of the others follow it to within a cycle. Of a long burst
 * the middle frame of each of a few groups stands for its group: they are neighbours in time.
 */
static void
note_departures(struct sender *sender, unsigned int taken, uint64_t departure)
{
	struct histogram *histogram = sender->departure_error;
	uint64_t due = pacer_when(&sender->pacer, sender->next - sender->held);
	uint64_t late = (int64_t)(departure - due) > 0 ? departure - due : 0;
	uint64_t last = (uint64_t)(taken - 1) * sender->pacer.pace.distance >> 16;
	unsigned int group = (taken + DEPARTURE_GROUPS - 1) / DEPARTURE_GROUPS;
	uint64_t error = 0;
	unsigned int i, frames;

	for (i = 0; i < taken; i += frames) {
		uint64_t since;

		frames = RTE_MIN(group, taken - i);
		since = (i + frames / 2) * sender->pacer.pace.distance >> 16;
		error = late > since ? late - since : 0;
		histogram->bucket[histogram_index(error)] += frames;
		histogram->sum += (uint128_t)error * frames;
	}
	histogram->count += taken;
	/* The first frame was the latest, the last one the least late. */
	histogram->minimum = RTE_MIN(histogram->minimum, late > last ? late - last : 0);
	histogram->maximum = RTE_MAX(histogram->maximum, late);
}

/* The port took the first frames: count them, and move the others to the front. */
static void
settle(struct sender *sender, unsigned int taken, uint64_t departure)
{
	unsigned int i, left = sender->held - taken;
	uint64_t bytes = 0;

	if (unlikely(sender->sent == sender->pacer.first))
		steps_note_first(sender, departure);
	sender->last_sent_tsc = departure;
	if (likely(sender->sizes == 1))
		bytes = (uint64_t)taken * sender->length[0];
	else
		for (i = 0; i < taken; i++)
			bytes += sender->length[i];
	counter_add(&sender->sent, taken);
	sender->sent_bytes += bytes + (uint64_t)taken * TGEN_FCS;
	sender->held = (uint16_t)left;
	if (unlikely(left != 0)) {
		memmove(sender->buffer, &sender->buffer[taken], left * sizeof(sender->buffer[0]));
		memmove(sender->length, &sender->length[taken], left * sizeof(sender->length[0]));
	}
}

/*
 * For how long the port has been full: nobody else fills it, so between two looks that found it full it
 * was. When it has room again it may have had that since just after the last look, if this CPU was away.
 */
static void
note_room(struct worker *worker, struct sender *sender, uint64_t now, enum room room)
{
	uint64_t since = now - sender->last_refusal;
	uint64_t full = room == ROOM_ENOUGH ? RTE_MIN(since, worker->ten_us) : since;

	if (sender->slots != NULL)
		slots_note_room(worker, sender, now, full, room);
	if (room != ROOM_ENOUGH)
		sender->steps.of[sender->steps.now].full_tsc = now;
	sender->last_full = sender->last_refusal != 0 ? full : 0;
	sender->full_cycles += sender->last_full;
	sender->last_refusal = room == ROOM_ENOUGH ? 0 : now;
}

bool
transmit_round(struct worker *worker, struct sender *sender, uint64_t now)
{
	uint64_t due = RTE_MIN(pacer_due(&sender->pacer, now), sender->intended);
	uint64_t sent = sender->next - sender->held;
	uint64_t wanted = due > sent ? due - sent : 0; /* a pause may have moved the schedule back */
	uint64_t departure;
	unsigned int taken;

	if (wanted == 0 || (sender->paced && (int64_t)(worker->last_tick - sender->earliest) < 0))
		return false;
	if (wanted > sender->burst)
		wanted = sender->burst;
	if (sender->flight.watch != NULL) {
		wanted = flight_room(worker, sender, worker->last_tick, wanted);
		if (unlikely(wanted == 0)) {
			note_room(worker, sender, worker->last_tick, ROOM_HELD);
			return true;
		}
	}
	if (wanted > sender->held && !build_frames(sender, (unsigned int)wanted - sender->held) &&
			sender->held == 0)
		return true;
	departure = rte_rdtsc();
	stamp_frames(sender, departure);
	if (unlikely(sender->capture != NULL))
		capture_offer(sender->capture, sender->buffer, sender->held, departure);
	taken = rte_eth_tx_burst(sender->port, sender->queue, sender->buffer, sender->held);
	if (unlikely(taken != sender->held)) {
		sender->retries++;
		note_room(worker, sender, departure, ROOM_FULL);
	} else if (unlikely(sender->last_refusal != 0)) {
		note_room(worker, sender, departure, ROOM_ENOUGH);
	}
	if (taken != 0) {
		if (unlikely(sender->capture != NULL))
			capture_commit(sender->capture, taken);
		if (unlikely(sender->pacer.schedule != NULL)) {
			replay_note_departures(sender, taken, departure);
		} else if (sender->paced) {
			note_departures(sender, taken, departure);
			sender->earliest = departure +
				taken * (sender->pacer.pace.distance >> (16 + CATCH_UP_SHIFT));
		}
		if (unlikely(sender->slots != NULL))
			slots_note_sent(worker, sender, departure, taken);
		settle(sender, taken, departure);
	}
	if (unlikely(pacer_note_sent(&sender->pacer, sender->sent, worker_tick(worker))))
		steps_next(sender);
	return true;
}

static bool
has_sent_since_pause(const struct sender *sender)
{
	return (int64_t)(sender->last_sent_tsc - sender->pauses.tsc) > 0;
}

/* The gap was since the last look that found no room, or before it, and is in what that one added. */
static void
not_full(struct sender *sender, uint64_t now, uint64_t gap)
{
	uint64_t since = RTE_MIN(gap, now - sender->last_refusal);

	sender->last_refusal += since;
	sender->full_cycles -= RTE_MIN(gap - since, sender->last_full);
	sender->last_full = 0;
}

void
transmit_pause(struct sender *sender, uint64_t now, uint64_t cycles)
{
	sender->pacer.start_tsc += cycles;
	/* Nothing was due meanwhile, so no port was full, and no frame was missed on its way. */
	sender->flight.seen_tsc += cycles;
	if (sender->last_refusal != 0)
		not_full(sender, now, cycles);
	if (sender->sent == 0)
		return;
	if (has_sent_since_pause(sender)) {
		sender->pauses.before += sender->pauses.last;
		sender->pauses.last = 0;
	}
	sender->pauses.last += cycles;
	sender->pauses.tsc = now;
}

uint64_t
transmit_paused(const struct worker *worker)
{
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < worker->senders; i++) {
		const struct sender *sender = worker->sender[i];
		uint64_t last = has_sent_since_pause(sender) ? sender->pauses.last : 0;

		most = RTE_MAX(most, sender->pauses.before + last);
	}
	return most;
}

bool
transmit_due(const struct sender *sender, uint64_t now)
{
	return sender->sent < RTE_MIN(pacer_due(&sender->pacer, now), sender->intended);
}

bool
transmit_done(const struct sender *sender)
{
	return sender->sent + sender->given_up == sender->intended;
}

void
transmit_abandon(struct worker *worker, struct sender *sender)
{
	if (sender->last_refusal != 0) {
		note_room(worker, sender, rte_rdtsc(), ROOM_FULL);
		if (sender->slots != NULL)
			slots_end_room(worker, sender);
	}
	steps_drop_held(sender);
	steps_end(sender);
	counter_add(&sender->over, 1);
}

void
transmit_give_up(struct worker *worker, struct sender *sender)
{
	transmit_abandon(worker, sender);
	sender->given_up = sender->intended - sender->sent;
	/* No frame of it is refused from now on. */
	sender->last_refusal = 0;
	sender->last_full = 0;
}
