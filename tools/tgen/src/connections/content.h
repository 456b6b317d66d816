/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_CONTENT_H
#define TGEN_CONTENT_H

/*
 * What requests and responses consist of: bytes without a meaning, or HTTP/1.1 (RFC 9112). All messages
 * of a trial that go one way are the same, so what comes in is compared with what was sent, byte by byte.
 * Where somebody else is at the other end, it is read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

#define CONTENT_MOST (UINT32_C(1) << 20) /* bytes of a message */
#define CONTENT_UNKNOWN UINT32_MAX /* so many are left: nobody knows yet */

enum content_kind { CONTENT_BYTES, CONTENT_HTTP };

struct content {
	enum content_kind kind;
	bool is_request;
	bool is_known; /* it is what we send ourselves; otherwise it is read */
	uint32_t bytes;
	uint8_t *message;
};

/* 0, or -EINVAL: so few bytes are no such message, or -ENOMEM. */
int content_create(struct content *content, enum content_kind kind, bool is_request, uint32_t bytes,
	struct error *error);
void content_destroy(struct content *content);

enum content_found { CONTENT_MORE, CONTENT_WHOLE, CONTENT_WRONG };

/* `left` of a message of which nothing has come. */
uint32_t content_begin(const struct content *content);

/* Its next bytes, at least one; `left` is what is still to come of it. */
enum content_found content_take(const struct content *content, const uint8_t *data, uint16_t bytes,
	uint32_t *left);

/* Whether that is a whole message, behind its first bytes, which somebody else has written. */
bool content_is(const struct content *content, const uint8_t *data, uint32_t bytes, uint32_t behind);

#endif /* TGEN_CONTENT_H */
