/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

#define _GNU_SOURCE /* accept4 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "control.h"
#include "telemetry.h"
#include "verbs.h"

/* While so much waits to be taken, nothing more is read: a controller has to listen, too. */
#define OUTGOING_FULL (1u << 20)
#define PUBLISH_NS UINT64_C(100000000)
/* At the end, the last answer has so long to leave. */
#define LAST_FLUSH_MS 50

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static size_t
waiting(const struct control *control)
{
	return control->outgoing.end - control->outgoing.begin;
}

static void
enqueue(void *context, const char *line, size_t length)
{
	struct control *control = context;
	struct outgoing *outgoing = &control->outgoing;
	size_t kept = waiting(control);
	char *bytes;

	if (control->output < 0)
		return;
	if (outgoing->begin > 0) {
		memmove(outgoing->bytes, outgoing->bytes + outgoing->begin, kept);
		outgoing->begin = 0;
		outgoing->end = kept;
	}
	if (outgoing->room - kept < length) {
		bytes = realloc(outgoing->bytes, kept + length + CONTROL_CHUNK);
		if (bytes == NULL)
			return;
		outgoing->bytes = bytes;
		outgoing->room = kept + length + CONTROL_CHUNK;
	}
	memcpy(outgoing->bytes + kept, line, length);
	outgoing->end += length;
}

/* Returns false when the controller has gone. Only called when poll said that it may write. */
static bool
flush(struct control *control)
{
	struct outgoing *outgoing = &control->outgoing;
	size_t length = waiting(control);
	ssize_t written;

	if (length == 0)
		return true;
	if (control->listener >= 0) {
		written = send(control->output, outgoing->bytes + outgoing->begin, length,
			MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		/* So much a pipe takes without blocking once poll has said that it takes any. */
		written = write(control->output, outgoing->bytes + outgoing->begin,
			length < PIPE_BUF ? length : PIPE_BUF);
	}
	if (written < 0)
		return errno == EAGAIN || errno == EINTR;
	outgoing->begin += (size_t)written;
	return true;
}

/* Returns false when the controller has gone. */
static bool
take_input(struct control *control)
{
	static const size_t most = CONTROL_CHUNK;
	char bytes[CONTROL_CHUNK];
	ssize_t length = read(control->input, bytes, most);

	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	if (length == 0)
		return false;
	control->heard = true;
	session_input(control->session, bytes, (size_t)length, now_ns());
	return true;
}

/* For one short line at the very beginning of a connection, which has room for it. */
static void
send_once(void *context, const char *line, size_t length)
{
	const int *caller = context;

	(void)!send(*caller, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
take_caller(struct control *control)
{
	int caller = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (caller < 0)
		return;
	if (control->input < 0) {
		control->input = caller;
		control->output = caller;
		return;
	}
	session_refuse(send_once, &caller, "controlled", "another controller is connected");
	close(caller);
}

/* Who hangs up without a word was no controller, but looked whether somebody listens. */
static bool
is_nobody(const struct control *control)
{
	return control->listener >= 0 && !control->heard;
}

static void
forget_caller(struct control *control)
{
	close(control->input);
	control->input = control->output = -1;
}

static void
publish(struct control *control)
{
	const char *activity = session_activity(control->session);
	uint64_t now = now_ns();

	if (activity == control->published_activity &&
			now - control->published_ns < PUBLISH_NS)
		return;
	control->published_activity = activity;
	control->published_ns = now;
	telemetry_publish(control->session);
}

/* The last answer shall arrive, but nobody waits long for a controller that does not listen. */
static void
flush_last(struct control *control)
{
	struct pollfd output = { .fd = control->output, .events = POLLOUT };
	uint64_t end_ns = now_ns() + LAST_FLUSH_MS * UINT64_C(1000000);

	while (waiting(control) > 0 && now_ns() < end_ns) {
		if (poll(&output, 1, LAST_FLUSH_MS) <= 0 || !flush(control))
			return;
	}
}

enum { POLL_SIGNALS, POLL_LISTENER, POLL_INPUT, POLL_OUTPUT, POLLS };

static void
fill_polls(const struct control *control, int signals, struct pollfd polls[POLLS])
{
	bool is_listening = waiting(control) < OUTGOING_FULL;

	polls[POLL_SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	polls[POLL_LISTENER] = (struct pollfd){ .fd = control->listener, .events = POLLIN };
	polls[POLL_INPUT] = (struct pollfd){
		.fd = control->input, .events = is_listening ? POLLIN : 0,
	};
	/* Errors are told even when no event is asked for: a reader that went away, for one. */
	polls[POLL_OUTPUT] = (struct pollfd){
		.fd = control->output, .events = waiting(control) > 0 ? POLLOUT : 0,
	};
}

/* One round of events; returns false when the controller has gone. */
static bool
serve(struct control *control, const struct pollfd polls[POLLS])
{
	const short gone = POLLERR | POLLNVAL;

	if (polls[POLL_INPUT].revents & POLLIN) {
		if (!take_input(control))
			return false;
	} else if (polls[POLL_INPUT].revents & POLLHUP) {
		return false;
	}
	if (((polls[POLL_INPUT].revents | polls[POLL_OUTPUT].revents) & gone) != 0)
		return false;
	if ((polls[POLL_OUTPUT].revents & POLLOUT) && !flush(control))
		return false;
	if (polls[POLL_LISTENER].revents & POLLIN)
		take_caller(control);
	return true;
}

static enum control_end
loop(struct control *control, int signals, int patience_ms)
{
	struct session *session = control->session;
	struct pollfd polls[POLLS];
	int timeout, ready;
	bool lost = false;

	for (;;) {
		fill_polls(control, signals, polls);
		timeout = session_patience(session);
		if (control->input < 0)
			timeout = patience_ms;
		ready = poll(polls, POLLS, timeout);
		if (ready == 0 && control->input < 0)
			return CONTROL_NOBODY;
		if (ready > 0 && polls[POLL_SIGNALS].revents != 0)
			return CONTROL_SIGNAL;
		/* Who only closed its sending side may still read. */
		if (ready > 0 && !serve(control, polls)) {
			if (is_nobody(control))
				forget_caller(control);
			else
				lost = session_end(session, "the controller has gone");
		}
		if (session->quit) {
			flush_last(control);
			return lost ? CONTROL_LOST : CONTROL_QUIT;
		}
		session_tick(session, now_ns());
		publish(control);
	}
}

enum control_end
control_run(struct control *control, struct engine *engine, const struct process_facts *facts,
	int signals, int patience_ms)
{
	enum control_end end = CONTROL_NOBODY;

	control->session = session_create(engine, facts, verb_table, enqueue, control);
	if (control->session == NULL)
		return end;
	telemetry_start(control->session);
	end = loop(control, signals, patience_ms);
	session_end(control->session, "tgen was told to end");
	telemetry_stop();
	session_destroy(control->session);
	control->session = NULL;
	return end;
}

int
control_stdin(struct control *control, struct error *error)
{
	memset(control, 0, sizeof(*control));
	control->listener = -1;
	control->input = STDIN_FILENO;
	control->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (control->output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return error_set(error, errno, "control", "standard output: %s",
			strerror(errno));
	return 0;
}

/* A socket that nobody listens to any more may go; anything else at that place may not. */
static int
make_room(const struct sockaddr_un *address, struct error *error)
{
	struct stat found;
	int probe, status, why;

	if (lstat(address->sun_path, &found) < 0)
		return 0; /* bind will tell, if that is a problem */
	if (!S_ISSOCK(found.st_mode))
		return error_set(error, EEXIST, "control", "%s exists and is no socket",
			address->sun_path);
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return error_set(error, errno, "control", "socket: %s", strerror(errno));
	status = connect(probe, (const struct sockaddr *)address, sizeof(*address));
	why = errno;
	close(probe);
	/* Who has more callers than it takes listens as well. */
	if (status == 0 || why == EAGAIN)
		return error_set(error, EADDRINUSE, "control", "another tgen listens at %s",
			address->sun_path);
	if (unlink(address->sun_path) < 0)
		return error_set(error, errno, "control", "%s: %s", address->sun_path,
			strerror(errno));
	return 0;
}

static int
bind_private(int listener, const struct sockaddr_un *address)
{
	mode_t before = umask(0177); /* of a socket file mode 0600: from its first moment on */
	int status = bind(listener, (const struct sockaddr *)address, sizeof(*address));

	umask(before);
	return status;
}

int
control_listen(struct control *control, const char *path, struct error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat made;
	int status;

	memset(control, 0, sizeof(*control));
	control->input = control->output = control->listener = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(error, ENAMETOOLONG, "control",
			"the path of a socket has at most %zu characters: %s",
			sizeof(address.sun_path) - 1, path);
	strcpy(address.sun_path, path);
	status = make_room(&address, error);
	if (status < 0)
		return status;
	control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->listener < 0 || bind_private(control->listener, &address) < 0 ||
			stat(path, &made) < 0 || listen(control->listener, 4) < 0) {
		status = error_set(error, errno, "control", "%s: %s", path, strerror(errno));
		control_close(control);
		return status;
	}
	strcpy(control->path, path);
	control->device = made.st_dev;
	control->inode = made.st_ino;
	return 0;
}

void
control_close(struct control *control)
{
	struct stat found;

	if (control->path[0] != '\0' && lstat(control->path, &found) == 0 &&
			found.st_dev == control->device && found.st_ino == control->inode)
		unlink(control->path);
	if (control->listener >= 0)
		close(control->listener);
	if (control->input >= 0 && control->input != control->output)
		close(control->input);
	if (control->output >= 0)
		close(control->output);
	free(control->outgoing.bytes);
	memset(control, 0, sizeof(*control));
	control->listener = control->input = control->output = -1;
}
