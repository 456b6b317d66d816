/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "outer.h"

/* Where a field lies in the frame, and in the bytes that are written for it. */
struct place {
	const char *name;
	uint16_t offset;
	uint8_t width; /* bytes written */
	uint8_t bits; /* of the field that may change, the lowest ones */
	uint8_t shift; /* of the field within the bytes written */
	uint64_t value; /* of these bits in the headers */
	uint64_t rest; /* of the bytes written: what never changes */
	bool in_ip, in_layer4; /* what checksums cover */
	const char *missing; /* why the headers do not have it; NULL if they do */
};

static void
locate_mac(struct place *place, const struct headers *headers, uint16_t offset, const uint8_t *mac)
{
	uint64_t value = (uint64_t)bytes_get_16(mac) << 32 | bytes_get_32(mac + 2);

	place->offset = offset;
	place->width = 6;
	/* The first byte stays: it says whether the address is one of a group. */
	place->bits = 40;
	place->value = value & ((UINT64_C(1) << 40) - 1);
	place->rest = value - place->value;
	if (!frame_has_ethernet(headers))
		place->missing = "the tunnel carries IP without Ethernet";
}

static void
locate_ip(struct place *place, uint16_t offset, const uint8_t *address, bool is_ipv6)
{
	place->in_layer4 = true;
	if (is_ipv6) {
		/* The interface identifier; the network stays. */
		place->offset = (uint16_t)(offset + 8);
		place->width = 8;
		place->bits = 64;
		place->value = bytes_get_64(address + 8);
		return;
	}
	place->offset = offset;
	place->width = 4;
	place->bits = 32;
	place->value = bytes_get_32(address);
	place->in_ip = true;
}

static void
locate_port(struct place *place, uint16_t offset, uint16_t port)
{
	place->offset = offset;
	place->width = 2;
	place->bits = 16;
	place->value = port;
	place->in_layer4 = true;
}

static void
locate_vlan(struct place *place, const struct headers *headers, uint16_t offset)
{
	place->offset = offset;
	place->width = 2;
	place->bits = 12;
	place->value = headers->vlan[0] & 0x0fff;
	place->rest = headers->vlan[0] & 0xf000;
	if (headers->vlans == 0)
		place->missing = "the headers have no VLAN tag";
}

/* What tells tunnels apart. */
static void
locate_id(struct place *place, const struct headers *headers, uint16_t tunnel, const char *missing)
{
	const struct outer *outer = &headers->outer;

	place->offset = (uint16_t)(tunnel + 4);
	place->width = 4;
	place->bits = outer_kinds[outer->kind].id_bits;
	place->shift = (uint8_t)(32 - place->bits);
	place->value = outer->id;
	place->missing = missing;
}

static const char *
missing_vni(const struct outer *outer)
{
	return outer->kind == ENCAPSULATION_VXLAN || outer->kind == ENCAPSULATION_GENEVE ? NULL :
		"the headers have no VXLAN or Geneve";
}

static const char *
missing_key(const struct outer *outer)
{
	return outer->kind == ENCAPSULATION_GRE && outer->has_id ? NULL :
		"the headers have no GRE with a key";
}

static const char *
missing_teid(const struct outer *outer)
{
	return outer->kind == ENCAPSULATION_GTPU ? NULL : "the headers have no GTP-U";
}

/* The frame is only needed for offsets; a check goes without. Returns false for no field. */
static bool
locate(struct place *place, enum field field, const struct headers *headers,
	const struct frame *frame)
{
	static const struct frame nowhere;
	bool is_ipv6 = headers->layer3 == LAYER3_IPV6;

	if (frame == NULL)
		frame = &nowhere;
	memset(place, 0, sizeof(*place));
	switch (field) {
	case FIELD_SOURCE_MAC:
		place->name = "source MAC";
		locate_mac(place, headers, (uint16_t)(frame->ethernet + 6), headers->source_mac);
		return true;
	case FIELD_DESTINATION_MAC:
		place->name = "destination MAC";
		locate_mac(place, headers, frame->ethernet, headers->destination_mac);
		return true;
	case FIELD_SOURCE_IP:
		place->name = "source IP";
		locate_ip(place, (uint16_t)(frame->ip + (is_ipv6 ? 8 : 12)), headers->source_ip,
			is_ipv6);
		return true;
	case FIELD_DESTINATION_IP:
		place->name = "destination IP";
		locate_ip(place, (uint16_t)(frame->ip + (is_ipv6 ? 24 : 16)),
			headers->destination_ip, is_ipv6);
		return true;
	case FIELD_SOURCE_PORT:
		place->name = "source port";
		locate_port(place, frame->layer4, headers->source_port);
		return true;
	case FIELD_DESTINATION_PORT:
		place->name = "destination port";
		locate_port(place, (uint16_t)(frame->layer4 + 2), headers->destination_port);
		return true;
	case FIELD_VLAN:
		place->name = "VLAN id";
		locate_vlan(place, headers, frame->vlan[0]);
		return true;
	case FIELD_VNI:
		place->name = "VNI";
		locate_id(place, headers, frame->tunnel, missing_vni(&headers->outer));
		return true;
	case FIELD_KEY:
		place->name = "GRE key";
		locate_id(place, headers, frame->tunnel, missing_key(&headers->outer));
		return true;
	case FIELD_TEID:
		place->name = "TEID";
		locate_id(place, headers, frame->tunnel, missing_teid(&headers->outer));
		return true;
	}
	return false;
}

static int
check_variation(const struct variation *variation, unsigned int number,
	const struct headers *headers, struct error *error)
{
	struct place place;
	uint64_t room, span;

	if (!locate(&place, variation->field, headers, NULL))
		return error_set(error, -EINVAL, "bad-value",
			"variation %u: there is no field %d", number, (int)variation->field);
	if (place.missing != NULL)
		return error_set(error, -EINVAL, "bad-value",
			"variation %u: the %s cannot vary: %s", number, place.name,
			place.missing);
	if (variation->count < 1 || variation->count > TGEN_MAX_FLOWS)
		return error_set(error, -EINVAL, "bad-value",
			"variation %u: the %s takes %u values: there can be 1 to %u", number,
			place.name, variation->count, TGEN_MAX_FLOWS);
	if (variation->count > 1 && variation->step == 0)
		return error_set(error, -EINVAL, "bad-value",
			"variation %u: with a step of 0 the %s always is the same", number,
			place.name);
	room = (UINT64_MAX >> (64 - place.bits)) - place.value;
	span = (uint64_t)(variation->count - 1) * variation->step;
	if (span > room)
		return error_set(error, -EINVAL, "bad-value",
			"variation %u: %u values in steps of %u from the %s in the headers leave "
			"its %u bits: the last one may be %" PRIu64 " higher, not %" PRIu64,
			number, variation->count, variation->step, place.name, place.bits, room,
			span);
	return 0;
}

int
flow_check(const struct flows *flows, const struct headers *headers, struct error *error)
{
	uint64_t product = 1;
	uint32_t seen = 0;
	unsigned int i;
	int result;

	if (flows->variations > TGEN_MAX_VARIATIONS)
		return error_set(error, -EINVAL, "bad-value", "%u variations: there can be 0 to %u",
			flows->variations, TGEN_MAX_VARIATIONS);
	if (flows->order != FLOWS_IN_ORDER && flows->order != FLOWS_SHUFFLED)
		return error_set(error, -EINVAL, "bad-value",
			"flows come neither in order nor shuffled");
	for (i = 0; i < flows->variations; i++) {
		const struct variation *variation = &flows->variation[i];

		result = check_variation(variation, i, headers, error);
		if (result != 0)
			return result;
		if ((seen & UINT32_C(1) << variation->field) != 0)
			return error_set(error, -EINVAL, "bad-value",
				"variation %u: its field varies already", i);
		seen |= UINT32_C(1) << variation->field;
		product *= variation->count;
		if (product > TGEN_MAX_FLOWS)
			return error_set(error, -EINVAL, "bad-value",
				"the variations make more than %u flows", TGEN_MAX_FLOWS);
	}
	if (flows->count != product)
		return error_set(error, -EINVAL, "bad-value",
			"%u flows, but the variations make %" PRIu64, flows->count, product);
	return 0;
}

/* Steele, Lea and Flood's SplitMix64: a good word from any seed. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

/* Great enough for flow_about() to be one too low at most. */
static uint64_t
reciprocal_of(uint64_t divisor)
{
	return UINT64_MAX / divisor;
}

void
flow_plan_init(struct flow_plan *plan, const struct flows *flows)
{
	uint64_t state = flows->seed;
	unsigned int bits = 1;

	memset(plan, 0, sizeof(*plan));
	plan->count = flows->count;
	plan->kind = flows->count == 1 ? PLAN_ONE :
		flows->order == FLOWS_IN_ORDER ? PLAN_PLAIN : PLAN_SHUFFLED;
	plan->reciprocal = reciprocal_of(flows->count);
	while (UINT32_C(1) << bits < flows->count)
		bits++;
	plan->mask = (UINT32_C(1) << bits) - 1;
	plan->walks = flows->count < (UINT32_C(1) << bits) / 8 * 7;
	plan->shift = (uint8_t)((bits + 1) / 2);
	plan->factor[0] = (uint32_t)next_random(&state) | 1;
	plan->factor[1] = (uint32_t)next_random(&state) | 1;
	plan->addend = (uint32_t)next_random(&state);
}

static void
prepare_edit(struct flow_edit *edit, const struct variation *variation, const struct place *place)
{
	edit->offset = place->offset;
	edit->width = place->width;
	edit->count = variation->count;
	/* Rounded up: exact for 24-bit numbers, which need no correction then. */
	edit->reciprocal = reciprocal_of(variation->count) + 1;
	edit->first = place->rest | place->value << place->shift;
	edit->step = (uint64_t)variation->step << place->shift;
	edit->ip_mask = place->in_ip ? UINT64_MAX : 0;
	edit->layer4_mask = place->in_layer4 ? UINT64_MAX : 0;
}

void
flow_edits_init(struct flow_edits *edits, const struct flows *flows,
	const struct headers *headers, const struct frame *frame)
{
	bool is_udp = headers->layer4 == LAYER4_UDP;
	uint16_t ip_at = (uint16_t)(frame->ip + 10);
	uint16_t layer4_at = (uint16_t)(frame->layer4 + (is_udp ? 6 : 16));
	unsigned int i;

	memset(edits, 0, sizeof(*edits));
	edits->ip_checksum = FRAME_ABSENT;
	edits->layer4_checksum = FRAME_ABSENT;
	edits->zero = is_udp ? UINT16_MAX : 0;
	tunnel_init(&edits->tunnel, headers, frame);
	edits->layer4_sum = (uint16_t)~bytes_get_16(frame->bytes + layer4_at);
	if (headers->layer3 == LAYER3_IPV4)
		edits->ip_sum = (uint16_t)~bytes_get_16(frame->bytes + ip_at);
	for (i = 0; i < flows->variations; i++) {
		struct flow_edit *edit = &edits->edit[edits->edits];
		struct place place;
		uint64_t without;

		/* A field with one value stays as it is; so no count of 1 has to be divided by. */
		if (flows->variation[i].count == 1)
			continue;
		locate(&place, flows->variation[i].field, headers, frame);
		prepare_edit(edit, &flows->variation[i], &place);
		edits->edits++;
		without = checksum_words(~edit->first);
		edits->ip_sum += without & edit->ip_mask;
		edits->layer4_sum += without & edit->layer4_mask;
		if (place.in_ip)
			edits->ip_checksum = ip_at;
		if (place.in_layer4)
			edits->layer4_checksum = layer4_at;
	}
}
