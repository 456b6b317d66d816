/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The kernel's bridge: no process, no spanning tree, no waiting before the first frame. */
#include <string.h>

#include "application.h"
#include "boot.h"
#include "files.h"
#include "netdev.h"

#define BRIDGE "loop0"
#define FORWARDING 3
#define MODULES "/etc/modules.linux_bridge"

static void
set_bridge(const char *setting, const char *value)
{
	file_write(value, "/sys/class/net/" BRIDGE "/bridge/%s", setting);
}

static bool
add_nic(const struct settings *settings, unsigned int side, struct text *wrong)
{
	char name[IFNAMSIZ];
	int error;

	if (!netdev_prepare(settings->nics[side], settings, name, wrong))
		return false;
	error = bridge_add_port(BRIDGE, name);
	if (error != 0) {
		text_format(wrong, "%s cannot join the bridge: %s", name, strerror(-error));
		return false;
	}
	/* With one NIC a frame has to leave where it came in. */
	if (settings->sides == 1)
		file_write("1", "/sys/class/net/%s/brport/hairpin_mode", name);
	return netdev_up(name, wrong);
}

static bool
start(struct application *application, struct text *wrong)
{
	int error;

	if (!boot_modules(MODULES, wrong))
		return false;
	error = bridge_add(BRIDGE);
	if (error != 0) {
		text_format(wrong, "no bridge: %s", strerror(-error));
		return false;
	}
	file_write("1", "/proc/sys/net/ipv6/conf/" BRIDGE "/disable_ipv6");
	set_bridge("stp_state", "0");
	set_bridge("forward_delay", "0");
	set_bridge("multicast_snooping", "0");
	/* Link-local groups (LLDP and the like) pass too, except those a bridge never may pass. */
	set_bridge("group_fwd_mask", "65528");
	for (unsigned int side = 0; side < application->settings.sides; side++) {
		if (!add_nic(&application->settings, side, wrong))
			return false;
	}
	return bridge_up(BRIDGE, wrong);
}

/* The kernel tells the bridge of a link only some time after the link itself is there. */
static bool
ready(struct application *application)
{
	for (unsigned int side = 0; side < application->settings.sides; side++) {
		char name[IFNAMSIZ];

		if (!nic_netdev(application->settings.nics[side], name) ||
				file_number(0, "/sys/class/net/%s/brport/state", name) != FORWARDING)
			return false;
	}
	return true;
}

static void
stop(struct application *application)
{
	bridge_remove(BRIDGE);
	for (unsigned int side = 0; side < application->settings.sides; side++)
		netdev_restore(application->settings.nics[side]);
}

/* A counter that cannot be read is left out. */
static void
add_counter(const char *nic, const char *theirs, const char *ours, struct text *answer)
{
	int64_t value = file_number(-1, "/sys/class/net/%s/statistics/%s", nic, theirs);

	if (value >= 0)
		application_counter(answer, ours, (uint64_t)value);
}

static void
add_nic_counters(const char *nic, struct text *answer)
{
	add_counter(nic, "rx_packets", "received", answer);
	add_counter(nic, "tx_packets", "sent", answer);
	text_format(answer, "%s\"drops\":{", answer->bytes[answer->length - 1] == '{' ? "" : ",");
	add_counter(nic, "rx_dropped", "receive drops", answer);
	add_counter(nic, "rx_errors", "receive errors", answer);
	add_counter(nic, "tx_dropped", "send drops", answer);
	add_counter(nic, "tx_errors", "send errors", answer);
	text_add(answer, "}", 1);
}

static void
counters(const struct application *application, struct text *answer)
{
	for (unsigned int side = 0; side < application->settings.sides; side++) {
		char name[IFNAMSIZ];

		text_format(answer, "%s{", side > 0 ? "," : "");
		if (nic_netdev(application->settings.nics[side], name))
			add_nic_counters(name, answer);
		text_add(answer, "}", 1);
	}
}

const struct kind kind_linux_bridge = {
	.name = "linux_bridge",
	.start = start,
	.ready = ready,
	.counters = counters,
	.stop = stop,
};
