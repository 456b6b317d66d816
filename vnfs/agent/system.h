/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include "text.h"

/* Adds what the kernel counts to an answer, as members of it. */
void system_add(struct text *answer);

#endif
