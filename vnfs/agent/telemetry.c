/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "telemetry.h"

#define SOCKET "/var/run/dpdk/rte/dpdk_telemetry.v2"
#define PATIENCE_MS 2000

/* One answer is one packet. */
static bool
receive(struct telemetry *telemetry)
{
	struct pollfd wanted = {.fd = telemetry->fd, .events = POLLIN};
	ssize_t length;

	if (poll(&wanted, 1, PATIENCE_MS) != 1)
		return false;
	length = recv(telemetry->fd, telemetry->bytes, sizeof(telemetry->bytes) - 1, 0);
	if (length <= 0)
		return false;
	telemetry->bytes[length] = '\0';
	return true;
}

bool
telemetry_open(struct telemetry *telemetry)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};

	telemetry->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (telemetry->fd < 0)
		return false;
	/* A program that hangs lets clients queue up, and the one too many would wait for ever. */
	setsockopt(telemetry->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* It greets each client. */
	if (connect(telemetry->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
			!receive(telemetry)) {
		telemetry_close(telemetry);
		return false;
	}
	return true;
}

void
telemetry_close(struct telemetry *telemetry)
{
	if (telemetry->fd >= 0)
		close(telemetry->fd);
	telemetry->fd = -1;
}

unsigned int
telemetry_ask(struct telemetry *telemetry, const char *path, unsigned int argument)
{
	char question[64];

	snprintf(question, sizeof(question), "%s,%u", path, argument);
	if (send(telemetry->fd, question, strlen(question), MSG_NOSIGNAL) < 0 ||
			!receive(telemetry) ||
			json_read(&telemetry->json, telemetry->bytes) != NULL) {
		/* An answer that comes after all would be taken for that to the next question. */
		telemetry_close(telemetry);
		return 0;
	}
	return json_member(&telemetry->json, 1, path);
}
