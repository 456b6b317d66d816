/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_VERBS_REPLAY_H
#define TGEN_VERBS_REPLAY_H

/* What requests say about files that are replayed, and what answers do. */

#include "session.h"

/* True when the stream is one that sends a file; its path is then read. */
bool replay_of_stream(struct object *object, struct stream *stream);

/* The streams that send files, and what is in these; NULL when there are none. */
json_t *replays_json(const struct session *session);

/* How many frames a trial has that is told neither frames nor duration: each file once. */
void replay_frames_once(struct session *session, struct object *request,
	struct trial_request *trial);

/* By which times files are sent, and so how many frames are due in the trial's time. */
void replay_read_rhythm(struct session *session, struct object *request,
	struct trial_request *trial, bool has_frames);

#endif /* TGEN_VERBS_REPLAY_H */
