/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "client.h"

static uint32_t
connections(const struct client *client)
{
	uint64_t launched = client->counts.launched;

	return launched < client->end.capacity ? (uint32_t)launched : client->end.capacity;
}

/* None waits for an answer of any kind, and what was on its way then has arrived. */
static bool
is_quiet(struct client *client, uint64_t now)
{
	struct asking *asking = &client->asking;

	if (client->end.active != client->resting)
		asking->quiet_tsc = 0;
	else if (asking->quiet_tsc == 0)
		asking->quiet_tsc = now;
	return asking->quiet_tsc != 0 && now - asking->quiet_tsc >= asking->plan.quiet_cycles;
}

static void
begin(struct client *client, uint64_t now)
{
	struct asking *asking = &client->asking;

	pacer_init(&asking->pacer, client->plan.end.tsc_hz, asking->plan.rate_mfps, now);
	asking->begun_tsc = asking->earliest = now;
	asking->quiet_tsc = 0;
	asking->phase = ASKING_GOES_ON;
}

static void
ask_next(struct client *client, uint64_t due_tsc)
{
	struct asking *asking = &client->asking;
	struct connection *connection = &client->end.connection[asking->turn];

	asking->turn = (asking->turn + 1) % connections(client);
	if (client->slots != NULL)
		client->slots->asked[slot_at(&client->slots->grid, due_tsc)]++;
	switch (connection->state) {
	case CONNECTION_RESTING:
		asking->counts.asked++;
		asking->counts.last_asked_tsc = client->end.now;
		histogram_add(client->lateness, client->end.now - due_tsc);
		client_ask(client, connection, due_tsc);
		return;
	case CONNECTION_OPEN:
		asking->counts.waiting++;
		return;
	default:
		asking->counts.gone++;
	}
}

/* Those that are due by now, up to the end of the time for that. */
static void
ask(struct client *client, uint64_t now, bool has_room)
{
	struct asking *asking = &client->asking;
	uint64_t stop = asking->pacer.start_tsc + asking->plan.duration_cycles;
	uint64_t issued = asking_issued(asking), due;
	unsigned int i;

	if (issued == asking->plan.intended ||
			(int64_t)(now - stop - asking->plan.grace_cycles) >= 0) {
		asking->phase = ASKING_HEARS;
		return;
	}
	due = pacer_due(&asking->pacer, (int64_t)(now - stop) >= 0 ? stop - 1 : now);
	if (due > asking->plan.intended)
		due = asking->plan.intended;
	if (due <= issued || !has_room || (int64_t)(now - asking->earliest) < 0)
		return;
	for (i = 0; i < client->plan.burst && issued < due; i++, issued++)
		ask_next(client, pacer_when(&asking->pacer, issued));
	asking->earliest = now + i * pacer_catch_up(&asking->pacer);
}

static void
begin_to_close(struct client *client, uint64_t now)
{
	struct asking *asking = &client->asking;

	pacer_init(&asking->pacer, client->plan.end.tsc_hz, client->plan.rate_mfps, now);
	asking->earliest = now;
	asking->turn = 0;
	asking->phase = ASKING_CLOSES;
}

static void
close_due(struct client *client, uint64_t now)
{
	struct asking *asking = &client->asking;
	uint64_t due = pacer_due(&asking->pacer, now);
	unsigned int i;

	if ((int64_t)(now - asking->earliest) < 0)
		return;
	for (i = 0; i < client->plan.burst && asking->turn < due; i++) {
		if (asking->turn == connections(client)) {
			asking->phase = ASKING_IS_OVER;
			return;
		}
		client_close(client, &client->end.connection[asking->turn++]);
	}
	asking->earliest = now + i * pacer_catch_up(&asking->pacer);
}

bool
client_clock(struct client *client, uint64_t now, bool has_room)
{
	struct asking *asking = &client->asking;

	client->end.now = now;
	switch (asking->phase) {
	case ASKING_WAITS:
		if (asking->plan.intended == 0 || connections(client) == 0)
			asking->phase = ASKING_IS_OVER;
		else if (is_quiet(client, now))
			begin(client, now);
		break;
	case ASKING_GOES_ON:
		ask(client, now, has_room);
		break;
	case ASKING_HEARS:
		if (is_quiet(client, now))
			begin_to_close(client, now);
		break;
	case ASKING_CLOSES:
		close_due(client, now);
		break;
	case ASKING_IS_OVER:
		break;
	}
	return asking->phase != ASKING_IS_OVER;
}
