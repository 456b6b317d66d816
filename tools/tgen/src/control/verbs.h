/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_VERBS_H
#define TGEN_VERBS_H

/*
 * What a controller can ask for. A verb reads its keys from the request; it then answers at once,
 * or leaves a pending request that the session answers when the engine is done.
 */

#include "session.h"

struct verb {
	const char *name;
	bool while_busy; /* allowed while the engine is busy */
	enum verb_outcome (*run)(struct session *session, struct object *request,
		json_t **result);
};

/* NULL-terminated by name. */
extern const struct verb verb_table[];

/* Answers to questions; verbs_info.c. */
enum verb_outcome verb_hello(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_ports(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_clock(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_live(struct session *session, struct object *request, json_t **result);

/* Actions without traffic of their own, or with little; verbs.c. */
enum verb_outcome verb_learn(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_capture(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_stalls(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_stop(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_quit(struct session *session, struct object *request, json_t **result);

/* verbs_roundtrip.c */
enum verb_outcome verb_roundtrip(struct session *session, struct object *request,
	json_t **result);

/* verbs_respond.c */
enum verb_outcome verb_respond(struct session *session, struct object *request, json_t **result);

/* verbs_listen.c */
enum verb_outcome verb_listen(struct session *session, struct object *request, json_t **result);

/* verbs_traffic.c */
enum verb_outcome verb_configure(struct session *session, struct object *request,
	json_t **result);

/* Of a stream whose ports are known; verbs_headers.c. */
void headers_read(struct object *object, struct stream *stream);

/* verbs_trial.c */
enum verb_outcome verb_trial(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_burst(struct session *session, struct object *request, json_t **result);
enum verb_outcome verb_probe(struct session *session, struct object *request, json_t **result);

/* verbs_connections.c */
enum verb_outcome verb_connections(struct session *session, struct object *request,
	json_t **result);

/* verbs_turns.c */
enum verb_outcome verb_turns(struct session *session, struct object *request, json_t **result);

/* Finish reading a request: false when anything in it was wrong. */
bool request_end(struct object *request);
/* Hand an engine's error on. */
enum verb_outcome verb_refuse(struct object *request, const struct error *error);

#endif /* TGEN_VERBS_H */
