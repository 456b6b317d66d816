/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_BYTES_H
#define TGEN_BYTES_H

/* Numbers in network byte order at any address. */

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

static inline void
bytes_put_16(void *where, uint16_t value)
{
	value = rte_cpu_to_be_16(value);
	memcpy(where, &value, sizeof(value));
}

static inline void
bytes_put_32(void *where, uint32_t value)
{
	value = rte_cpu_to_be_32(value);
	memcpy(where, &value, sizeof(value));
}

static inline void
bytes_put_64(void *where, uint64_t value)
{
	value = rte_cpu_to_be_64(value);
	memcpy(where, &value, sizeof(value));
}

static inline uint16_t
bytes_get_16(const void *where)
{
	uint16_t value;

	memcpy(&value, where, sizeof(value));
	return rte_be_to_cpu_16(value);
}

static inline uint32_t
bytes_get_32(const void *where)
{
	uint32_t value;

	memcpy(&value, where, sizeof(value));
	return rte_be_to_cpu_32(value);
}

static inline uint64_t
bytes_get_64(const void *where)
{
	uint64_t value;

	memcpy(&value, where, sizeof(value));
	return rte_be_to_cpu_64(value);
}

#endif /* TGEN_BYTES_H */
