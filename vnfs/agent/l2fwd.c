/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/*
 * A forwarder on the kernel's driver that rewrites addresses: source becomes the NIC that sends,
 * destination what is beyond it. A process of its own; its counters are in memory that it shares
 * with the agent.
 */
#define _GNU_SOURCE /* recvmmsg, sendmmsg */

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "application.h"
#include "netdev.h"

#define BURST 64
#define FRAME 9728
#define TAG 4
/* Of a socket, each way. A small one for sending is full before the ring of the NIC is. */
#define SOCKET_BYTES (4 << 20)
/* Of a frame with one tag in it; the kernel hands on the outer tag beside the frame. */
#define LARGEST_MTU (FRAME - ETH_HLEN - TAG)

/* One writer, the forwarder. The reader needs each number whole and no order between them. */
struct counts {
	atomic_ullong received;
	atomic_ullong sent;
	atomic_ullong no_buffer;
	atomic_ullong ring_full;
	atomic_ullong send_errors;
};

struct side {
	int fd;
	unsigned char mac[ETH_ALEN];
	unsigned char peer[ETH_ALEN];
	bool has_peer;
	struct counts counts;
};

struct forwarder {
	struct side sides[SIDES];
	unsigned int count;
};

/* Room of one burst. In front of each frame is room for a VLAN tag that the kernel took out. */
struct burst {
	struct mmsghdr headers[BURST];
	struct iovec pieces[BURST];
	union {
		struct cmsghdr header; /* aligns it */
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} notes[BURST];
	unsigned char frames[BURST][TAG + FRAME];
};

static void
count(atomic_ullong *counter, unsigned int number)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + number, memory_order_relaxed);
}

/* Puts the VLAN tag back to where it was on the wire. Returns the start of the frame. */
static unsigned char *
restore_tag(struct msghdr *message, unsigned char *frame, unsigned int *length)
{
	for (struct cmsghdr *note = CMSG_FIRSTHDR(message); note != NULL;
			note = CMSG_NXTHDR(message, note)) {
		struct tpacket_auxdata data;
		uint16_t tag[2];

		if (note->cmsg_level != SOL_PACKET || note->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&data, CMSG_DATA(note), sizeof(data));
		if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0)
			continue;
		memmove(frame - TAG, frame, 2 * ETH_ALEN);
		tag[0] = htons(data.tp_status & TP_STATUS_VLAN_TPID_VALID ?
			data.tp_vlan_tpid : ETH_P_8021Q);
		tag[1] = htons(data.tp_vlan_tci);
		memcpy(frame - TAG + 2 * ETH_ALEN, tag, sizeof(tag));
		*length += TAG;
		return frame - TAG;
	}
	return frame;
}

static unsigned int
receive(int fd, struct burst *burst)
{
	int got;

	for (unsigned int i = 0; i < BURST; i++) {
		burst->pieces[i].iov_base = burst->frames[i] + TAG;
		burst->pieces[i].iov_len = FRAME;
		burst->headers[i].msg_hdr = (struct msghdr){
			.msg_iov = &burst->pieces[i],
			.msg_iovlen = 1,
			.msg_control = &burst->notes[i],
			.msg_controllen = sizeof(burst->notes[i]),
		};
	}
	got = recvmmsg(fd, burst->headers, BURST, MSG_DONTWAIT, NULL);
	return got < 0 ? 0 : (unsigned int)got;
}

static void
rewrite(struct burst *burst, unsigned int number, const struct side *to)
{
	for (unsigned int i = 0; i < number; i++) {
		struct msghdr *message = &burst->headers[i].msg_hdr;
		unsigned int length = burst->headers[i].msg_len;
		unsigned char *frame = restore_tag(message, burst->frames[i] + TAG, &length);

		if (to->has_peer)
			memcpy(frame, to->peer, ETH_ALEN);
		memcpy(frame + ETH_ALEN, to->mac, ETH_ALEN);
		burst->pieces[i].iov_base = frame;
		burst->pieces[i].iov_len = length;
		message->msg_control = NULL;
		message->msg_controllen = 0;
	}
}

/* A full send ring refuses; whoever waited for it would only lose the frames elsewhere. */
static void
send_burst(struct burst *burst, unsigned int number, struct side *to)
{
	unsigned int done = 0;

	while (done < number) {
		int sent = sendmmsg(to->fd, burst->headers + done, number - done, MSG_DONTWAIT);

		if (sent > 0) {
			count(&to->counts.sent, (unsigned int)sent);
			done += (unsigned int)sent;
		} else {
			count(errno == ENOBUFS || errno == EAGAIN ? &to->counts.ring_full :
				&to->counts.send_errors, 1);
			done++;
		}
	}
}

/* What the socket had no room for was handed to the guest, too: it came in, and ended inside. */
static void
ask_drops(struct side *side)
{
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);

	/* The kernel starts at zero again after each question. */
	if (getsockopt(side->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
		return;
	count(&side->counts.received, stats.tp_drops);
	count(&side->counts.no_buffer, stats.tp_drops);
}

static void
forward(void *argument)
{
	static struct burst burst;
	struct forwarder *forwarder = argument;

	for (;;) {
		struct pollfd wanted[SIDES];

		for (unsigned int i = 0; i < forwarder->count; i++)
			wanted[i] = (struct pollfd){.fd = forwarder->sides[i].fd, .events = POLLIN};
		if (poll(wanted, forwarder->count, 100) < 0 && errno != EINTR)
			_exit(1);
		for (unsigned int i = 0; i < forwarder->count; i++) {
			struct side *from = &forwarder->sides[i];
			struct side *to = &forwarder->sides[forwarder->count == 1 ? 0 : 1 - i];
			unsigned int number = receive(from->fd, &burst);

			if (number > 0) {
				count(&from->counts.received, number);
				rewrite(&burst, number, to);
				send_burst(&burst, number, to);
			}
			ask_drops(from);
		}
	}
}

static bool
parse_mac(const char *text, unsigned char mac[ETH_ALEN])
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		&mac[4], &mac[5]) == ETH_ALEN;
}

/* Its socket hears nothing before it is bound: with protocol 0 the kernel hands it no frame. */
static int
open_socket(const char *name)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int size = SOCKET_BYTES;
	int yes = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes));
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof(yes)) != 0 ||
			setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) != 0 ||
			bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool
open_side(struct side *side, const struct settings *settings, unsigned int i, struct text *wrong)
{
	const char *peer = settings->peers[i];
	char name[IFNAMSIZ];

	parse_mac(settings->nics[i]->mac, side->mac);
	side->has_peer = peer != NULL;
	if (peer != NULL && !parse_mac(peer, side->peer)) {
		text_format(wrong, "\"peers\": %s is no MAC address", peer);
		return false;
	}
	if (!netdev_prepare(settings->nics[i], settings, name, wrong) || !netdev_up(name, wrong))
		return false;
	side->fd = open_socket(name);
	if (side->fd < 0)
		text_format(wrong, "no socket on %s: %s", name, strerror(errno));
	return side->fd >= 0;
}

static bool
start(struct application *application, struct text *wrong)
{
	struct forwarder *forwarder;

	if (application->settings.mtu > LARGEST_MTU) {
		text_format(wrong, "l2fwd passes frames of an MTU up to %d, and not of %u", LARGEST_MTU,
			application->settings.mtu);
		return false;
	}
	forwarder = mmap(NULL, sizeof(*forwarder), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (forwarder == MAP_FAILED) {
		text_format(wrong, "no memory: %s", strerror(errno));
		return false;
	}
	application->memory = forwarder;
	forwarder->count = application->settings.sides;
	for (unsigned int i = 0; i < SIDES; i++)
		forwarder->sides[i].fd = -1;
	for (unsigned int i = 0; i < forwarder->count; i++) {
		if (!open_side(&forwarder->sides[i], &application->settings, i, wrong))
			return false;
	}
	application_word(application, "l2fwd");
	return child_start(&application->child, NULL, forward, forwarder, wrong);
}

static void
stop(struct application *application)
{
	struct forwarder *forwarder = application->memory;

	if (forwarder == NULL)
		return;
	for (unsigned int i = 0; i < forwarder->count; i++) {
		if (forwarder->sides[i].fd >= 0)
			close(forwarder->sides[i].fd);
		netdev_restore(application->settings.nics[i]);
	}
	munmap(forwarder, sizeof(*forwarder));
	application->memory = NULL;
}

static void
counters(const struct application *application, struct text *answer)
{
	struct forwarder *forwarder = application->memory;

	for (unsigned int i = 0; i < forwarder->count; i++) {
		struct counts *counts = &forwarder->sides[i].counts;

		text_format(answer, "%s{\"received\":%llu,\"sent\":%llu,\"drops\":{\"no buffer\":%llu,"
			"\"send ring full\":%llu,\"send errors\":%llu}}", i == 0 ? "" : ",",
			atomic_load_explicit(&counts->received, memory_order_relaxed),
			atomic_load_explicit(&counts->sent, memory_order_relaxed),
			atomic_load_explicit(&counts->no_buffer, memory_order_relaxed),
			atomic_load_explicit(&counts->ring_full, memory_order_relaxed),
			atomic_load_explicit(&counts->send_errors, memory_order_relaxed));
	}
}

const struct kind kind_l2fwd = {
	.name = "l2fwd",
	.start = start,
	.counters = counters,
	.stop = stop,
	.has_process = true,
};
