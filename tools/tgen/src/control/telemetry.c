/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include "telemetry.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

struct view {
	const char *activity; /* NULL: there is no session */
	uint16_t ports;
	struct port_facts port[TGEN_MAX_PORTS];
	uint8_t streams;
	struct live live;
	bool has_trial; /* the last one that ended */
	uint8_t number;
	uint8_t trial_streams;
	bool settled;
	struct stream_result stream[TGEN_MAX_STREAMS];
};

/* DPDK hands nothing to its callbacks, so they have to find this by themselves. */
static struct {
	pthread_mutex_t lock;
	uint64_t trials_ended; /* when we last looked */
	struct view view;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
add_streams(struct rte_tel_data *data, unsigned int streams, const struct view *view,
	void (*fill)(struct rte_tel_data *one, const struct view *view, unsigned int i))
{
	struct rte_tel_data *one;
	char name[16];
	unsigned int i;

	for (i = 0; i < streams; i++) {
		one = rte_tel_data_alloc();
		if (one == NULL)
			return -1;
		rte_tel_data_start_dict(one);
		fill(one, view, i);
		snprintf(name, sizeof(name), "%u", i);
		rte_tel_data_add_dict_container(data, name, one, 0);
	}
	return 0;
}

static void
fill_live(struct rte_tel_data *one, const struct view *view, unsigned int i)
{
	rte_tel_data_add_dict_uint(one, "sent", view->live.stream[i].sent);
	rte_tel_data_add_dict_uint(one, "received", view->live.stream[i].received);
}

static void
fill_result(struct rte_tel_data *one, const struct view *view, unsigned int i)
{
	const struct stream_result *stream = &view->stream[i];

	rte_tel_data_add_dict_uint(one, "sent", stream->sent);
	rte_tel_data_add_dict_uint(one, "received", stream->received);
	rte_tel_data_add_dict_uint(one, "distinct", stream->distinct);
	rte_tel_data_add_dict_uint(one, "lost",
		stream->sent - stream->unmarked - stream->distinct);
	rte_tel_data_add_dict_uint(one, "duplicates", stream->duplicates);
	rte_tel_data_add_dict_uint(one, "reordered", stream->reordered);
	rte_tel_data_add_dict_uint(one, "corrupted", stream->corrupted);
	rte_tel_data_add_dict_uint(one, "misrouted", stream->misrouted);
}

static void
fill_port(struct rte_tel_data *one, const struct view *view, unsigned int i)
{
	const struct port_facts *port = &view->port[i];

	rte_tel_data_add_dict_string(one, "name", port->name);
	rte_tel_data_add_dict_string(one, "driver", port->driver);
	rte_tel_data_add_dict_string(one, "link", port->link_up ? "up" : "down");
	rte_tel_data_add_dict_uint(one, "mtu", port->mtu);
	rte_tel_data_add_dict_uint(one, "receive_ring", port->receive_ring);
	rte_tel_data_add_dict_uint(one, "transmit_ring", port->transmit_ring);
}

static int
tell_stats(const char *command, const char *parameters, struct rte_tel_data *data)
{
	const struct view *view = &shared.view;
	int status = 0;

	(void)command;
	(void)parameters;
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&shared.lock);
	if (view->activity != NULL) {
		rte_tel_data_add_dict_string(data, "state", view->activity);
		rte_tel_data_add_dict_uint(data, "elapsed_ns", view->live.elapsed_ns);
		status = add_streams(data, view->streams, view, fill_live);
	}
	pthread_mutex_unlock(&shared.lock);
	return status;
}

static int
tell_ports(const char *command, const char *parameters, struct rte_tel_data *data)
{
	int status;

	(void)command;
	(void)parameters;
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&shared.lock);
	status = add_streams(data, shared.view.ports, &shared.view, fill_port);
	pthread_mutex_unlock(&shared.lock);
	return status;
}

static int
tell_trial(const char *command, const char *parameters, struct rte_tel_data *data)
{
	const struct view *view = &shared.view;
	int status = 0;

	(void)command;
	(void)parameters;
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&shared.lock);
	if (view->has_trial) {
		rte_tel_data_add_dict_uint(data, "number", view->number);
		rte_tel_data_add_dict_string(data, "settled", view->settled ? "yes" : "no");
		status = add_streams(data, view->trial_streams, view, fill_result);
	}
	pthread_mutex_unlock(&shared.lock);
	return status;
}

void
telemetry_start(const struct session *session)
{
	uint16_t i;

	pthread_mutex_lock(&shared.lock);
	shared.view.ports = engine_ports(session->engine);
	for (i = 0; i < shared.view.ports; i++)
		engine_port_facts(session->engine, i, &shared.view.port[i]);
	shared.view.activity = session_activity(session);
	pthread_mutex_unlock(&shared.lock);
	/* Without telemetry (--no-telemetry) these have no effect, which is as it should be. */
	rte_telemetry_register_cmd("/vsperf_tgen/stats", tell_stats,
		"What runs, and frames sent and received so far, per stream. No parameters");
	rte_telemetry_register_cmd("/vsperf_tgen/ports", tell_ports,
		"Ports as they were negotiated. No parameters");
	rte_telemetry_register_cmd("/vsperf_tgen/trial", tell_trial,
		"Counters of the last trial that ended, per stream. No parameters");
}

void
telemetry_stop(void)
{
	pthread_mutex_lock(&shared.lock);
	memset(&shared.view, 0, sizeof(shared.view));
	pthread_mutex_unlock(&shared.lock);
}

/* A result is copied once, when its trial has ended; the next trial may change it at any time. */
static void
copy_result(struct view *view, const struct session *session)
{
	const struct trial_result *result = engine_result(session->engine);

	view->has_trial = true;
	view->number = session->pending.request.number;
	view->trial_streams = result->streams;
	view->settled = result->settled;
	memcpy(view->stream, result->stream, sizeof(view->stream));
}

void
telemetry_publish(const struct session *session)
{
	enum activity activity = session->pending.activity;
	bool is_trial = activity == ACTIVITY_TRIAL || activity == ACTIVITY_PROBE;
	struct live live = { 0 };

	if (is_trial)
		engine_live(session->engine, &live);
	pthread_mutex_lock(&shared.lock);
	shared.view.activity = session_activity(session);
	shared.view.streams = is_trial ? session->traffic.streams : 0;
	shared.view.live = live;
	if (!is_trial && shared.trials_ended != session->trials_ended) {
		copy_result(&shared.view, session);
		shared.trials_ended = session->trials_ended;
	}
	pthread_mutex_unlock(&shared.lock);
}
