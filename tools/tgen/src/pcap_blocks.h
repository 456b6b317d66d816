/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PCAP_BLOCKS_H
#define TGEN_PCAP_BLOCKS_H

/* Between the files that read capture files: pcap_read.c, pcap_blocks.c and pcap_checks.c. */

#include <string.h>

#include <rte_byteorder.h>

#include "pcap_read.h"

#define PCAP_ETHERNET 1
#define PCAPNG_SECTION UINT32_C(0x0a0d0d0a) /* the same in both byte orders */

static inline uint32_t
pcap_32(const struct pcap *pcap, size_t offset)
{
	uint32_t value;

	memcpy(&value, pcap->bytes + offset, sizeof(value));
	return pcap->swapped ? rte_bswap32(value) : value;
}

static inline uint16_t
pcap_16(const struct pcap *pcap, size_t offset)
{
	uint16_t value;

	memcpy(&value, pcap->bytes + offset, sizeof(value));
	return pcap->swapped ? rte_bswap16(value) : value;
}

/* The rest of the file is shorter than what it says to follow. */
int pcap_cut(const struct pcap *pcap, struct error *error);
/* Only frames of Ethernet, without FCS, can be sent. */
int pcap_check_link(uint32_t link, struct error *error);
int pcap_check_captured(const struct pcap *pcap, uint32_t captured, struct error *error);

/* pcap_next() for pcapng, which is a row of blocks. */
int pcap_next_of_blocks(struct pcap *pcap, struct pcap_frame *frame, struct error *error);

#endif /* TGEN_PCAP_BLOCKS_H */
