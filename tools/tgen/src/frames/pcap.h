/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PCAP_READ_H
#define TGEN_PCAP_READ_H

/*
 * The frames of a capture file that lies in memory: pcap in both byte orders, with micro- or
 * nanoseconds, and pcapng. Nothing in a file is believed unchecked, and every error names the frame
 * that it is about, counted from 1.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define PCAP_MOST_INTERFACES 64 /* of a section of a pcapng file */
#define PCAP_MOST_CAPTURED 262144 /* what tcpdump keeps of a frame at most */

struct pcap_frame {
	uint64_t when_ns; /* since 1970, as the file has it */
	const uint8_t *bytes;
	uint32_t captured; /* bytes that there are */
	uint32_t length; /* of the frame, when it was captured */
};

/* What a pcapng file says of an interface. */
struct pcap_interface {
	bool binary; /* units of 2^-exponent seconds, not 10^-exponent */
	uint8_t exponent;
	int64_t offset_s;
};

struct pcap {
	const uint8_t *bytes;
	size_t length, offset;
	uint32_t frame; /* number of the one that was read last */
	bool swapped; /* written on a machine of the other byte order */
	bool nanoseconds;
	bool blocks; /* pcapng */
	unsigned int interfaces;
	struct pcap_interface interface[PCAP_MOST_INTERFACES];
};

/* Begin; a negative errno if it is no such file, or one of something else than Ethernet. */
int pcap_begin(struct pcap *pcap, const void *bytes, size_t length, struct error *error);

/* 1: here is a frame. 0: that was all. A negative errno: the file is damaged or cut. */
int pcap_next(struct pcap *pcap, struct pcap_frame *frame, struct error *error);

#endif /* TGEN_PCAP_READ_H */
