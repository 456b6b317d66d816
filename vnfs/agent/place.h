/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The stack of this guest's kernel at the end of a link: its device, and who listens. */
#ifndef PLACE_H
#define PLACE_H

#include "json.h"
#include "nic.h"

#define NEIGHBOURS 64

struct place {
	const struct nic *nic; /* NULL: none has joined */
};

/* Each takes a request, adds members to the answer, or returns false and says why. */
bool place_join(struct place *place, const struct nics *nics, const struct json *json,
	unsigned int request, struct text *answer, struct text *wrong);
bool place_counts(const struct place *place, struct text *answer, struct text *wrong);
bool place_listens(const struct json *json, unsigned int request, struct text *answer,
	struct text *wrong);

#endif
