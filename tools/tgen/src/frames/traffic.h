/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#ifndef TGEN_TRAFFIC_H
#define TGEN_TRAFFIC_H

/*
 * What is sent: plain data, filled by the control side, checked once, then only read.
 * Sizes of frames count the FCS, as every standard does; a buffer in memory is 4 bytes shorter.
 */

#include <stdbool.h>
#include <stdint.h>

#define TGEN_MAX_PORTS 16
#define TGEN_MAX_STREAMS 32
#define TGEN_MAX_WORKERS 64
#define TGEN_MAX_PARTS 64 /* of all streams: each is what one worker sends of a stream */
#define TGEN_BURST 64 /* most frames per call of a driver */
#define TGEN_MAX_SIZES 128 /* entries of an IMIX pattern */
#define TGEN_MAX_VARIATIONS 4 /* header fields that vary at the same time */
#define TGEN_MAX_HEADER 192 /* all headers before the fill bytes */
#define TGEN_MAX_STEPS 8 /* of a trial, each with a rate of its own */
#define TGEN_MAX_RANGES 4 /* of frames with a histogram of their own */
#define TGEN_MAX_PICKS (TGEN_MAX_RANGES + 1) /* these, and those from a moment on */
#define TGEN_MAX_CAPTURE 8192 /* frames each way: 150 MB */
#define TGEN_MAX_PATH 1024 /* bytes of the path of a file, its end included */
#define TGEN_FCS 4
#define TGEN_MIN_FRAME 64
#define TGEN_MAX_FRAME 9216
#define TGEN_MAX_FLOWS (UINT32_C(1) << 24)

enum layer3 { LAYER3_IPV4, LAYER3_IPV6 };
enum layer4 { LAYER4_UDP, LAYER4_TCP };

enum encapsulation {
	ENCAPSULATION_NONE,
	ENCAPSULATION_VXLAN,
	ENCAPSULATION_GENEVE,
	ENCAPSULATION_GRE,
	ENCAPSULATION_GTPU,
};

/* What a frame is carried in: outer Ethernet, tags, IP, and the tunnel's own header. */
struct outer {
	enum encapsulation kind; /* ENCAPSULATION_NONE: nothing below matters */
	bool carries_ip; /* no Ethernet header inside: always in GTP-U, never in VXLAN and Geneve */
	bool has_id; /* a key, which only GRE can be without */
	uint32_t id; /* VNI, key or TEID */
	uint8_t source_mac[6];
	uint8_t destination_mac[6];
	uint8_t vlans; /* as those of the headers */
	uint16_t vlan[2];
	enum layer3 layer3;
	uint8_t source_ip[16]; /* IPv4 in the first 4 */
	uint8_t destination_ip[16];
};

/* What a TCP header says beside its ports. */
struct tcp_words {
	uint32_t sequence, acknowledgement;
	uint16_t window;
	uint8_t flags;
};

/* A segment in the middle of a connection: nothing was asked for, and there is room for all. */
#define TCP_ACK 0x10
#define TCP_IN_THE_MIDDLE \
	{ .sequence = 1, .acknowledgement = 1, .window = UINT16_MAX, .flags = TCP_ACK }

/* The headers of a stream's frames; zero means "not there" for counts. */
struct headers {
	uint8_t source_mac[6];
	uint8_t destination_mac[6];
	uint8_t vlans; /* 0, 1 (802.1Q) or 2 (QinQ: outer first) */
	uint16_t vlan[2]; /* tag control: priority and id */
	uint8_t mpls_labels; /* 0 to 3 */
	uint32_t mpls[3]; /* label values */
	enum layer3 layer3;
	uint8_t source_ip[16]; /* IPv4 in the first 4 */
	uint8_t destination_ip[16];
	uint8_t dscp;
	uint8_t ttl;
	enum layer4 layer4;
	uint16_t source_port;
	uint16_t destination_port;
	bool may_fragment; /* IPv4: the bit that forbids it is 0 */
	struct tcp_words tcp; /* where layer 4 is TCP */
	struct outer outer; /* carries all of the above */
};

/* A header field that tells flows apart. */
enum field {
	FIELD_SOURCE_MAC,
	FIELD_DESTINATION_MAC,
	FIELD_SOURCE_IP,
	FIELD_DESTINATION_IP,
	FIELD_SOURCE_PORT,
	FIELD_DESTINATION_PORT,
	FIELD_VLAN, /* id of the outer tag */
	FIELD_VNI, /* of VXLAN or Geneve */
	FIELD_KEY, /* of GRE */
	FIELD_TEID, /* of GTP-U */
};

/* One field takes `count` values: its value in the headers, plus step, 2 step, ... */
struct variation {
	enum field field;
	uint32_t count;
	uint32_t step;
};

enum flow_order {
	FLOWS_IN_ORDER, /* 0, 1, 2, ... and again */
	FLOWS_SHUFFLED, /* each once per round, in an order that the seed decides */
};

/* Flow number f sets each variation's field to digit f / (counts before) % count. */
struct flows {
	uint32_t count; /* product of the variations' counts; 1 without variations */
	uint8_t variations;
	struct variation variation[TGEN_MAX_VARIATIONS];
	enum flow_order order;
	uint64_t seed;
};

struct stream {
	uint8_t id; /* index in the traffic, and in each frame's payload */
	uint16_t transmit_port;
	uint16_t receive_port; /* a frame that arrives elsewhere is misrouted */
	uint16_t workers; /* that send it, each a part of it from a queue of its own */
	char replay[TGEN_MAX_PATH]; /* a capture file to send; then there is nothing below */
	struct headers headers;
	struct flows flows;
	uint32_t broadcast_every; /* one frame in so many is for everybody; 0: none is */
	uint16_t sizes; /* 1, or the length of an IMIX pattern */
	uint16_t size[TGEN_MAX_SIZES]; /* bytes with FCS, sent in this order */
};

struct traffic {
	uint8_t streams;
	struct stream stream[TGEN_MAX_STREAMS];
};

/* A stretch of a trial. */
struct trial_step {
	uint64_t duration_ns;
	uint64_t rate_mfps[TGEN_MAX_STREAMS]; /* never 0 */
	uint64_t frames[TGEN_MAX_STREAMS];
};

/* How a trial is sent. */
struct trial_request {
	uint8_t number; /* goes into each payload: frames of another trial are told apart */
	uint64_t rate_mfps[TGEN_MAX_STREAMS]; /* thousandths of a frame per second; 0: flat out */
	uint64_t frames[TGEN_MAX_STREAMS]; /* intended; TGEN_48_BITS: no bound but time */
	uint64_t train[TGEN_MAX_STREAMS]; /* frames between two gaps; 0: there are no gaps */
	uint64_t gap_ns; /* after the last frame of each such train */
	bool own_times; /* files are sent by their own times; rates say how fast, 0: as they are */
	uint64_t duration_ns; /* sending ends then, whatever is still unsent; 0: when all are sent */
	uint64_t until_ns[TGEN_MAX_STREAMS]; /* the same of each stream by itself */
	uint8_t steps; /* of which it consists; 0: the rates above hold all the time */
	struct trial_step step[TGEN_MAX_STEPS]; /* their frames and times add up to those above */
	uint32_t in_flight[TGEN_MAX_STREAMS]; /* at most, where one worker does everything; 0: no bound */
	uint16_t burst; /* most frames sent back to back when paced; 1 to 64 */
	uint64_t drain_ns; /* wait at most so long for quiet after the last frame */
	uint64_t quiet_ns; /* no frame for so long is quiet */
	uint64_t linger_ns; /* the same once all frames are back: only copies can come then */
	uint64_t slot_ns; /* about how long are slots of time in which frames are counted; 0: none */
	bool latency; /* histograms of every frame's latency */
	uint64_t latency_after_ns; /* of those only that left then, or later */
	uint8_t latency_ranges; /* also of so many ranges of frames: the first and the last number */
	uint64_t latency_range[TGEN_MAX_RANGES][2];
	bool variation; /* also of the difference between neighbours (IPDV) */
	bool check_fill; /* compare the bytes between headers and payload too: costs rate */
};

#endif /* TGEN_TRAFFIC_H */
