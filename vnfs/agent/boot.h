/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* What process 1 does first and last. */
#ifndef BOOT_H
#define BOOT_H

#include <stdbool.h>

#include "text.h"

void boot_mount(void);

/*
 * Loads the modules that a list of the image names, one path per line, in its order. One that is
 * loaded already is no error. Returns false and says which one was refused.
 */
bool boot_modules(const char *list, struct text *wrong);

void boot_power_off(void) __attribute__((noreturn));

#endif
