/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRANSMIT_REPLAY_H
#define TGEN_TRANSMIT_REPLAY_H

/* What transmit.c does otherwise for a stream that replays a file. */

#include "payload.h"
#include "worker.h"

/* Write so many more frames into the buffers behind those that are held. */
void replay_build(struct sender *sender, unsigned int count);
/* Write the mark into those of the held frames that have one; `payload` is the first one's. */
void replay_stamp(struct sender *sender, struct payload payload);
/* Of frames that the port took, by the file's own times: how late, and when the next may leave. */
void replay_note_departures(struct sender *sender, unsigned int taken, uint64_t departure);

/* Of the first frames that are held: how many have a mark. */
unsigned int replay_marked(const struct sender *sender, unsigned int count);

#endif /* TGEN_TRANSMIT_REPLAY_H */
