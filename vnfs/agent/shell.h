/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* A shell for people, on a port of its own. */
#ifndef SHELL_H
#define SHELL_H

/* Returns at once; a process of its own keeps a shell there for as long as the guest runs. */
void shell_start(void);

#endif
