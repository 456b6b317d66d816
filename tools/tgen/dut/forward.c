/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include <rte_cycles.h>

#include <rte_ethdev.h>

#include "forward.h"
#include "payload.h"

/* One frame of the test can become two, and let go of one that was held back. */
#define LEAST_ROOM (3 * DUT_BURST)

static uint32_t
room(const struct line *line)
{
	return DUT_LINE - (line->head - line->tail);
}

static void
line_put(struct line *line, const struct entry *entry)
{
	line->entry[line->head++ % DUT_LINE] = *entry;
}

/* A frame passes: one that was held back may now be due. */
static void
pass(struct line *line, const struct entry *entry)
{
	line_put(line, entry);
	if (line->held.mbuf == NULL || --line->held_for != 0)
		return;
	line_put(line, &line->held);
	line->held.mbuf = NULL;
}

static void
flip(struct rte_mbuf *mbuf, uint32_t before_end)
{
	uint32_t length = rte_pktmbuf_data_len(mbuf);

	*rte_pktmbuf_mtod_offset(mbuf, uint8_t *, length - before_end) ^= 0x10;
}

/* Put a copy behind a frame: the frame itself once more, or one of somebody else. */
static bool
pass_copy(struct dut *dut, struct line *line, const struct entry *entry, bool foreign)
{
	struct entry copy = *entry;

	copy.mbuf = rte_pktmbuf_copy(entry->mbuf, dut->pool, 0, UINT32_MAX);
	if (copy.mbuf == NULL)
		return false;
	if (foreign) /* not a word of the test payload is left to recognise it by */
		memset(rte_pktmbuf_mtod_offset(copy.mbuf, uint8_t *,
			rte_pktmbuf_data_len(copy.mbuf) - TGEN_PAYLOAD_BYTES), 0,
			TGEN_PAYLOAD_BYTES);
	line_put(line, &copy);
	return true;
}

static bool
act(struct dut *dut, uint16_t ingress, struct entry *entry, struct rule rule)
{
	struct line *line = dut->line[ingress];

	switch (rule.action) {
	case ACTION_DROP:
		rte_pktmbuf_free(entry->mbuf);
		return true;
	case ACTION_DUPLICATE:
	case ACTION_FOREIGN:
		pass(line, entry);
		return pass_copy(dut, line, entry, rule.action == ACTION_FOREIGN);
	case ACTION_REORDER:
		line->held = *entry;
		line->held_for = rule.argument;
		return true;
	case ACTION_CORRUPT:
		if (rule.argument > rte_pktmbuf_data_len(entry->mbuf))
			break;
		flip(entry->mbuf, rule.argument);
		pass(line, entry);
		return true;
	case ACTION_MISROUTE:
		entry->egress = ingress;
		pass(line, entry);
		return true;
	default:
		break;
	}
	pass(line, entry);
	return rule.action == ACTION_FORWARD;
}

static void
take(struct dut *dut, uint16_t ingress, struct rte_mbuf *mbuf, uint64_t now)
{
	struct record *record = &dut->record[ingress];
	uint32_t length = rte_pktmbuf_data_len(mbuf);
	struct entry entry = {
		.mbuf = mbuf,
		.received_tsc = now,
		.egress = (uint16_t)(dut->ports - 1 - ingress),
	};
	struct payload payload;
	struct rule rule;

	if (length < TGEN_PAYLOAD_BYTES || mbuf->nb_segs != 1 || payload_read(
			rte_pktmbuf_mtod_offset(mbuf, void *, length - TGEN_PAYLOAD_BYTES),
			&payload) != PAYLOAD_OURS) {
		record->other++;
		line_put(dut->line[ingress], &entry);
		return;
	}
	record->received++;
	rule = rules_find(&dut->rules, payload.sequence);
	if (act(dut, ingress, &entry, rule))
		record->done[rule.action]++;
}

/* What makes a device slower by a known amount: each multiplication waits for the one before. */
static void
work(struct dut *dut, uint16_t frames)
{
	uint64_t product = dut->product, n;

	dut->work_due += (uint64_t)frames * dut->work;
	for (n = dut->work_due / DUT_WORK_FRAMES; n != 0; n--)
		product = product * UINT64_C(6364136223846793005) + 1;
	dut->work_due %= DUT_WORK_FRAMES;
	dut->product = product;
}

static void
take_in(struct dut *dut, uint16_t ingress)
{
	struct rte_mbuf *mbufs[DUT_BURST];
	uint16_t count, n;
	uint64_t now;

	if (room(dut->line[ingress]) < LEAST_ROOM)
		return;
	count = rte_eth_rx_burst(ingress, 0, mbufs, DUT_BURST);
	now = rte_rdtsc();
	for (n = 0; n < count; n++)
		take(dut, ingress, mbufs[n], now);
	work(dut, count);
}

/* Offer frames that are due, as long as they leave by one port; what is not taken stays first. */
static void
hand_out(struct dut *dut, uint16_t ingress)
{
	struct record *record = &dut->record[ingress];
	struct line *line = dut->line[ingress];
	struct rte_mbuf *mbufs[DUT_BURST];
	uint64_t now = rte_rdtsc();
	uint16_t count = 0, egress = 0, sent, n;

	while (count < DUT_BURST && line->tail + count != line->head) {
		const struct entry *entry = &line->entry[(line->tail + count) % DUT_LINE];

		if (now - entry->received_tsc < dut->delay_cycles[ingress])
			break;
		if (count != 0 && entry->egress != egress)
			break;
		egress = entry->egress;
		mbufs[count++] = entry->mbuf;
	}
	if (count == 0)
		return;
	sent = rte_eth_tx_burst(egress, 0, mbufs, count);
	record->sent += sent;
	for (n = 0; n < sent; n++) {
		uint64_t held = now - line->entry[line->tail++ % DUT_LINE].received_tsc;

		record->delayed++;
		record->held_cycles += held;
		record->held_least = RTE_MIN(record->held_least, held);
		record->held_most = RTE_MAX(record->held_most, held);
	}
}

static void
empty(struct dut *dut, uint16_t ingress)
{
	struct line *line = dut->line[ingress];

	if (line->held.mbuf != NULL) {
		rte_pktmbuf_free(line->held.mbuf);
		line->held.mbuf = NULL;
		dut->record[ingress].kept++;
	}
	while (line->tail != line->head) {
		rte_pktmbuf_free(line->entry[line->tail++ % DUT_LINE].mbuf);
		dut->record[ingress].kept++;
	}
}

void
forward_run(struct dut *dut, const RTE_ATOMIC(bool) *stop)
{
	uint16_t port;

	for (port = 0; port < dut->ports; port++)
		dut->record[port].held_least = UINT64_MAX;
	/* Relaxed: the flag carries nothing but itself, and is set by a signal handler. */
	while (!rte_atomic_load_explicit(stop, rte_memory_order_relaxed)) {
		for (port = 0; port < dut->ports; port++)
			take_in(dut, port);
		for (port = 0; port < dut->ports; port++)
			hand_out(dut, port);
	}
	for (port = 0; port < dut->ports; port++)
		empty(dut, port);
}
