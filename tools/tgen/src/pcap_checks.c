/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* What is wrong with a capture file, whatever its format. */

#include <errno.h>
#include <inttypes.h>

#include "pcap_blocks.h"

#define LINK_TYPE UINT32_C(0xffff) /* above it: whether there is an FCS */

int
pcap_cut(const struct pcap *pcap, struct error *error)
{
	return error_set(error, -EINVAL, "bad-file", "the file ends within frame %" PRIu32,
		pcap->frame + 1);
}

int
pcap_check_link(uint32_t link, struct error *error)
{
	if ((link & LINK_TYPE) != PCAP_ETHERNET)
		return error_set(error, -EINVAL, "bad-file",
			"its frames are of link type %" PRIu32 ", not of Ethernet (1)",
			link & LINK_TYPE);
	if (link != PCAP_ETHERNET)
		return error_set(error, -EINVAL, "bad-file",
			"its frames have an FCS; take it off with editcap -C -4");
	return 0;
}

int
pcap_check_captured(const struct pcap *pcap, uint32_t captured, struct error *error)
{
	if (captured <= PCAP_MOST_CAPTURED)
		return 0;
	return error_set(error, -EINVAL, "bad-file",
		"frame %" PRIu32 " is said to have %" PRIu32 " bytes: the file is damaged",
		pcap->frame + 1, captured);
}
