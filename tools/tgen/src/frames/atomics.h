/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ATOMICS_H
#define TGEN_ATOMICS_H

/* DPDK's atomics by the names that it has for them from 23.11 on. */

#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#include <rte_stdatomic.h>
#else
#define RTE_ATOMIC(type) type
#define rte_memory_order_relaxed __ATOMIC_RELAXED
#define rte_memory_order_acquire __ATOMIC_ACQUIRE
#define rte_memory_order_release __ATOMIC_RELEASE
#define rte_atomic_load_explicit(where, order) __atomic_load_n(where, order)
#define rte_atomic_store_explicit(where, value, order) __atomic_store_n(where, value, order)
#endif

#endif /* TGEN_ATOMICS_H */
