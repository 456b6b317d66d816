/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DPDK's own forwarder. Its ports are counted over the telemetry socket; a port's number is its
 * place in the order of PCI addresses, among those that testpmd was given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "application.h"
#include "boot.h"
#include "files.h"
#include "telemetry.h"

#define PROGRAM "/usr/bin/dpdk-testpmd"
#define DRIVERS "/lib/dpdk"
#define DRIVER "uio_pci_generic"
#define MODULES "/etc/modules.testpmd"

/* Before what the MTU counts: virtio's own header, Ethernet's, and two VLAN tags. */
#define HEADERS (12 + 14 + 8)
#define HEADROOM 128
#define DEFAULT_DATA 2048
#define CACHE 250
/* Of each mbuf beside its data: its own header and that of the pool. */
#define MBUF_HEADER 256
#define HUGEPAGE (2u << 20)
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
static unsigned int
mbuf_count(const struct settings *settings, unsigned int workers)
{
	unsigned int rings = settings->sides * settings->queues *
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

static bool
reserve_hugepages(unsigned int mbufs, unsigned int data, struct text *wrong)
{
	uint64_t bytes = (uint64_t)mbufs * (data + MBUF_HEADER) + BASE_BYTES;
	unsigned int pages = (unsigned int)((bytes + HUGEPAGE - 1) / HUGEPAGE);
	char wanted[16];
	int64_t got;

	snprintf(wanted, sizeof(wanted), "%u", pages);
	file_write(wanted, "/proc/sys/vm/nr_hugepages");
	got = file_number(0, "/proc/sys/vm/nr_hugepages");
	if (got < pages) {
		text_format(wrong, "testpmd needs %u hugepages of 2 MB, and this guest has memory "
			"for %d: give it more memory or smaller rings", pages, (int)got);
		return false;
	}
	return true;
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
	char lcores[256];
	struct text text;

	if (workers > streams)
		workers = streams;
	text_init(&text, lcores, sizeof(lcores));
	text_format(&text, "--lcores=0@0");
	for (unsigned int i = 1; i <= workers; i++)
		text_format(&text, ",%u@%u", i, cpus == 1 ? 0 : i);
	application_word(application, "%s", lcores);
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
add_words(struct application *application, unsigned int workers, unsigned int mbufs,
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
	application_word(application, "--total-num-mbufs=%u", mbufs);
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

static bool
start(struct application *application, struct text *wrong)
{
	const struct settings *settings = &application->settings;
	unsigned int data = data_bytes(settings);
	unsigned int workers;
	unsigned int mbufs;

	if (!knows(settings->forward)) {
		text_format(wrong, "\"forward\" is none of io, mac, macswap, csum");
		return false;
	}
	if (!boot_modules(MODULES, wrong))
		return false;
	for (unsigned int i = 0; i < settings->sides; i++) {
		if (!nic_bind(settings->nics[i], DRIVER, wrong))
			return false;
	}
	application_word(application, PROGRAM);
	workers = add_lcores(application);
	mbufs = mbuf_count(settings, workers);
	if (!reserve_hugepages(mbufs, data, wrong))
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

/* Only what the driver counts: a frame that testpmd threw away itself is in no counter of it. */
static void
add_counters(const struct json *json, unsigned int stats, struct text *answer)
{
	static const struct {
		const char *theirs;
		const char *ours;
	} drops[] = {
		{"imissed", "missed"},
		{"rx_nombuf", "no buffer"},
		{"ierrors", "receive errors"},
		{"oerrors", "send errors"},
	};
	const char *comma = "";

	text_format(answer, "{\"received\":%llu,\"sent\":%llu,\"drops\":{",
		(unsigned long long)json_number(json, json_member(json, stats, "ipackets"), 0),
		(unsigned long long)json_number(json, json_member(json, stats, "opackets"), 0));
	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		unsigned int value = json_member(json, stats, drops[i].theirs);

		if (value == 0)
			continue;
		text_format(answer, "%s\"%s\":%llu", comma, drops[i].ours,
			(unsigned long long)json_number(json, value, 0));
		comma = ",";
	}
	text_format(answer, "}}");
}

static void
counters(const struct application *application, struct text *answer)
{
	struct telemetry telemetry;

	if (!telemetry_open(&telemetry))
		return;
	for (unsigned int side = 0; side < application->settings.sides; side++) {
		unsigned int stats = telemetry_ask(&telemetry, "/ethdev/stats",
			port_of(&application->settings, side));

		if (side > 0)
			text_add(answer, ",", 1);
		if (json_member(&telemetry.json, stats, "ipackets") == 0)
			text_add(answer, "{}", 2);
		else
			add_counters(&telemetry.json, stats, answer);
	}
	telemetry_close(&telemetry);
}

const struct kind kind_testpmd = {
	.name = "testpmd",
	.start = start,
	.ready = ready,
	.counters = counters,
	.has_process = true,
};
