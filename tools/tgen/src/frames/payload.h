/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_PAYLOAD_H
#define TGEN_PAYLOAD_H

/*
 * The test payload: the last 18 bytes of every frame that we send.
 *
 * It fits behind Ethernet, IPv4 and UDP in a 64-byte frame (60 in memory), and it says whose frame
 * this is, of which trial and stream, its number, and when it left. Its nine 16-bit words always
 * add up to zero in ones' complement arithmetic (the last one is chosen so). Two things follow:
 * a UDP or TCP checksum that was computed once stays right whatever number and time a frame
 * carries, at an odd offset as well; and a receiver sees a corrupted payload by adding it up.
 *
 * Layout, little-endian:
 *   0  magic        16 bit
 *   2  trial         8 bit  number of the trial modulo 256
 *   3  stream        8 bit  one of each worker, where several send it
 *   4  sequence     48 bit  from 0, per stream and trial
 *  10  departure    48 bit  TSC of the sender, modulo 2^48
 *  16  complement   16 bit
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define TGEN_PAYLOAD_BYTES 18
#define TGEN_MAGIC 0x7654
#define TGEN_48_BITS ((UINT64_C(1) << 48) - 1)

/* Everything that a payload says. */
struct payload {
	uint8_t trial;
	uint8_t stream;
	uint64_t sequence; /* 48 bits */
	uint64_t departure; /* 48 bits of TSC */
};

enum payload_state {
	PAYLOAD_OURS, /* intact */
	PAYLOAD_CORRUPTED, /* our magic, but the words do not add up */
	PAYLOAD_FOREIGN, /* not our magic */
};

/* Add up 16-bit words held in 64-bit ones, in ones' complement arithmetic. */
static inline uint16_t
payload_fold(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	sum += sum < b; /* end-around carry */
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + ((sum >> 16) & UINT16_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)((sum & UINT16_MAX) + (sum >> 16));
}

static inline void
payload_write(void *where, const struct payload *payload)
{
	uint64_t head = TGEN_MAGIC | (uint64_t)payload->trial << 16 |
		(uint64_t)payload->stream << 24 | payload->sequence << 32;
	uint64_t tail = ((payload->sequence >> 32) & UINT16_MAX) |
		payload->departure << 16;
	uint16_t complement = (uint16_t)~payload_fold(head, tail);

	head = rte_cpu_to_le_64(head);
	tail = rte_cpu_to_le_64(tail);
	complement = rte_cpu_to_le_16(complement);
	memcpy(where, &head, sizeof(head));
	memcpy((uint8_t *)where + 8, &tail, sizeof(tail));
	memcpy((uint8_t *)where + 16, &complement, sizeof(complement));
}

/* Read a payload; what it says can be relied on only if it is PAYLOAD_OURS. */
static inline enum payload_state
payload_read(const void *where, struct payload *payload)
{
	uint64_t head, tail;
	uint16_t complement;

	memcpy(&head, where, sizeof(head));
	memcpy(&tail, (const uint8_t *)where + 8, sizeof(tail));
	memcpy(&complement, (const uint8_t *)where + 16, sizeof(complement));
	head = rte_le_to_cpu_64(head);
	tail = rte_le_to_cpu_64(tail);
	complement = rte_le_to_cpu_16(complement);
	payload->trial = (uint8_t)(head >> 16);
	payload->stream = (uint8_t)(head >> 24);
	payload->sequence = head >> 32 | (tail & UINT16_MAX) << 32;
	payload->departure = tail >> 16;
	if ((head & UINT16_MAX) != TGEN_MAGIC)
		return PAYLOAD_FOREIGN;
	return (payload_fold(head, tail) ^ complement) == UINT16_MAX ?
		PAYLOAD_OURS : PAYLOAD_CORRUPTED;
}

#endif /* TGEN_PAYLOAD_H */
