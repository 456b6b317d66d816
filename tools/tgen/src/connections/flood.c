/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "flood.h"

void
flood_begin(struct flood *flood, const struct flood_plan *plan, const struct output *output,
	uint64_t now)
{
	*flood = (struct flood){ .plan = *plan, .output = *output };
	pacer_init(&flood->pacer, plan->tsc_hz, plan->rate_mfps, now);
}

/* Addresses take turns, and then ports: no two have the same until all have been used. */
static bool
send_one(struct flood *flood)
{
	const struct flood_plan *plan = &flood->plan;
	uint64_t number = plan->before + flood->counts.sent;
	const struct segment syn = {
		.source = {
			plan->first.ip + (uint32_t)(number % plan->addresses),
			(uint16_t)(plan->first.port + number / plan->addresses % plan->ports),
		},
		.destination = {
			plan->target.ip + (uint32_t)(number % plan->targets), plan->target.port,
		},
		.sequence = (uint32_t)number * UINT32_C(0x9e3779b9), .window = FLOOD_WINDOW,
		.flags = SEGMENT_SYN, .most = plan->most,
	};
	uint8_t *frame = flood->output.room(flood->output.context, segment_frame_bytes(&syn));

	if (frame == NULL)
		return false;
	segment_write(frame, &plan->macs, &syn);
	flood->counts.sent++;
	return true;
}

void
flood_send(struct flood *flood, uint64_t now)
{
	uint64_t due = pacer_due(&flood->pacer, now);
	unsigned int i;

	for (i = 0; i < flood->plan.burst && flood->counts.sent < due; i++)
		if (!send_one(flood))
			break;
	/* What was not sent is not due any more: no flood catches up. */
	if (flood->counts.sent < due)
		flood->pacer.start_tsc += now - pacer_when(&flood->pacer, flood->counts.sent);
}

bool
flood_receive(struct flood *flood, const struct segment *segment)
{
	const uint8_t answer = SEGMENT_SYN | SEGMENT_ACK;

	if (segment->destination.ip - flood->plan.first.ip >= flood->plan.addresses)
		return false;
	flood->counts.answered += (segment->flags & answer) == answer;
	flood->counts.refused += (segment->flags & SEGMENT_RST) != 0;
	return true;
}
