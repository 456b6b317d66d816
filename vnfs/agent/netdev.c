/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "files.h"
#include "netdev.h"

#define LINK_PATIENCE_MS 2000
/* What tells the address of a device from the one its machine gave the NIC. */
#define MOVED 0x08

static int
ask_kernel(unsigned long request, void *about)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = ioctl(fd, request, about) < 0 ? -errno : 0;
	close(fd);
	return error;
}

static struct ifreq
named(const char *name)
{
	struct ifreq ifreq;

	memset(&ifreq, 0, sizeof(ifreq));
	snprintf(ifreq.ifr_name, sizeof(ifreq.ifr_name), "%s", name);
	return ifreq;
}

/* Of IFF_UP and IFF_PROMISC, the device has just these afterwards. */
static int
set_flags(const char *name, int flags)
{
	struct ifreq ifreq = named(name);
	int error = ask_kernel(SIOCGIFFLAGS, &ifreq);

	if (error != 0)
		return error;
	ifreq.ifr_flags = (short)((ifreq.ifr_flags & ~(IFF_UP | IFF_PROMISC)) | flags);
	return ask_kernel(SIOCSIFFLAGS, &ifreq);
}

static bool
bring_up(const char *name, int flags, struct text *wrong)
{
	int64_t deadline = now_ms() + LINK_PATIENCE_MS;
	int error = set_flags(name, flags);

	if (error != 0) {
		text_format(wrong, "%s does not come up: %s", name, strerror(-error));
		return false;
	}
	while (file_number(0, "/sys/class/net/%s/carrier", name) != 1) {
		if (now_ms() > deadline) {
			text_format(wrong, "%s has no link", name);
			return false;
		}
		wait_ms(2);
	}
	return true;
}

bool
netdev_up(const char *name, struct text *wrong)
{
	return bring_up(name, IFF_UP | IFF_PROMISC, wrong);
}

bool
netdev_down(const char *name)
{
	return set_flags(name, 0) == 0;
}

static int
read_mac(const char *mac, unsigned int moved, struct sockaddr *address)
{
	unsigned int bytes[6];

	if (sscanf(mac, "%x:%x:%x:%x:%x:%x", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
			&bytes[5]) != 6)
		return -EINVAL;
	bytes[0] ^= moved;
	address->sa_family = ARPHRD_ETHER;
	for (int i = 0; i < 6; i++)
		address->sa_data[i] = (char)bytes[i];
	return 0;
}

static int
set_mac(const char *name, const char *mac, unsigned int moved)
{
	struct ifreq ifreq = named(name);
	int error = read_mac(mac, moved, &ifreq.ifr_hwaddr);

	return error != 0 ? error : ask_kernel(SIOCSIFHWADDR, &ifreq);
}

static bool
set_mtu(const char *name, unsigned int mtu, struct text *wrong)
{
	struct ifreq ifreq = named(name);
	int error;

	ifreq.ifr_mtu = (int)mtu;
	error = ask_kernel(SIOCSIFMTU, &ifreq);
	if (error != 0)
		text_format(wrong, "%s does not take the MTU %u: %s", name, mtu, strerror(-error));
	return error == 0;
}

/* A feature that the device does not have, or cannot lose, is none that it could apply. */
static void
switch_off(const char *name, unsigned int feature)
{
	struct ethtool_value value = {.cmd = feature, .data = 0};
	struct ifreq ifreq = named(name);

	ifreq.ifr_data = (char *)&value;
	ask_kernel(SIOCETHTOOL, &ifreq);
}

/* No frame is made of others, or cut into some, on its way through the kernel. */
static void
keep_frames(const char *name)
{
	switch_off(name, ETHTOOL_SGRO);
	switch_off(name, ETHTOOL_SGSO);
	switch_off(name, ETHTOOL_STSO);
}

/* A device starts with one queue, however many its machine gave it. */
static int
set_queues(const char *name, unsigned int queues)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifreq = named(name);
	int error;

	ifreq.ifr_data = (char *)&channels;
	error = ask_kernel(SIOCETHTOOL, &ifreq);
	if (error != 0 || channels.combined_count == queues)
		return queues == 1 ? 0 : error;
	channels.cmd = ETHTOOL_SCHANNELS;
	channels.combined_count = queues;
	return ask_kernel(SIOCETHTOOL, &ifreq);
}

bool
netdev_prepare(const struct nic *nic, const struct settings *settings, char name[IFNAMSIZ],
	struct text *wrong)
{
	int error;

	if (!nic_bind(nic, NULL, wrong))
		return false;
	if (!nic_netdev(nic, name)) {
		text_format(wrong, "%s has no network device", nic->mac);
		return false;
	}
	netdev_down(name);
	file_write("1", "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	error = set_mac(name, nic->mac, MOVED);
	if (error != 0) {
		text_format(wrong, "%s does not take an address: %s", name, strerror(-error));
		return false;
	}
	if (!set_mtu(name, settings->mtu, wrong))
		return false;
	error = set_queues(name, settings->queues);
	if (error != 0) {
		text_format(wrong, "%s does not take %u queues: %s", name, settings->queues,
			strerror(-error));
		return false;
	}
	keep_frames(name);
	return true;
}

void
netdev_restore(const struct nic *nic)
{
	char name[IFNAMSIZ];

	if (nic_netdev(nic, name)) {
		netdev_down(name);
		set_mac(name, nic->mac, 0);
	}
}

static int
set_address(const char *name, unsigned long request, struct in_addr address)
{
	struct ifreq ifreq = named(name);
	struct sockaddr_in of_ip = {.sin_family = AF_INET, .sin_addr = address};

	memcpy(&ifreq.ifr_addr, &of_ip, sizeof(of_ip));
	return ask_kernel(request, &ifreq);
}

bool
netdev_join(const char *name, const char *address, unsigned int prefix, unsigned int mtu,
	struct text *wrong)
{
	struct in_addr mask = {.s_addr = htonl(prefix == 0 ? 0 : UINT32_MAX << (32 - prefix))};
	struct in_addr own;
	int error;

	if (inet_pton(AF_INET, address, &own) != 1) {
		text_format(wrong, "%s is no address of IPv4", address);
		return false;
	}
	netdev_down(name);
	keep_frames(name);
	switch_off(name, ETHTOOL_STXCSUM);
	switch_off(name, ETHTOOL_SRXCSUM);
	if (!set_mtu(name, mtu, wrong))
		return false;
	error = set_address(name, SIOCSIFADDR, own);
	if (error == 0)
		error = set_address(name, SIOCSIFNETMASK, mask);
	if (error != 0) {
		text_format(wrong, "%s does not take the address %s: %s", name, address,
			strerror(-error));
		return false;
	}
	set_flags("lo", IFF_UP);
	return bring_up(name, IFF_UP, wrong);
}

bool
netdev_neighbour(const char *name, const char *address, const char *mac, struct text *wrong)
{
	struct sockaddr_in of_ip = {.sin_family = AF_INET};
	struct arpreq arpreq;
	int error;

	memset(&arpreq, 0, sizeof(arpreq));
	error = inet_pton(AF_INET, address, &of_ip.sin_addr) == 1
		? read_mac(mac, 0, &arpreq.arp_ha) : -EINVAL;
	if (error == 0) {
		memcpy(&arpreq.arp_pa, &of_ip, sizeof(of_ip));
		arpreq.arp_flags = ATF_PERM | ATF_COM;
		snprintf(arpreq.arp_dev, sizeof(arpreq.arp_dev), "%s", name);
		error = ask_kernel(SIOCSARP, &arpreq);
	}
	if (error != 0)
		text_format(wrong, "%s cannot be told that %s is at %s: %s", name, address, mac,
			strerror(-error));
	return error == 0;
}

void
netdev_offloads(const char *name, struct text *answer)
{
	static const struct {
		const char *name;
		unsigned int asked;
	} features[] = {
		{"rx checksum", ETHTOOL_GRXCSUM},
		{"tx checksum", ETHTOOL_GTXCSUM},
		{"scatter-gather", ETHTOOL_GSG},
		{"tcp segmentation", ETHTOOL_GTSO},
		{"segmentation", ETHTOOL_GGSO},
		{"receive coalescing", ETHTOOL_GGRO},
	};

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		struct ethtool_value value = {.cmd = features[i].asked, .data = 0};
		struct ifreq ifreq = named(name);

		ifreq.ifr_data = (char *)&value;
		/* A device that knows of no such thing does not do it. */
		if (ask_kernel(SIOCETHTOOL, &ifreq) != 0)
			value.data = 0;
		text_format(answer, "%s\"%s\":%s", i > 0 ? "," : "", features[i].name,
			value.data != 0 ? "true" : "false");
	}
}

int
bridge_add(const char *bridge)
{
	struct ifreq ifreq = named(bridge);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = ioctl(fd, SIOCBRADDBR, ifreq.ifr_name) < 0 ? -errno : 0;
	close(fd);
	return error;
}

int
bridge_add_port(const char *bridge, const char *port)
{
	struct ifreq ifreq = named(bridge);

	ifreq.ifr_ifindex = (int)if_nametoindex(port);
	return ask_kernel(SIOCBRADDIF, &ifreq);
}

bool
bridge_up(const char *bridge, struct text *wrong)
{
	return bring_up(bridge, IFF_UP, wrong);
}

void
bridge_remove(const char *bridge)
{
	struct ifreq ifreq = named(bridge);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	set_flags(bridge, 0);
	ioctl(fd, SIOCBRDELBR, ifreq.ifr_name);
	close(fd);
}
