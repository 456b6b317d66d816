/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * DPDK's own forwarder. Its ports are counted over the telemetry socket; a port's number is its
 * place in the order of PCI addresses, among those that testpmd was given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "application.h"
#include "dpdk.h"
#include "telemetry.h"

#define PROGRAM "/usr/bin/dpdk-testpmd"
#define DRIVERS "/lib/dpdk"

/* Before what the MTU counts: virtio's own header, Ethernet's, and two VLAN tags. */
#define HEADERS (12 + 14 + 8)
#define HEADROOM 128
#define DEFAULT_DATA 2048
#define CACHE 250
/* Of each mbuf beside its data: its own header and that of the pool. */
#define MBUF_HEADER 256
/* For queues, rings and all that EAL keeps. */
#define BASE_BYTES (24u << 20)

static unsigned int
port_of(const struct settings *settings, unsigned int side)
{
	unsigned int port = 0;

	for (unsigned int i = 0; i < settings->sides; i++)
		port += strcmp(settings->nics[i]->pci, settings->nics[side]->pci) < 0;
	return port;
}

/* Each ring filled twice, bursts on their way, and what the caches of the lcores may hide. */
static uint64_t
mbuf_count(const struct settings *settings, unsigned int workers)
{
	uint64_t rings = (uint64_t)settings->sides * settings->queues *
		(settings->rx_descriptors + settings->tx_descriptors + 2 * settings->burst);

	return rings + (workers + 1) * 2 * CACHE + 1024;
}

/*
 * A whole frame fits into one mbuf, and that is all that virtio asks for jumbo frames: neither it
 * nor testpmd looks at the MTU when frames pass. (--max-pkt-len would be misread: testpmd takes
 * the room between the driver's largest frame and the device's MTU for headers.)
 */
static unsigned int
data_bytes(const struct settings *settings)
{
	unsigned int frame = settings->mtu + HEADERS;
	unsigned int data = frame > DEFAULT_DATA ? (frame + 63) / 64 * 64 : DEFAULT_DATA;

	return data + HEADROOM;
}

void
testpmd_lcores(struct application *application, unsigned int cpus, unsigned int workers)
{
	if (cpus == 1)
		application_word(application, "--lcores=0@0,1@0");
	else
		application_word(application, "--lcores=0-%u", workers);
}

/*
 * With one CPU the main lcore, which sleeps once all runs, and the worker share it. Otherwise
 * CPU 0 is left to everything else.
 */
static unsigned int
add_lcores(struct application *application)
{
	const struct settings *settings = &application->settings;
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int streams = settings->queues * settings->sides;
	unsigned int workers = cpus == 1 ? 1 : cpus - 1;

	if (workers > streams)
		workers = streams;
	testpmd_lcores(application, cpus, workers);
	return workers;
}

static void
add_peers(struct application *application)
{
	const struct settings *settings = &application->settings;

	for (unsigned int i = 0; i < settings->sides; i++) {
		if (settings->peers[i] != NULL)
			application_word(application, "--eth-peer=%u,%s", port_of(settings, i),
				settings->peers[i]);
	}
}

static void
add_words(struct application *application, unsigned int workers, uint64_t mbufs,
	unsigned int data)
{
	const struct settings *settings = &application->settings;

	application_word(application, "--no-mlockall");
	application_word(application, "--auto-start");
	application_word(application, "--forward-mode=%s", settings->forward);
	application_word(application, "--nb-cores=%u", workers);
	application_word(application, "--rxq=%u", settings->queues);
	application_word(application, "--txq=%u", settings->queues);
	application_word(application, "--rxd=%u", settings->rx_descriptors);
	application_word(application, "--txd=%u", settings->tx_descriptors);
	application_word(application, "--burst=%u", settings->burst);
	application_word(application, "--total-num-mbufs=%llu", (unsigned long long)mbufs);
	application_word(application, "--mbuf-size=%u", data);
	application_word(application, "--port-topology=%s", settings->sides == 1 ? "loop" : "paired");
	add_peers(application);
	for (unsigned int i = 0; i < settings->word_count; i++)
		application_word(application, "%s", settings->words[i]);
}

/* testpmd itself takes a mode that it does not know for `io`. */
static bool
knows(const char *forward)
{
	static const char *const modes[] = {"io", "mac", "macswap", "csum"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i], forward) == 0)
			return true;
	}
	return false;
}

/*
 * With these testpmd would wait for a person, or write over its log for ever. Any beginning of a
 * long name stands for the whole of it.
 */
static bool
is_for_people(const char *word)
{
	static const char *const names[] = {"--interactive", "--stats-period"};
	size_t length = strcspn(word, "=");

	if (word[0] == '-' && word[1] != '-')
		return strchr(word, 'i') != NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (length > 2 && strncmp(word, names[i], length) == 0)
			return true;
	}
	return false;
}

static bool
check_words(const struct settings *settings, struct text *wrong)
{
	for (unsigned int i = 0; i < settings->word_count; i++) {
		const char *word = settings->words[i];

		if (word == NULL || is_for_people(word)) {
			text_format(wrong, "\"arguments\": testpmd cannot be given %s here",
				word == NULL ? "null" : word);
			return false;
		}
	}
	return true;
}

static bool
start(struct application *application, struct text *wrong)
{
	const struct settings *settings = &application->settings;
	unsigned int data = data_bytes(settings);
	unsigned int workers;
	uint64_t mbufs;

	if (!knows(settings->forward)) {
		text_format(wrong, "\"forward\" is none of io, mac, macswap, csum");
		return false;
	}
	if (!check_words(settings, wrong) || !dpdk_bind(settings, wrong))
		return false;
	application_word(application, PROGRAM);
	workers = add_lcores(application);
	mbufs = mbuf_count(settings, workers);
	if (!dpdk_reserve("testpmd", mbufs * (data + MBUF_HEADER) + BASE_BYTES, wrong))
		return false;
	application_word(application, "--in-memory");
	application_word(application, "--iova-mode=pa");
	application_word(application, "-d");
	application_word(application, DRIVERS);
	for (unsigned int i = 0; i < settings->sides; i++) {
		application_word(application, "-a");
		application_word(application, "%s", settings->nics[i]->pci);
	}
	application_word(application, "--");
	add_words(application, workers, mbufs, data);
	if (application->storage.overflown) {
		text_format(wrong, "the command line of testpmd would be too long");
		return false;
	}
	return child_start(&application->child, application->argv, NULL, NULL, wrong);
}

/* What it writes last before it only forwards, and then each port's own word for its link. */
static bool
ready(struct application *application)
{
	struct telemetry telemetry;
	bool up = true;

	if (!child_wrote(&application->child, "Press enter to exit") || !telemetry_open(&telemetry))
		return false;
	for (unsigned int port = 0; port < application->settings.sides; port++) {
		unsigned int link = telemetry_ask(&telemetry, "/ethdev/link_status", port);
		const char *status = json_string(&telemetry.json,
			json_member(&telemetry.json, link, "status"));

		up = up && status != NULL && strcmp(status, "UP") == 0;
	}
	telemetry_close(&telemetry);
	return up;
}

static void
add_counter(const struct json *json, unsigned int stats, const char *theirs, const char *ours,
	struct text *answer)
{
	unsigned int value = json_member(json, stats, theirs);

	if (json_is(json, value, JSON_NUMBER))
		application_counter(answer, ours, (uint64_t)json_number(json, value, 0));
}

/*
 * Only what the driver counts, and is there: a frame that testpmd threw away itself is in no
 * counter of it.
 */
static void
add_port_counters(const struct json *json, unsigned int stats, struct text *answer)
{
	add_counter(json, stats, "ipackets", "received", answer);
	add_counter(json, stats, "opackets", "sent", answer);
	text_format(answer, "%s\"drops\":{", answer->bytes[answer->length - 1] == '{' ? "" : ",");
	add_counter(json, stats, "imissed", "missed", answer);
	add_counter(json, stats, "rx_nombuf", "no buffer", answer);
	add_counter(json, stats, "ierrors", "receive errors", answer);
	add_counter(json, stats, "oerrors", "send errors", answer);
	text_add(answer, "}", 1);
}

/* Of all ports or of none: what was counted at one moment belongs together. */
static void
counters(const struct application *application, struct text *answer)
{
	struct telemetry telemetry;
	size_t before = answer->length;

	if (!telemetry_open(&telemetry))
		return;
	for (unsigned int side = 0; side < application->settings.sides; side++) {
		unsigned int stats = telemetry_ask(&telemetry, "/ethdev/stats",
			port_of(&application->settings, side));

		if (stats == 0) {
			answer->length = before;
			answer->bytes[before] = '\0';
			break;
		}
		text_format(answer, "%s{", side > 0 ? "," : "");
		add_port_counters(&telemetry.json, stats, answer);
		text_add(answer, "}", 1);
	}
	telemetry_close(&telemetry);
}

static void
stop(struct application *application)
{
	(void)application;
	dpdk_release();
}

const struct kind kind_testpmd = {
	.name = "testpmd",
	.start = start,
	.ready = ready,
	.counters = counters,
	.stop = stop,
	.has_process = true,
};
