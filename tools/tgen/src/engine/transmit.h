/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRANSMIT_H
#define TGEN_TRANSMIT_H

/* Build, stamp and send the frames of a stream. */

#include "worker.h"

/* Offer what is due by `now`; true when there was something to do. */
bool transmit_round(struct worker *worker, struct sender *sender, uint64_t now);
/* This CPU was away until now: the schedule is moved by so much, and all that is measured by it. */
void transmit_pause(struct sender *sender, uint64_t now, uint64_t cycles);
/* By how much a schedule was moved between its first frame and its last one, at most. */
uint64_t transmit_paused(const struct worker *worker);
/* Frames are due at `now` that were not sent. */
bool transmit_due(const struct sender *sender, uint64_t now);
/* All of a stream is sent. */
bool transmit_done(const struct sender *sender);
/* Sending ends: frames that no port took are forgotten. */
/* Its own time is over, though others go on: what is left stays unsent. */
void transmit_give_up(struct worker *worker, struct sender *sender);
void transmit_abandon(struct worker *worker, struct sender *sender);

#endif /* TGEN_TRANSMIT_H */
