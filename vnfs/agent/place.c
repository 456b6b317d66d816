/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "netdev.h"
#include "place.h"

#define LONGEST_PREFIX 32
#define LARGEST 65535
#define TCP_LISTENS 0x0A
#define UDP_TAKES_ALL 0x07
/* With 1 in it, no connection begins with what one before it learned of its path. */
#define FORGETS_PATHS "/proc/sys/net/ipv4/tcp_no_metrics_save"
/* A socket may be as large as a program asks for: nobody else needs this guest's memory. */
#define LARGEST_SOCKET "67108864\n"
#define STATISTICS "/sys/class/net/%s/statistics/%s"

static bool
read_number(const struct json *json, unsigned int request, const char *name, unsigned int most,
	unsigned int *number, struct text *wrong)
{
	int64_t wanted = json_number(json, json_member(json, request, name), -1);

	if (wanted < 1 || wanted > (int64_t)most) {
		text_format(wrong, "\"%s\" is no number from 1 to %u", name, most);
		return false;
	}
	*number = (unsigned int)wanted;
	return true;
}

static const char *
read_string(const struct json *json, unsigned int object, const char *name, struct text *wrong)
{
	const char *found = json_string(json, json_member(json, object, name));

	if (found == NULL)
		text_format(wrong, "\"%s\" is no string", name);
	return found;
}

static bool
add_neighbours(const char *device, const struct json *json, unsigned int request,
	struct text *wrong)
{
	unsigned int list = json_member(json, request, "neighbours");

	if (!json_is(json, list, JSON_ARRAY) || json->values[list].count > NEIGHBOURS) {
		text_format(wrong, "\"neighbours\" is no list of at most %d", NEIGHBOURS);
		return false;
	}
	for (unsigned int i = json->values[list].first; i != 0; i = json->values[i].next) {
		const char *address = read_string(json, i, "address", wrong);
		const char *mac = address == NULL ? NULL : read_string(json, i, "mac", wrong);

		if (mac == NULL || !netdev_neighbour(device, address, mac, wrong))
			return false;
	}
	return true;
}

/* The greatest size of a socket of TCP, of its least, usual and greatest; 0: nobody says. */
static int64_t
greatest_bytes(const char *setting)
{
	char bytes[128];
	struct text sizes;
	long long least, usual, greatest;

	text_init(&sizes, bytes, sizeof(bytes));
	text_read(&sizes, setting);
	return sscanf(bytes, "%lld %lld %lld", &least, &usual, &greatest) == 3 ? greatest : 0;
}

bool
place_join(struct place *place, const struct nics *nics, const struct json *json,
	unsigned int request, struct text *answer, struct text *wrong)
{
	const char *mac = read_string(json, request, "nic", wrong);
	const char *address = mac == NULL ? NULL : read_string(json, request, "address", wrong);
	const struct nic *nic = mac == NULL ? NULL : nics_by_mac(nics, mac);
	unsigned int prefix, mtu;
	char device[IFNAMSIZ];

	if (address == NULL || !read_number(json, request, "prefix", LONGEST_PREFIX, &prefix, wrong) ||
			!read_number(json, request, "mtu", LARGEST, &mtu, wrong))
		return false;
	if (nic == NULL || !nic_netdev(nic, device)) {
		text_format(wrong, "\"nic\": this guest has no device %s", mac);
		return false;
	}
	file_write("1\n", FORGETS_PATHS);
	file_write(LARGEST_SOCKET, "/proc/sys/net/core/rmem_max");
	file_write(LARGEST_SOCKET, "/proc/sys/net/core/wmem_max");
	if (!netdev_join(device, address, prefix, mtu, wrong) ||
			!add_neighbours(device, json, request, wrong))
		return false;
	place->nic = nic;
	text_format(answer, ",\"device\":\"%s\",\"send_bytes\":%lld,\"receive_bytes\":%lld,"
		"\"forgets_paths\":%s,\"offloads\":{", device,
		(long long)greatest_bytes("/proc/sys/net/ipv4/tcp_wmem"),
		(long long)greatest_bytes("/proc/sys/net/ipv4/tcp_rmem"),
		file_number(0, FORGETS_PATHS) == 1 ? "true" : "false");
	netdev_offloads(device, answer);
	text_add(answer, "}", 1);
	return true;
}

bool
place_counts(const struct place *place, struct text *answer, struct text *wrong)
{
	static const struct {
		const char *ours;
		const char *theirs;
	} counted[] = {
		{"received_bytes", "rx_bytes"},
		{"received_frames", "rx_packets"},
		{"received_dropped", "rx_dropped"},
		{"sent_bytes", "tx_bytes"},
		{"sent_frames", "tx_packets"},
		{"sent_dropped", "tx_dropped"},
	};
	char device[IFNAMSIZ];

	if (place->nic == NULL || !nic_netdev(place->nic, device)) {
		text_format(wrong, "this guest has joined nothing");
		return false;
	}
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		int64_t value = file_number(-1, STATISTICS, device, counted[i].theirs);

		if (value < 0) {
			text_format(wrong, "%s does not count %s", device, counted[i].theirs);
			return false;
		}
		text_format(answer, ",\"%s\":%lld", counted[i].ours, (long long)value);
	}
	return true;
}

/* Whether a socket in the kernel's list is at a port, and in a state. */
static bool
listed(const char *list, unsigned int port, unsigned int state)
{
	FILE *file = fopen(list, "re");
	char line[512];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		unsigned int at, is;

		found = sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &at, &is) == 2 &&
			at == port && is == state;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

bool
place_listens(const struct json *json, unsigned int request, struct text *answer,
	struct text *wrong)
{
	unsigned int port;

	if (!read_number(json, request, "port", LARGEST, &port, wrong))
		return false;
	text_format(answer, ",\"listens\":%s", listed("/proc/net/tcp", port, TCP_LISTENS) ||
		listed("/proc/net/udp", port, UDP_TAKES_ALL) ? "true" : "false");
	return true;
}
