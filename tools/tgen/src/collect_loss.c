/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* When the last frame left that did not arrive, after a trial. */

#include "engine_private.h"

/* When the port was last seen full, in a step of which it did not take all; 0: it took all of each. */
static uint64_t
last_refused(const struct steps *steps)
{
	unsigned int i;

	for (i = steps->now + 1; i > 0; i--)
		if (steps->of[i - 1].refused != 0)
			return steps->of[i - 1].full_tsc;
	return 0;
}

/* Who alone saw a part arrive; NULL where nobody did, or several. */
static const struct watch *
only_listener(const struct engine *engine, unsigned int index, unsigned int *listeners,
	uint64_t *distinct)
{
	const struct watch *found = NULL;
	unsigned int i;

	*listeners = 0;
	*distinct = 0;
	for (i = 0; i < engine->workers; i++) {
		const struct watch *watch = &engine->worker[i]->watch[index];

		if (engine->worker[i]->receivers == 0 || watch->received == 0)
			continue;
		found = watch;
		(*listeners)++;
		*distinct += watch->distinct;
	}
	return *listeners == 1 ? found : NULL;
}

void
collect_last_loss(struct engine *engine, unsigned int index)
{
	const struct sender *sender = &engine->sender[index];
	struct stream_result *result = &engine->result.stream[sender->part.stream];
	uint64_t distinct, lost_tsc = 0;
	unsigned int listeners;
	const struct watch *watch = only_listener(engine, index, &listeners, &distinct);

	if (replay_has_unmarked(sender->replay))
		distinct += replay_count_unmarked(sender->replay, sender->sent);
	if (distinct != sender->sent) {
		if (listeners > 1 || replay_has_unmarked(sender->replay))
			result->last_loss_unknown = true;
		else if (watch == NULL || watch->window.next < sender->sent)
			lost_tsc = sender->last_sent_tsc;
		else
			lost_tsc = gaps_last(watch->gaps);
	}
	result->last_loss_tsc = RTE_MAX(result->last_loss_tsc,
		RTE_MAX(lost_tsc, last_refused(&sender->steps)));
}
