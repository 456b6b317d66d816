/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* The schedule of a trial with steps, as each part of a stream has it. */

#include "unit.h"

#include "steps.h"

#define HZ UINT64_C(2599998765)
#define SECOND_NS UINT64_C(1000000000)
#define MOST_PARTS 7

static const struct part whole = { .of = 1 };

static struct trial_request
asked(unsigned int steps, const uint64_t *rates_mfps, const uint64_t *durations_ns)
{
	struct trial_request request = { .steps = (uint8_t)steps };
	unsigned int i;

	for (i = 0; i < steps; i++) {
		request.step[i].duration_ns = durations_ns[i];
		request.step[i].rate_mfps[0] = rates_mfps[i];
		request.step[i].frames[0] = (uint64_t)((uint128_t)rates_mfps[i] *
			durations_ns[i] / (1000 * SECOND_NS));
	}
	return request;
}

/* A pacer for all of a stream, with a clock of a million cycles a second. */
static void
begin(struct pacer *pacer, struct steps *steps, const struct trial_request *request,
	uint64_t start_tsc)
{
	steps_init(steps, request, &whole, 1000000);
	pacer_init(pacer, 1000000, request->step[0].rate_mfps[0], start_tsc);
	pacer_set_steps(pacer, steps->pace, steps->count);
}

/* Send all that is due at each moment, as a port does that takes all; when each frame was due. */
static uint64_t
send(struct pacer *pacer, uint64_t frames, uint64_t *due)
{
	uint64_t sent = 0;

	while (sent < frames) {
		due[sent] = pacer_when(pacer, sent);
		assert_int_equal(pacer_due(pacer, due[sent]), sent + 1);
		assert_int_equal(pacer_due(pacer, due[sent] - 1), sent);
		sent++;
		if (pacer_note_sent(pacer, sent, due[sent - 1]))
			pacer_next_step(pacer, sent);
	}
	return sent;
}

static void
each_step_has_its_rate_and_its_frames_and_no_gap_between(void **state)
{
	const uint64_t rates[] = { 1100000, 500000, 2000 }, times[] = { SECOND_NS, SECOND_NS, SECOND_NS };
	const struct trial_request request = asked(3, rates, times);
	uint64_t due[1602];
	struct steps steps;
	struct pacer pacer;

	(void)state;
	begin(&pacer, &steps, &request, 5000);
	send(&pacer, 1602, due);
	assert_int_equal(due[0], 5000);
	assert_int_equal(due[1099], 5000 + 999091);
	assert_int_equal(due[1100], 1005000); /* to the cycle when the step begins */
	assert_int_equal(due[1101], 1007000);
	assert_int_equal(due[1599], 2003000);
	assert_int_equal(due[1600], 2005000);
	assert_int_equal(due[1601], 2505000);
	/* Nothing is due behind the last. */
	assert_int_equal(pacer_due(&pacer, UINT64_C(1) << 40), 1602);
}

/* The next step begins on time, and what its predecessor owes is not added to it. */
static void
what_was_not_sent_in_its_step_is_given_up(void **state)
{
	const uint64_t rates[] = { 1000000, 500000 }, times[] = { SECOND_NS, SECOND_NS };
	const struct trial_request request = asked(2, rates, times);
	struct steps steps;
	struct pacer pacer;

	(void)state;
	begin(&pacer, &steps, &request, 0);
	assert_false(pacer_note_sent(&pacer, 700, 999000));
	assert_int_equal(pacer_due(&pacer, 1500000), 1000);
	pacer_next_step(&pacer, 700);
	assert_int_equal(pacer_due(&pacer, 999999), 700);
	assert_int_equal(pacer_due(&pacer, 1000000), 701);
	assert_int_equal(pacer_due(&pacer, 1002000), 702);
	assert_int_equal(pacer_due(&pacer, 9000000), 1200);
	assert_false(pacer_note_sent(&pacer, 1199, 2000000));
	assert_true(pacer_note_sent(&pacer, 1200, 2000000));
}

/* A schedule that was moved by a pause stays so. */
static void
a_pause_moves_all_steps_to_come(void **state)
{
	const uint64_t rates[] = { 1000000, 500000 }, times[] = { SECOND_NS, SECOND_NS };
	const struct trial_request request = asked(2, rates, times);
	struct steps steps;
	struct pacer pacer;

	(void)state;
	begin(&pacer, &steps, &request, 100);
	pacer.start_tsc += 7000;
	pacer_next_step(&pacer, 1000);
	assert_int_equal(pacer_when(&pacer, 1000), 100 + 7000 + 1000000);
}

/* All parts together send the stream's frames, each when it is due in the stream, to within a cycle. */
static void
parts_keep_the_steps_of_the_stream(void **state)
{
	const uint64_t rates[] = { 14880952381 / 1000, 6000001, 1000, 250000000 };
	const uint64_t times[] = { 1700000, 3100000, 2000, 1 };
	const struct trial_request request = asked(4, rates, times);
	uint64_t stream_due[100], own_due[100], frames = 0, n;
	uint16_t of, index;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		frames += request.step[i].frames[0];
	assert_true(frames > 20 && frames < 100);
	for (of = 1; of <= MOST_PARTS; of++) {
		uint64_t seen = 0;

		for (index = 0; index < of; index++) {
			const struct part part = { 0, index, of };
			struct steps all, own;
			struct pacer stream, pacer;

			steps_init(&all, &request, &whole, HZ);
			pacer_init(&stream, HZ, rates[0], 0);
			pacer_set_steps(&stream, all.pace, all.count);
			steps_init(&own, &request, &part, HZ);
			pacer_init(&pacer, HZ * of, rates[0], pacer_when(&stream, index));
			pacer_set_steps(&pacer, own.pace, own.count);
			send(&stream, frames, stream_due);
			for (n = 0, i = 0; i < 4; i++) {
				while (n - pacer.first < pacer.burst && n < 100) {
					own_due[n] = pacer_when(&pacer, n);
					n++;
				}
				pacer_next_step(&pacer, n);
			}
			assert_int_equal(n, part_share(&part, frames));
			seen += n;
			while (n-- > 0)
				assert_uint_in_range(own_due[n] + 1, stream_due[part_frame(&part, n)],
					stream_due[part_frame(&part, n)] + 2);
		}
		assert_int_equal(seen, frames);
	}
}

static void
windows_are_for_the_greatest_rate(void **state)
{
	const uint64_t rates[] = { 1000000, 5000000, 7 }, times[] = { 1, 1, 1 };
	const struct trial_request request = asked(3, rates, times);
	const struct trial_request plain = { .rate_mfps = { 9 } };

	(void)state;
	assert_int_equal(steps_fastest(&request, 0), 5000000);
	assert_int_equal(steps_fastest(&plain, 0), 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_has_its_rate_and_its_frames_and_no_gap_between),
		cmocka_unit_test(what_was_not_sent_in_its_step_is_given_up),
		cmocka_unit_test(a_pause_moves_all_steps_to_come),
		cmocka_unit_test(parts_keep_the_steps_of_the_stream),
		cmocka_unit_test(windows_are_for_the_greatest_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
