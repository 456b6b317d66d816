/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TESTS_FUZZ_SESSION_H
#define TGEN_TESTS_FUZZ_SESSION_H

#include <stddef.h>
#include <stdint.h>

/* How much was said so far: a fuzzer that is only ever refused reaches little. */
extern uint64_t fuzz_answers, fuzz_refusals;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* TGEN_TESTS_FUZZ_SESSION_H */
