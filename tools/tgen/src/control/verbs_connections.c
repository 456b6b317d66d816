/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Connections, as a controller asks for them. */

#include <inttypes.h>
#include <string.h>

#include "address.h"
#include "bytes.h"
#include "hosts.h"
#include "payload.h"
#include "verbs.h"
#include "verbs_each.h"

#define MILLISECOND_NS UINT64_C(1000000)
#define FASTEST_MCPS UINT64_C(100000000000) /* a hundred million connections a second */
#define LONGEST_WAIT_NS (600 * SECOND_NS)
#define LONGEST_HOLD_NS (24 * 3600 * SECOND_NS)
#define HTTP_PORT 80
#define FIRST_PORT 1024
#define FLOOD_HALF 0x8000
#define USUAL_MOST 1460
#define LEAST_MOST 88 /* of RFC 879's 576 no device may cut below this with all its options */
#define REQUEST_BYTES 100
#define RESPONSE_BYTES 1024
#define ATTEMPTS 3
#define ATTEMPTS_MOST 8
#define PATIENCE_NS (5 * SECOND_NS)
#define IDLE_NS (60 * SECOND_NS)
#define QUIET_NS (100 * MILLISECOND_NS)
#define CAPACITY 65536
#define BURST_MOST 64
#define BURST_USUAL 32

/* What both ends have: a port, its addresses, and where its frames go next. */
static void
read_end(struct object *object, struct connections_end *end, uint16_t ports, uint16_t host,
	uint16_t peer)
{
	uint8_t ip[16];

	end->is_here = true;
	hosts_default_mac(end->port, false, end->macs.source);
	hosts_default_mac(peer < ports ? peer : end->port, false, end->macs.destination);
	hosts_default_ip(host, false, LAYER3_IPV4, ip);
	end->addresses = 1;
	address_mac(object, "source_mac", end->macs.source);
	address_mac(object, "destination_mac", end->macs.destination);
	address_ip(object, "ip", LAYER3_IPV4, ip);
	end->first.ip = bytes_get_32(ip);
	object_count_16(object, "addresses", 1, END_MOST_ADDRESSES, &end->addresses);
}

/* Of both, so many addresses from their first ones on. */
static bool
have_in_common(uint32_t one, uint16_t count, uint32_t other, uint16_t others)
{
	return one - other + count - 1u < (uint32_t)count + others - 1;
}

static void
read_client(json_t *json, uint16_t ports, struct connections_request *asked,
	struct problem *problem)
{
	struct connections_end *client = &asked->client;
	struct object object;
	uint64_t count = UINT16_MAX - FIRST_PORT + 1;
	uint16_t begin;
	uint8_t target[16];

	object_begin(&object, json, "client", problem);
	object_count_16(&object, "port", 0, ports > 0 ? (uint16_t)(ports - 1) : 0, &client->port);
	read_end(&object, client, ports, client->port, client->port ^ 1);
	client->first.port = FIRST_PORT;
	object_count_16(&object, "first_port", 1, UINT16_MAX, &client->first.port);
	if (count > UINT32_C(65536) - client->first.port)
		count = UINT32_C(65536) - client->first.port;
	object_count(&object, "port_count", 1, UINT32_C(65536) - client->first.port, &count);
	begin = client->first.port;
	object_count_16(&object, "begin_port", client->first.port, UINT16_MAX, &begin);
	asked->turned = (uint16_t)(begin - client->first.port);
	client->ports = (uint32_t)count;
	hosts_default_ip(client->port ^ 1, false, LAYER3_IPV4, target);
	asked->targets = 1;
	asked->target.port = HTTP_PORT;
	address_ip(&object, "target_ip", LAYER3_IPV4, target);
	object_count_16(&object, "targets", 1, END_MOST_ADDRESSES, &asked->targets);
	object_count_16(&object, "target_port", 1, UINT16_MAX, &asked->target.port);
	asked->target.ip = bytes_get_32(target);
	object_end(&object);
	if (client->ports * client->addresses > CONNECTIONS_MOST)
		problem_set(problem, "client", "out-of-range",
			"%u addresses with %u ports are more than %u connections",
			client->addresses, client->ports, CONNECTIONS_MOST);
}

static void
read_server(json_t *json, uint16_t ports, struct connections_request *asked,
	struct problem *problem)
{
	struct connections_end *server = &asked->server;
	uint16_t other = asked->client.is_here ? asked->client.port ^ 1 : 0;
	uint64_t capacity = CAPACITY;
	struct object object;

	if (asked->client.is_here && asked->client.ports * asked->client.addresses > CAPACITY)
		capacity = asked->client.ports * asked->client.addresses;
	server->port = asked->client.is_here && other >= ports ? asked->client.port : other;
	object_begin(&object, json, "server", problem);
	object_count_16(&object, "port", 0, ports > 0 ? (uint16_t)(ports - 1) : 0, &server->port);
	/* On one port with the client it has the address of a neighbour that is not there. */
	read_end(&object, server, ports, asked->client.is_here &&
		server->port == asked->client.port ? other : server->port, server->port ^ 1);
	server->first.port = HTTP_PORT;
	server->ports = 1;
	object_count_16(&object, "service_port", 1, UINT16_MAX, &server->first.port);
	object_count(&object, "connections", 1, CONNECTIONS_MOST, &capacity);
	asked->capacity = (uint32_t)capacity;
	object_end(&object);
	if (asked->client.is_here && server->port == asked->client.port &&
			have_in_common(server->first.ip, server->addresses,
				asked->client.first.ip, asked->client.addresses))
		problem_set(problem, "server.ip", "bad-value",
			"client and server are at one port, and have an address in common");
}

/* Over UDP each is a datagram, with a number of ours in front. */
static void
check_datagrams(const struct connections_request *asked, struct problem *problem)
{
	const char *const path[] = { "request_bytes", "response_bytes" };
	const uint32_t bytes[] = { asked->request_bytes, asked->response_bytes };
	unsigned int i;

	if (asked->content != CONTENT_BYTES)
		problem_set(problem, "content", "bad-value", "what goes over UDP here is bytes");
	for (i = 0; i < 2; i++)
		if (bytes[i] < DATAGRAM_NUMBER || bytes[i] > asked->most)
			problem_set(problem, path[i], "out-of-range",
				"a datagram has %d bytes of data at least, and %u at most",
				DATAGRAM_NUMBER, asked->most);
}

static void
read_messages(struct object *request, struct connections_request *asked)
{
	static const char *const transports[] = {
		[TRANSPORT_TCP] = "tcp", [TRANSPORT_UDP] = "udp",
	};
	static const char *const kinds[] = { [CONTENT_BYTES] = "bytes", [CONTENT_HTTP] = "http" };
	uint64_t question = REQUEST_BYTES, response = RESPONSE_BYTES;
	unsigned int transport = TRANSPORT_TCP, kind;

	object_choice(request, "protocol", transports, 2, &transport);
	asked->transport = (enum transport)transport;
	kind = transport == TRANSPORT_UDP ? CONTENT_BYTES : CONTENT_HTTP;
	object_choice(request, "content", kinds, 2, &kind);
	object_count(request, "request_bytes", 1, CONTENT_MOST, &question);
	object_count(request, "response_bytes", 1, CONTENT_MOST, &response);
	object_count_16(request, "requests", 1, UINT16_MAX, &asked->requests);
	object_count(request, "pause_ns", 0, LONGEST_HOLD_NS, &asked->pause_ns);
	object_count(request, "hold_ns", 0, LONGEST_HOLD_NS, &asked->hold_ns);
	object_count_16(request, "segment_bytes", LEAST_MOST, SEGMENT_MOST_DATA, &asked->most);
	asked->content = (enum content_kind)kind;
	asked->request_bytes = (uint32_t)question;
	asked->response_bytes = (uint32_t)response;
	if (asked->transport == TRANSPORT_UDP)
		check_datagrams(asked, request->problem);
}

/* How long a connection takes at most, where nobody says anything to it that he need not. */
static uint64_t
longest_ns(const struct connections_request *asked)
{
	uint64_t each_ns = (asked->repeat_ns << asked->attempts) + asked->patience_ns;

	return (asked->requests + UINT64_C(2)) * each_ns + asked->hold_ns +
		(asked->requests - UINT64_C(1)) * asked->pause_ns;
}

static void
read_times(struct object *request, struct connections_request *asked)
{
	object_count_8(request, "attempts", 1, ATTEMPTS_MOST, &asked->attempts);
	object_count(request, "repeat_ns", MILLISECOND_NS, LONGEST_WAIT_NS, &asked->repeat_ns);
	object_count(request, "patience_ns", MILLISECOND_NS, LONGEST_WAIT_NS,
		&asked->patience_ns);
	object_count(request, "idle_ns", MILLISECOND_NS, LONGEST_HOLD_NS, &asked->idle_ns);
	object_count(request, "quiet_ns", 0, LONGEST_WAIT_NS, &asked->quiet_ns);
	object_count(request, "slot_ns", MILLISECOND_NS / 10, LONGEST_WAIT_NS, &asked->slot_ns);
	asked->drain_ns = longest_ns(asked);
	if (asked->drain_ns > TRIAL_LONGEST_NS)
		asked->drain_ns = TRIAL_LONGEST_NS;
	object_count(request, "drain_ns", 0, TRIAL_LONGEST_NS, &asked->drain_ns);
}

/* How many connections begin, and how fast; exactly what is due, as with frames. */
static void
read_load(struct object *request, struct connections_request *asked)
{
	json_t *rate = object_any(request, "rate_cps");
	uint64_t intended = TGEN_48_BITS;

	if (rate != NULL)
		value_thousandths(rate, "rate_cps", FASTEST_MCPS, &asked->rate_mfps,
			request->problem);
	object_count(request, "duration_ns", 1, TRIAL_LONGEST_NS, &asked->duration_ns);
	object_count(request, "connections", 1, TGEN_48_BITS - 1, &intended);
	object_count_16(request, "burst", 1, BURST_MOST, &asked->burst);
	if (!asked->client.is_here) {
		if (rate != NULL || intended != TGEN_48_BITS)
			problem_set(request->problem, "client", "missing-key",
				"who begins these connections?");
		else if (asked->duration_ns == 0)
			problem_set(request->problem, "duration_ns", "missing-key",
				"for how long shall it serve?");
		return;
	}
	if (asked->rate_mfps == 0)
		problem_set(request->problem, "rate_cps", rate == NULL ? "missing-key" : "out-of-range",
			"how many connections begin in a second?");
	else if (asked->duration_ns == 0 && intended == TGEN_48_BITS)
		problem_set(request->problem, "duration_ns", "missing-key",
			"for how long, or how many connections?");
	else if (intended == TGEN_48_BITS)
		intended = each_frames_of(asked->rate_mfps, asked->duration_ns);
	if (intended == 0)
		problem_set(request->problem, "duration_ns", "out-of-range",
			"no connection is due in so short a time at this rate");
	asked->intended = intended;
}

/* Requests by a clock, on all connections, when they are open. */
static void
read_asking(json_t *json, struct connections_request *asked, struct problem *problem)
{
	uint64_t intended = TGEN_48_BITS;
	struct object object;
	json_t *rate;

	object_begin(&object, json, "asking", problem);
	rate = object_any(&object, "rate_rps");
	if (rate != NULL)
		value_thousandths(rate, "asking.rate_rps", FASTEST_MCPS, &asked->asking.rate_mfps,
			problem);
	object_count(&object, "duration_ns", 1, TRIAL_LONGEST_NS, &asked->asking.duration_ns);
	object_count(&object, "requests", 1, TGEN_48_BITS - 1, &intended);
	object_end(&object);
	if (!asked->client.is_here || asked->requests != 1 || asked->hold_ns != 0) {
		problem_set(problem, "asking", "bad-value", "by a clock a client asks on all of its "
			"connections, as long as it takes: without `requests` of each, and `hold_ns`");
		return;
	}
	if (asked->asking.rate_mfps == 0 || asked->asking.duration_ns == 0) {
		problem_set(problem, asked->asking.rate_mfps == 0 ? "asking.rate_rps" :
			"asking.duration_ns", rate != NULL && asked->asking.rate_mfps == 0 ?
			"out-of-range" : "missing-key", "how many requests in a second, and for how long?");
		return;
	}
	/* None is closed before all have asked, so no port of them would ever be free for another. */
	if (asked->intended > asked->client.ports * asked->client.addresses) {
		problem_set(problem, "asking", "out-of-range",
			"all connections are open at a time, and %u addresses with %u ports are not "
			"enough for %" PRIu64, asked->client.addresses, asked->client.ports,
			asked->intended);
		return;
	}
	if (intended == TGEN_48_BITS)
		intended = each_frames_of(asked->asking.rate_mfps, asked->asking.duration_ns);
	if (intended == 0)
		problem_set(problem, "asking.duration_ns", "out-of-range",
			"no request is due in so short a time at this rate");
	asked->asking.intended = intended;
}

/* SYNs of nobody; they come from the second half of the client's network unless told. */
static void
read_flood(json_t *json, struct connections_request *asked, struct problem *problem)
{
	struct object object;
	uint8_t ip[16];
	json_t *rate;

	object_begin(&object, json, "flood", problem);
	rate = object_any(&object, "rate_fps");
	bytes_put_32(ip, (asked->client.first.ip & ~UINT32_C(0xffff)) | FLOOD_HALF);
	asked->flood.first.port = FIRST_PORT;
	asked->flood.addresses = END_MOST_ADDRESSES;
	address_ip(&object, "ip", LAYER3_IPV4, ip);
	object_count_16(&object, "addresses", 1, END_MOST_ADDRESSES, &asked->flood.addresses);
	object_flag(&object, "answered", &asked->flood.is_answered);
	object_end(&object);
	asked->flood.first.ip = bytes_get_32(ip);
	if (rate != NULL)
		value_thousandths(rate, "flood.rate_fps", FASTEST_MCPS, &asked->flood.rate_mfps,
			problem);
	if (!asked->client.is_here)
		problem_set(problem, "flood", "missing-key", "a flood is where the client is");
	else if (asked->transport == TRANSPORT_UDP)
		problem_set(problem, "flood", "bad-value", "a flood is one of SYNs, beside TCP");
	else if (asked->flood.rate_mfps == 0)
		problem_set(problem, "flood.rate_fps", rate == NULL ? "missing-key" : "out-of-range",
			"how many SYNs in a second?");
	else if (have_in_common(asked->flood.first.ip, asked->flood.addresses,
			asked->client.first.ip, asked->client.addresses))
		problem_set(problem, "flood.ip", "bad-value",
			"client and flood have an address in common");
	else if (asked->server.is_here && have_in_common(asked->flood.first.ip,
			asked->flood.addresses, asked->server.first.ip, asked->server.addresses))
		problem_set(problem, "flood.ip", "bad-value",
			"server and flood have an address in common");
}

enum verb_outcome
verb_connections(struct session *session, struct object *request, json_t **result)
{
	struct connections_request asked = {
		.requests = 1, .burst = BURST_USUAL, .most = USUAL_MOST, .attempts = ATTEMPTS,
		.repeat_ns = SECOND_NS, .patience_ns = PATIENCE_NS, .idle_ns = IDLE_NS,
		.quiet_ns = QUIET_NS,
	};
	uint16_t ports = engine_ports(session->engine);
	struct pending *pending = &session->pending;
	json_t *client = object_any(request, "client"), *server = object_any(request, "server");
	json_t *asking = object_any(request, "asking"), *flood = object_any(request, "flood");
	struct error error = { 0 };

	(void)result;
	if (client == NULL && server == NULL)
		problem_set(request->problem, "", "missing-key",
			"connections need a client, a server or both");
	if (client != NULL)
		read_client(client, ports, &asked, request->problem);
	if (server != NULL)
		read_server(server, ports, &asked, request->problem);
	read_messages(request, &asked);
	read_times(request, &asked);
	read_load(request, &asked);
	if (asking != NULL)
		read_asking(asking, &asked, request->problem);
	if (flood != NULL)
		read_flood(flood, &asked, request->problem);
	if (!request_end(request))
		return VERB_FAILED;
	if (engine_connections(session->engine, &asked, &error) < 0)
		return verb_refuse(request, &error);
	pending->activity = ACTIVITY_CONNECTIONS;
	pending->wait = true;
	pending->request = (struct trial_request){ .duration_ns = asked.duration_ns };
	pending->started_ns = session->now_ns;
	return VERB_LATER;
}
