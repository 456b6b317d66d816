/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <errno.h>
#include <string.h>

#include "schedule.h"
#include "wide.h"

#define SECOND_NS UINT64_C(1000000000)
#define GREATEST (UINT64_C(1) << 53) /* of a ratio's parts, as of a pacer's */
#define MOST_FACTOR 1000000
#define LAST_NS (UINT64_C(1) << 62)

static uint128_t
common_divisor(uint128_t a, uint128_t b)
{
	while (b != 0) {
		uint128_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* What does not fit loses its last bits: less than a part in 10^9 of the speed. */
static void
set_ratio(struct ratio *ratio, uint128_t numerator, uint128_t denominator)
{
	uint128_t divisor = common_divisor(numerator, denominator);

	numerator /= divisor;
	denominator /= divisor;
	while (numerator > GREATEST || denominator > GREATEST) {
		numerator >>= 1;
		denominator >>= 1;
	}
	ratio_init(ratio, (uint64_t)numerator, (uint64_t)denominator);
}

/* Ticks of some clock for each nanosecond of the file. */
static void
set_speed(struct ratio *ratio, const struct replay *replay, uint64_t rate_mfps, uint64_t hz)
{
	if (rate_mfps == 0)
		set_ratio(ratio, hz, SECOND_NS);
	else
		set_ratio(ratio, (uint128_t)hz * replay->frames * 1000,
			(uint128_t)replay->period_ns * rate_mfps);
}

int
schedule_check(const struct replay *replay, uint64_t rate_mfps, uint64_t frames,
	uint64_t duration_ns, struct error *error)
{
	uint128_t own = (uint128_t)replay->frames * SECOND_NS * 1000;
	uint128_t asked = (uint128_t)replay->period_ns * rate_mfps;
	uint128_t ends = (uint128_t)frames * replay->period_ns / replay->frames;

	if (replay->period_ns == 0)
		return error_set(error, -EINVAL, "bad-value",
			"all frames of the file have the same time: it has no speed of its own");
	if (rate_mfps == 0)
		asked = own;
	if (asked / own >= MOST_FACTOR || own / asked >= MOST_FACTOR)
		return error_set(error, -EINVAL, "out-of-range",
			"the file's own rate is %.3f frames a second; it can be sent up to %u times "
			"faster or slower", (double)own / 1000 / (double)replay->period_ns,
			MOST_FACTOR);
	/* The file's time, which goes round with it, has 64 bits. */
	if (duration_ns != 0 && ends > (uint128_t)duration_ns * (asked / own + 1))
		ends = (uint128_t)duration_ns * (asked / own + 1);
	if (ends > LAST_NS)
		return error_set(error, -EINVAL, "out-of-range",
			"the file would be sent for more than a hundred years of its own time");
	return 0;
}

static uint64_t
to_cycles(const struct schedule *schedule, uint64_t ns)
{
	bool has_remainder;
	uint64_t whole = ratio_multiply(&schedule->cycles, ns, &has_remainder);

	return whole + has_remainder;
}

void
schedule_init(struct schedule *schedule, const struct replay *replay, uint64_t rate_mfps,
	uint64_t tsc_hz)
{
	memset(schedule, 0, sizeof(*schedule));
	schedule->replay = replay;
	set_speed(&schedule->cycles, replay, rate_mfps, tsc_hz);
}

void
schedule_sent(struct schedule *schedule, uint64_t sent)
{
	uint64_t more = sent - schedule->sent;

	if (more == 0)
		return;
	schedule->sent = sent;
	while (more >= schedule->replay->frames - schedule->position) {
		more -= schedule->replay->frames - schedule->position;
		schedule->round_ns += schedule->replay->period_ns;
		schedule->position = 0;
	}
	schedule->position += (uint32_t)more;
	schedule->next = to_cycles(schedule, schedule->round_ns +
		schedule->replay->frame[schedule->position].when_ns);
}

uint64_t
schedule_when(const struct schedule *schedule, uint64_t n)
{
	uint64_t beyond = schedule->position + (n - schedule->sent);
	uint64_t rounds = beyond / schedule->replay->frames;

	return to_cycles(schedule, schedule->round_ns + rounds * schedule->replay->period_ns +
		schedule->replay->frame[beyond % schedule->replay->frames].when_ns);
}

uint64_t
schedule_due(const struct schedule *schedule, uint64_t cycles)
{
	uint64_t due = schedule->sent;

	if (cycles < schedule->next)
		return due;
	do
		due++;
	while (due - schedule->sent < SCHEDULE_AHEAD && schedule_when(schedule, due) <= cycles);
	return due;
}

/* When a frame is due, in nanoseconds of the trial. */
static uint64_t
due_ns(const struct schedule *schedule, uint64_t round, uint32_t position)
{
	return to_cycles(schedule, round * schedule->replay->period_ns +
		schedule->replay->frame[position].when_ns);
}

uint64_t
schedule_frames(const struct replay *replay, uint64_t rate_mfps, uint64_t duration_ns)
{
	uint32_t low = 0, high = replay->frames;
	struct schedule schedule;
	struct ratio back;
	uint64_t round;
	bool has_remainder;

	schedule_init(&schedule, replay, rate_mfps, SECOND_NS);
	ratio_init(&back, schedule.cycles.denominator, schedule.cycles.numerator);
	/* The round that is under way at the end, and how far it has come. */
	round = ratio_multiply(&back, duration_ns, &has_remainder) / replay->period_ns;
	while (round > 0 && due_ns(&schedule, round, 0) >= duration_ns)
		round--;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (due_ns(&schedule, round, middle) < duration_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return round * replay->frames + low;
}
