/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>

#include "steps.h"

#define SECOND_NS UINT64_C(1000000000)

void
steps_init(struct steps *steps, const struct trial_request *request, const struct part *part,
	uint64_t tsc_hz)
{
	uint64_t before = 0, begin_ns = 0, first_lead = 0;
	struct ratio cycles;
	bool has_remainder;
	unsigned int i;

	memset(steps, 0, sizeof(*steps));
	steps->count = request->steps;
	ratio_init(&cycles, tsc_hz, SECOND_NS);
	for (i = 0; i < request->steps; i++) {
		const struct trial_step *step = &request->step[i];
		uint64_t frames = step->frames[part->stream], share = part_share(part, before);
		struct pacer_step *own = &steps->pace[i];
		struct pacer whole;
		uint64_t lead;

		pacer_init(&whole, tsc_hz, step->rate_mfps[part->stream], 0);
		pace_init(&own->pace, tsc_hz * part->of, step->rate_mfps[part->stream]);
		own->frames = part_share(part, before + frames) - share;
		/* Its first one comes so many frames of the stream after the step's first. */
		lead = pacer_when(&whole, part_frame(part, share) - before);
		if (i == 0)
			first_lead = lead;
		own->begin = ratio_multiply(&cycles, begin_ns, &has_remainder) + lead - first_lead;
		before += frames;
		begin_ns += step->duration_ns;
	}
}

uint64_t
steps_fastest(const struct trial_request *request, unsigned int stream)
{
	uint64_t fastest = request->rate_mfps[stream];
	unsigned int i;

	for (i = 0; i < request->steps; i++)
		if (request->step[i].rate_mfps[stream] > fastest)
			fastest = request->step[i].rate_mfps[stream];
	return fastest;
}
