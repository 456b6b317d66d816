/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The virtio NICs of this guest, and which driver has them. */
#ifndef NIC_H
#define NIC_H

#include <stdbool.h>
#include <net/if.h>

#include "text.h"

#define NICS 32

/* Found once at boot: a NIC keeps its addresses whoever drives it. */
struct nic {
	char mac[18]; /* lower case, as the machine was given it */
	char pci[16];
};

struct nics {
	struct nic nics[NICS];
	unsigned int count;
};

/* In the order of their PCI addresses, which is also the order of DPDK's ports. */
void nics_find(struct nics *nics);
const struct nic *nics_by_mac(const struct nics *nics, const char *mac);

/* Gives the NIC to the kernel's driver `driver`; NULL stands for the one that fits by itself. */
bool nic_bind(const struct nic *nic, const char *driver, struct text *wrong);

/* Name of the driver that has it now; "none" if none has. */
void nic_driver(const struct nic *nic, char *name, size_t room);

/* Name of its network device; false if it has none now. */
bool nic_netdev(const struct nic *nic, char name[IFNAMSIZ]);

#endif
