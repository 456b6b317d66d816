/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_WIDE_H
#define TGEN_WIDE_H

/* 128 bits, for products that are exact; a compiler's extension, as is all of DPDK's C. */
__extension__ typedef unsigned __int128 uint128_t;

#endif /* TGEN_WIDE_H */
