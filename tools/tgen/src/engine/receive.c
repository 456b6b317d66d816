/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "listen.h"
#include "payload.h"
#include "payload_find.h"
#include "receive.h"
#include "slots_worker.h"

static const struct template *
template_of(const struct watch *watch, uint64_t sequence)
{
	return watch->pattern[watch->sizes == 1 ? 0 : sequence % watch->sizes];
}

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

/* All bytes between its headers and its payload are as they were sent. */
static bool
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

/* Frames of one stream in a row, and of one slot: their sums go to memory once. */
struct row {
	struct watch *watch;
	uint64_t departure; /* of the first one */
	uint64_t received, bytes, distinct;
	uint64_t latency, latencies; /* so many frames had this very latency */
};

bool
receive_poll(struct worker *worker, struct receiver *receiver)
{
	uint16_t i, count;

	count = rte_eth_rx_burst(receiver->device, receiver->queue, receiver->buffer, PORT_BURST);
	receiver->tsc = worker_tick(worker);
	receiver->count = count;
	receiver->polls++;
	if (unlikely(count == PORT_BURST)) {
		receiver->full_polls++;
		receiver->backlog += PORT_BURST;
	} else {
		if (unlikely(receiver->backlog >= receiver->backlog_limit))
			receiver->behind_cycles += receiver->tsc - receiver->calm_tsc;
		receiver->backlog = 0;
		receiver->calm_tsc = receiver->tsc;
	}
	if (count == 0)
		return false;
	/* The ends of the frames are in the cache of the core that wrote them. While they come,
	 * the worker sends.
	 */
	for (i = 0; i < count; i++) {
		struct rte_mbuf *buffer = receiver->buffer[i];

		rte_prefetch0(rte_pktmbuf_mtod_offset(buffer, uint8_t *,
			(uint16_t)(buffer->data_len - TGEN_PAYLOAD_BYTES)));
	}
	return true;
}

void
receive_end(struct receiver *receiver)
{
	if (receiver->backlog >= receiver->backlog_limit)
		receiver->behind_cycles += receiver->tsc - receiver->calm_tsc;
	receiver->backlog = 0;
}

void
receive_discard(struct receiver *receiver)
{
	listening_add(receiver->listening, receiver->buffer, receiver->count, receiver->tsc);
	if (receiver->count != 0)
		rte_pktmbuf_free_bulk(receiver->buffer, receiver->count);
	receiver->count = 0;
}

static inline void
flush_latencies(const struct row *row)
{
	struct histogram *histogram = row->watch->latency;

	if (row->latencies == 0)
		return;
	histogram->count += row->latencies - 1;
	histogram->sum += (uint128_t)row->latency * (row->latencies - 1);
	histogram->bucket[histogram_index(row->latency)] += row->latencies - 1;
	histogram_add(histogram, row->latency);
}

static inline void
note_silence(struct watch *watch, uint64_t tsc)
{
	int64_t silence = (int64_t)(tsc - watch->last_arrival);

	if (unlikely(watch->last_arrival == 0))
		watch->first_arrival = tsc;
	else if (unlikely(silence > (int64_t)watch->longest_silence))
		watch->longest_silence = (uint64_t)silence;
	watch->last_arrival = tsc;
}

static inline void
flush_row(const struct row *row, uint16_t port, uint64_t tsc)
{
	struct watch *watch = row->watch;

	flush_latencies(row);
	if (unlikely(watch->slots != NULL))
		slots_note_arrival(watch, row->departure, row->distinct, tsc);
	note_silence(watch, tsc);
	counter_add(&watch->received, row->received);
	watch->arrived[port] += row->received;
	counter_add(&watch->received_bytes, row->bytes);
	counter_add(&watch->distinct, row->distinct);
}

static inline uint64_t
latency_of(uint64_t departure, uint64_t tsc)
{
	uint64_t latency = (tsc - departure) & TGEN_48_BITS;

	/* It cannot arrive before it left: the clocks of two CPUs differ by that much. */
	return likely(latency <= TGEN_48_BITS / 2) ? latency : 0;
}

static __rte_always_inline void
note_latency(struct row *row, const struct payload *payload, uint64_t tsc, const bool detailed)
{
	struct watch *watch = row->watch;
	uint64_t latency = latency_of(payload->departure, tsc);

	if (latency != row->latency) {
		flush_latencies(row);
		row->latency = latency;
		row->latencies = 0;
	}
	row->latencies++;
	if (detailed)
		details_note(watch->details, payload, latency, tsc);
}

/* Not the next number. By value, as what has an address is in no register on the usual way. */
static __rte_noinline enum window_seen
see_other(struct watch *watch, struct payload payload, uint64_t tsc)
{
	uint64_t next = watch->window.next;
	enum window_seen seen = window_see_other(&watch->window, payload.sequence);

	if (seen == WINDOW_NEW)
		gaps_open(watch->gaps, next, payload.sequence - next,
			tsc - latency_of(payload.departure, tsc));
	else if (seen == WINDOW_LATE)
		gaps_fill(watch->gaps, payload.sequence);
	if (watch->slots != NULL)
		slots_note_jump(watch->slots, &payload, seen, next, tsc);
	return seen;
}

static __rte_always_inline void
note_arrival(struct row *row, const struct payload *payload, uint64_t tsc, const bool detailed)
{
	struct watch *watch = row->watch;
	uint64_t extent;

	switch (likely(payload->sequence == watch->window.next) ?
			window_see(&watch->window, payload->sequence) :
			see_other(watch, *payload, tsc)) {
	case WINDOW_LATE:
		extent = window_extent_in_flow(&watch->window, payload->sequence, watch->flows);
		watch->reordered += extent != 0;
		if (extent > watch->reorder_extent)
			watch->reorder_extent = extent;
		/* fallthrough */
	case WINDOW_NEW:
		row->distinct++;
		if (watch->latency != NULL)
			note_latency(row, payload, tsc, detailed);
		break;
	case WINDOW_DUPLICATE:
		watch->duplicates++;
		break;
	case WINDOW_BEYOND:
		watch->beyond_window++;
		break;
	}
}

static inline uint16_t
length_of(const struct watch *watch, uint64_t sequence)
{
	return unlikely(watch->replay != NULL) ? replay_frame_of(watch->replay, sequence)->length :
		template_of(watch, sequence)->length;
}

/* A frame of a file that has no mark, as far as anybody can tell. True, for it is of this trial. */
static bool
note_unmarked(struct worker *worker, const struct receiver *receiver)
{
	struct watch *watch = &worker->watch[receiver->unmarked - 1];

	counter_add(&watch->unmarked, 1);
	note_silence(watch, receiver->tsc);
	return true;
}

/* A damaged frame belongs to a stream if all that it says could be true of it here. */
static bool
note_corrupted(struct worker *worker, struct receiver *receiver, const struct rte_mbuf *buffer,
	const struct payload *payload)
{
	struct watch *watch = &worker->watch[payload->stream];

	if (payload->trial != worker->trial || payload->stream >= worker->streams ||
			payload->sequence >= watch->intended || watch->port != receiver->port) {
		if (receiver->unmarked != 0)
			return note_unmarked(worker, receiver);
		receiver->corrupted++;
		return false;
	}
	counter_add(&watch->received, 1);
	counter_add(&watch->received_bytes, buffer->pkt_len + TGEN_FCS);
	watch->arrived[receiver->port]++;
	counter_add(&watch->corrupted, 1);
	counter_add(&watch->corrupted_bytes, buffer->pkt_len + TGEN_FCS);
	return true;
}

/* Whatever does not go the usual way; a row is of one frame. True if it is of this trial. */
static __rte_noinline bool
check_odd_frame(struct worker *worker, struct receiver *receiver, const struct rte_mbuf *buffer)
{
	struct payload payload;
	struct watch *watch;
	struct row row;

	switch (payload_find(buffer, worker->trial, worker->streams, &payload)) {
	case PAYLOAD_FOREIGN:
		if (receiver->answers != NULL && respond_to(receiver, buffer))
			receiver->answered++;
		else if (receiver->unmarked != 0)
			return note_unmarked(worker, receiver);
		else
			receiver->foreign++;
		return false;
	case PAYLOAD_CORRUPTED:
		return note_corrupted(worker, receiver, buffer, &payload);
	case PAYLOAD_OURS:
		break;
	}
	if (payload.trial != worker->trial) {
		receiver->stale++;
		return false;
	}
	if (payload.stream >= worker->streams ||
			payload.sequence >= worker->watch[payload.stream].intended) {
		receiver->corrupted++;
		return false;
	}
	watch = &worker->watch[payload.stream];
	row = (struct row){
		.watch = watch,
		.departure = payload.departure,
		.received = 1,
		.bytes = buffer->pkt_len + TGEN_FCS,
	};
	if (watch->port != receiver->port) {
		counter_add(&watch->misrouted, 1);
		counter_add(&watch->misrouted_bytes, row.bytes);
	} else if (worker->check_fill && !fill_intact(watch, buffer, payload.sequence)) {
		counter_add(&watch->corrupted, 1);
		counter_add(&watch->corrupted_bytes, row.bytes);
	} else {
		watch->wrong_size += buffer->pkt_len != length_of(watch, payload.sequence);
		note_arrival(&row, &payload, receiver->tsc, watch->details != NULL);
	}
	flush_row(&row, receiver->port, receiver->tsc);
	return true;
}

/* The usual: one segment, intact, of this trial, where and as long as it should be. */
static inline bool
is_usual(const struct worker *worker, const struct receiver *receiver,
	const struct rte_mbuf *buffer, struct payload *payload)
{
	const struct watch *watch;
	uint16_t length;

	if (unlikely(buffer->nb_segs != 1 || buffer->data_len < TGEN_MIN_FRAME - TGEN_FCS))
		return false;
	if (unlikely(payload_read(rte_pktmbuf_mtod_offset(buffer, const uint8_t *,
			buffer->data_len - TGEN_PAYLOAD_BYTES), payload) != PAYLOAD_OURS))
		return false;
	if (unlikely(payload->trial != worker->trial || payload->stream >= worker->streams ||
			worker->check_fill))
		return false;
	watch = &worker->watch[payload->stream];
	length = watch->length;
	if (unlikely(length == 0))
		length = length_of(watch, payload->sequence);
	return likely(payload->sequence < watch->intended && watch->port == receiver->port &&
		buffer->data_len == length);
}

/* Nobody else holds it and nothing hangs on it: it can go back to its pool as it is. */
static inline bool
is_plain(const struct rte_mbuf *buffer, const struct rte_mempool *pool)
{
	return buffer->nb_segs == 1 && rte_mbuf_refcnt_read(buffer) == 1 &&
		RTE_MBUF_DIRECT(buffer) && buffer->pool == pool;
}

/* Frames of a burst left together. */
static inline bool
is_other_slot(const struct worker *worker, const struct row *row, const struct payload *payload)
{
	const struct slot_grid *grid = &worker->slots->grid;

	return unlikely(payload->departure != row->departure) &&
		slot_of(grid, payload->departure) != slot_of(grid, row->departure);
}

/* Written out for trials with slots and details, and without: those have no part in the loop then. */
static __rte_always_inline bool
check_frames(struct worker *worker, struct receiver *receiver, const bool slotted,
	const bool detailed, bool *all_plain)
{
	struct rte_mbuf *const *buffers = receiver->buffer;
	struct rte_mempool *pool = buffers[0]->pool;
	struct row row = { 0 };
	bool plain = true, ours = false;
	uint16_t i;

	for (i = 0; i < receiver->count; i++) {
		struct rte_mbuf *buffer = buffers[i];
		struct payload payload;

		plain &= is_plain(buffer, pool);
		if (unlikely(!is_usual(worker, receiver, buffer, &payload))) {
			ours |= check_odd_frame(worker, receiver, buffer);
			continue;
		}
		if (row.watch != &worker->watch[payload.stream] ||
				(slotted && is_other_slot(worker, &row, &payload))) {
			if (row.watch != NULL)
				flush_row(&row, receiver->port, receiver->tsc);
			memset(&row, 0, sizeof(row));
			row.watch = &worker->watch[payload.stream];
			row.departure = payload.departure;
		}
		row.received++;
		row.bytes += buffer->data_len + TGEN_FCS;
		note_arrival(&row, &payload, receiver->tsc, detailed);
	}
	if (row.watch != NULL) {
		flush_row(&row, receiver->port, receiver->tsc);
		ours = true;
	}
	*all_plain = plain;
	return ours;
}

/* Each by itself, as a compiler shares registers out by the function. */
static __rte_noinline bool
check_slotted(struct worker *worker, struct receiver *receiver, bool *all_plain)
{
	return check_frames(worker, receiver, true, false, all_plain);
}

/* Where latencies are looked at more closely. */
static __rte_noinline bool
check_detailed(struct worker *worker, struct receiver *receiver, bool *all_plain)
{
	return worker->slots != NULL ? check_frames(worker, receiver, true, true, all_plain) :
		check_frames(worker, receiver, false, true, all_plain);
}

bool
receive_check(struct worker *worker, struct receiver *receiver)
{
	bool plain, ours;

	if (receiver->count == 0)
		return false;
	if (unlikely(worker->detailed))
		ours = check_detailed(worker, receiver, &plain);
	else if (unlikely(worker->slots != NULL))
		ours = check_slotted(worker, receiver, &plain);
	else
		ours = check_frames(worker, receiver, false, false, &plain);
	if (unlikely(rte_atomic_load_explicit(&receiver->copies, rte_memory_order_relaxed)))
		listening_copy(receiver);
	if (likely(plain))
		rte_mempool_put_bulk(receiver->buffer[0]->pool, (void *const *)receiver->buffer,
			receiver->count);
	else
		rte_pktmbuf_free_bulk(receiver->buffer, receiver->count);
	receiver->count = 0;
	worker_tick(worker);
	return ours;
}
