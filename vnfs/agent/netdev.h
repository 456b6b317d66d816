/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* Settings of the kernel's network devices. */
#ifndef NETDEV_H
#define NETDEV_H

#include "application.h"

/*
 * Makes the NIC a device of the kernel that hands on each frame as it came: no merging of
 * frames, no address of its own that would swallow any, no word said by itself, and up.
 */
bool netdev_prepare(const struct nic *nic, const struct settings *settings, char name[IFNAMSIZ],
	struct text *wrong);

/* It takes all frames, whoever they are for. */
bool netdev_up(const char *name, struct text *wrong);
bool netdev_down(const char *name);

/* Gives back the address that `netdev_prepare` changed. */
void netdev_restore(const struct nic *nic);

/*
 * Makes the NIC a device of the guest's own stack: with an address of IPv4, no packet longer than
 * `mtu`, nothing left to the next device, and up. Who is at another address is told, so that
 * nobody is asked.
 */
bool netdev_join(const char *name, const char *address, unsigned int prefix, unsigned int mtu,
	struct text *wrong);
bool netdev_neighbour(const char *name, const char *address, const char *mac, struct text *wrong);

/* What the device leaves to the next one, as members of a JSON object. */
void netdev_offloads(const char *name, struct text *answer);

/* With a bridge: 0 or a negative errno. */
int bridge_add(const char *bridge);
int bridge_add_port(const char *bridge, const char *port);
/* The bridge itself takes none but its own: else it would copy each one it forwards. */
bool bridge_up(const char *bridge, struct text *wrong);
void bridge_remove(const char *bridge);

#endif
