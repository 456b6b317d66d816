/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_ENGINE_H
#define TGEN_ENGINE_H

/*
 * The engine: ports and the lcores that send and receive. The control side calls these functions
 * from the main lcore; none of them blocks for longer than it takes to reach the workers.
 * There is one engine per process and no global state beside it, but for what a handler of signals has to
 * find (holds.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connections.h"
#include "error.h"
#include "events.h"
#include "histogram.h"
#include "neighbours.h"
#include "replay.h"
#include "slots.h"
#include "tape.h"
#include "traffic.h"
#include "turns.h"

struct engine;

/* What was negotiated, not what was asked for. */
struct port_facts {
	uint16_t id; /* its number here, which DPDK's differs from where a device has parts */
	char name[64];
	char driver[64];
	uint8_t mac[6];
	bool link_up;
	uint32_t link_mbps; /* 0: unknown */
	uint16_t mtu;
	bool has_kernel; /* there is a device of the kernel behind it, of which these two are known: */
	bool kernel_up;
	uint32_t kernel_mtu;
	uint16_t receive_queues, transmit_queues;
	uint16_t receive_ring, transmit_ring; /* descriptors */
	uint64_t receive_offloads, transmit_offloads; /* in use */
	int numa_node; /* -1: unknown */
	bool has_virtio_features;
	uint64_t virtio_features;
};

/* Of one step of a trial. */
struct step_result {
	uint64_t intended, sent, refused;
	uint64_t due_tsc, began_tsc; /* its first frame; 0: there was none */
};

/* Latencies of one stream [TSC cycles]; NULL where not asked for. */
struct latency_result {
	struct histogram *all; /* or those from a moment on, where these are asked for */
	struct histogram *variation;
	struct histogram *range[TGEN_MAX_RANGES];
	uint64_t first_frame; /* the first one from that moment on; UINT64_MAX: none came */
	uint64_t first_tsc, first_latency;
};

/* Counters of one stream, from sender and receiver. */
struct stream_result {
	uint64_t intended, sent, sent_bytes;
	uint64_t refused; /* not sent because the port was full to the end */
	uint64_t first_sent_tsc, last_sent_tsc;
	uint8_t steps;
	struct step_result step[TGEN_MAX_STEPS];
	uint64_t last_loss_tsc; /* when the last frame left that is lost, or that no port took; 0: none */
	bool last_loss_unknown; /* frames are lost, and nobody can tell when they left */
	uint64_t received, received_bytes; /* every arrival that is of this trial and stream */
	uint64_t arrived[TGEN_MAX_PORTS]; /* received, by the port where it came in */
	uint64_t distinct; /* received without duplicates, corrupted and misrouted ones */
	uint64_t duplicates;
	uint64_t reordered; /* arrived after a later one (RFC 4737 type P) */
	uint64_t reorder_extent; /* greatest distance in sequence numbers */
	uint64_t listeners; /* workers that received some of it */
	uint64_t first_arrival, last_arrival; /* TSC; 0 when nothing came */
	uint64_t longest_silence; /* cycles between two arrivals; 0 when nobody knows */
	uint64_t beyond_window; /* so late that it cannot be told from a duplicate */
	uint64_t corrupted, corrupted_bytes;
	uint64_t misrouted, misrouted_bytes;
	uint64_t wrong_size;
	bool replays; /* so these two are known: */
	uint64_t unmarked; /* sent without a mark; nothing above but `sent` counts them */
	uint64_t unmarked_received; /* without a mark, where they should arrive */
	bool several_queues; /* frames came by more than one, so nobody knows in which order */
	struct latency_result latency;
};

struct port_result {
	uint64_t foreign; /* frames that are not ours */
	bool counts_unmarked; /* so all of those are taken for frames of a file */
	uint64_t answered; /* nor these, which asked for one of us */
	uint64_t stale; /* ours, of another trial */
	uint64_t corrupted; /* ours, but too damaged to say of which stream */
	uint64_t transmit_retries; /* bursts that the port did not take whole */
	uint64_t held_back; /* times that nothing was sent for the frames on their way */
	uint64_t receive_full_polls; /* polls that came back full: falling behind */
	uint64_t receive_behind_cycles; /* while half a ring or more of frames waited; worst queue */
	uint64_t receive_polls;
	uint64_t no_buffers; /* times the pool was empty */
	bool device_told; /* before and after the trial, so these two are known: */
	uint64_t missed; /* of the device: imissed */
	uint64_t device_errors;
};

/* What a worker knows of itself. */
struct worker_result {
	unsigned int lcore;
	int cpu;
	uint64_t loops;
	uint64_t busy_cycles, total_cycles;
	uint64_t longest_gap_cycles; /* between two rounds of its loop */
	uint64_t longest_gap_tsc; /* when it ended */
	uint64_t gaps_over_10us;
	uint64_t paused_cycles; /* of long gaps, by which its schedules were moved */
	struct histogram *departure_error; /* |actual - scheduled| [TSC cycles]; paced streams */
};

struct trial_result {
	bool stopped_early;
	bool settled; /* quiet before the deadline of the drain */
	uint64_t tsc_hz; /* that all times are told by */
	uint64_t tsc_hz_meanwhile; /* measured anew, from the trial's begin to its end; 0: not known */
	uint64_t started_tsc, ended_tsc;
	uint64_t started_unix_ns;
	struct error capture_failure; /* its code is NULL when every capture is written */
	uint8_t streams, ports, workers;
	struct stream_result stream[TGEN_MAX_STREAMS];
	struct port_result port[TGEN_MAX_PORTS];
	struct worker_result worker[TGEN_MAX_WORKERS];
	const struct slots *slots; /* both NULL when not asked for */
	const struct events *events;
};

/* A reading in mid-trial; approximate by nature. */
struct live {
	uint64_t elapsed_ns;
	struct live_stream {
		uint64_t sent, received;
		uint64_t refused; /* due by now, and the port did not take it */
		uint64_t lost; /* missing before a frame that arrived */
		bool lost_unknown; /* each of several workers sees some frames only */
		uint64_t received_bytes, distinct;
		uint64_t corrupted, corrupted_bytes, misrouted, misrouted_bytes;
		bool sends; /* there is something left that it will send */
	} stream[TGEN_MAX_STREAMS];
};

/* What became of what a port received while it was listened to. */
struct listened {
	uint32_t frames; /* in the file */
	uint64_t heard; /* all of them */
};

enum engine_state { ENGINE_IDLE, ENGINE_RUNNING, ENGINE_DONE };

struct engine_options {
	uint16_t queues; /* of each port, each way */
	uint16_t ring; /* descriptors of each queue */
	uint16_t max_frame; /* with FCS; buffers have room for it */
};

/* Take all ports that EAL found, and one worker per worker lcore. */
struct engine *engine_create(const struct engine_options *options, struct error *error);
void engine_destroy(struct engine *engine);

/* How fast the TSC runs, as measured at creation. */
uint64_t engine_tsc_hz(const struct engine *engine);
uint16_t engine_ports(const struct engine *engine);
void engine_port_facts(const struct engine *engine, uint16_t port, struct port_facts *facts);

/* Check the traffic, build its frames. Refused while a trial runs; on failure there is none. */
int engine_configure(struct engine *engine, const struct traffic *traffic, struct error *error);
/* The file that a stream sends; NULL: none. Valid until traffic is configured anew. */
const struct replay *engine_replay(const struct engine *engine, unsigned int stream);

int engine_start(struct engine *engine, const struct trial_request *request, struct error *error);
/* Call often (every few ms): notices the end of sending, then of the drain. */
enum engine_state engine_poll(struct engine *engine);
void engine_live(const struct engine *engine, struct live *live);
/* Latencies that were counted since the last look in this trial; NULL when none are. To within a bucket. */
const struct histogram *engine_live_latency(struct engine *engine, unsigned int stream);
/* Stop sending within one round of the workers' loops; the trial then drains as usual. */
void engine_stop(struct engine *engine);
/* After ENGINE_DONE; valid until the next start. */
const struct trial_result *engine_result(const struct engine *engine);

/*
 * The same in turns: the trial says how fast each stream is sent, and what is waited for at the end. All
 * processes go on at the end, whichever it is.
 */
int engine_turns(struct engine *engine, const struct trial_request *trial,
	const struct turns_request *request, struct error *error);
/* After ENGINE_DONE of turns; valid until the next start. engine_result() has what all of them counted. */
const struct turns_result *engine_turns_result(const struct engine *engine);

/*
 * Begin connections, and serve them: one worker is both ends. What ports and workers have counted is in
 * engine_result(), which has no streams then.
 */
int engine_connections(struct engine *engine, const struct connections_request *request,
	struct error *error);
/* After ENGINE_DONE of connections; valid until the next start. */
const struct connections_result *engine_connections_result(const struct engine *engine);

/*
 * Teach switches and neighbours where we are (ARP, neighbour advertisements), `rounds` times:
 * engine_poll() goes on with it, a millisecond at a time.
 */
int engine_learn(struct engine *engine, unsigned int rounds, struct error *error);
/* After ENGINE_DONE of learning: how many rounds were whole, and what went wrong. */
int engine_learned(const struct engine *engine, unsigned int *rounds, struct error *error);

/* Answer devices that ask where the hosts of the traffic are, from now on or no more. */
int engine_respond(struct engine *engine, const struct responder *responder, struct error *error);

/* Copy the first `frames` frames sent and received on a port in the next trial to a pcap file. */
int engine_capture(struct engine *engine, uint16_t port, const char *path, uint32_t frames,
	struct error *error);

/*
 * Copy all that a port receives from now on, in trials and between them, until the end: then it is
 * written to a pcap file. Both may be said while a trial runs.
 */
int engine_listen(struct engine *engine, uint16_t port, const char *path,
	const struct tape_room *room, struct error *error);
/* It is over even where the file could not be written. */
int engine_listen_end(struct engine *engine, uint16_t port, struct listened *listened,
	struct error *error);
/* Whether engine_poll() has ports to look after, whatever else goes on. */
bool engine_listens(const struct engine *engine);

/* Spin on every worker without traffic and record the gaps: the stalls of the host. */
int engine_stalls(struct engine *engine, uint64_t duration_ns, uint64_t threshold_ns,
	struct error *error);
/* After ENGINE_DONE of stalls: per worker a histogram of gaps above the threshold [cycles]. */
const struct histogram *engine_stall_gaps(const struct engine *engine, unsigned int worker);

#endif /* TGEN_ENGINE_H */
