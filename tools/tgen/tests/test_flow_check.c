/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include "unit.h"

#include "flow.h"
#include "samples.h"

static void
refuse(const struct flows *flows, const struct headers *headers, const char *word)
{
	struct error error;

	assert_int_equal(flow_check(flows, headers, &error), -EINVAL);
	assert_string_equal(error.code, "bad-value");
	assert_non_null(strstr(error.text, word));
}

static void
accept_up_to(enum field field, uint32_t most, uint32_t step, const struct headers *headers,
	const char *word)
{
	struct flows flows = sample_flows(field, most, step);
	struct error error;

	assert_int_equal(flow_check(&flows, headers, &error), 0);
	flows = sample_flows(field, most + 1, step);
	refuse(&flows, headers, word);
}

static void
values_stay_within_their_fields(void **state)
{
	struct headers headers = sample_headers();

	(void)state;
	headers.vlans = 1;
	headers.vlan[0] = 0xe000 | 100;
	sample_outer(&headers, ENCAPSULATION_GENEVE, LAYER3_IPV6, 0xfffff0);
	headers.source_port = 65000;
	memset(headers.source_mac + 1, 0xff, 4);
	headers.source_mac[5] = 0xf0;
	memset(headers.source_ip, 0xff, 3);
	headers.source_ip[3] = 0xf0;
	accept_up_to(FIELD_VLAN, 3996, 1, &headers, "VLAN id");
	accept_up_to(FIELD_VNI, 16, 1, &headers, "VNI");
	accept_up_to(FIELD_VNI, 4, 5, &headers, "VNI");
	sample_outer(&headers, ENCAPSULATION_GRE, LAYER3_IPV4, 0xfffffff0);
	accept_up_to(FIELD_KEY, 16, 1, &headers, "GRE key");
	sample_outer(&headers, ENCAPSULATION_GTPU, LAYER3_IPV4, 0xfffffff0);
	accept_up_to(FIELD_TEID, 4, 5, &headers, "TEID");
	headers.outer.kind = ENCAPSULATION_NONE;
	accept_up_to(FIELD_SOURCE_PORT, 536, 1, &headers, "source port");
	accept_up_to(FIELD_SOURCE_PORT, 54, 10, &headers, "source port");
	accept_up_to(FIELD_SOURCE_MAC, 16, 1, &headers, "source MAC");
	accept_up_to(FIELD_SOURCE_IP, 16, 1, &headers, "source IP");
	headers.layer3 = LAYER3_IPV6;
	memset(headers.destination_ip, 0xff, 16);
	headers.destination_ip[15] = 0xf0;
	accept_up_to(FIELD_DESTINATION_IP, 16, 1, &headers, "destination IP");
	accept_up_to(FIELD_DESTINATION_MAC, TGEN_MAX_FLOWS, 1, &headers, "destination MAC");
}

static void
refuses_flows_that_make_no_sense(void **state)
{
	struct headers headers = sample_headers();
	struct flows flows;

	(void)state;
	flows = sample_flows(FIELD_VLAN, 2, 1);
	refuse(&flows, &headers, "no VLAN tag");
	flows = sample_flows(FIELD_VNI, 2, 1);
	refuse(&flows, &headers, "no VXLAN");
	flows = sample_flows(FIELD_KEY, 2, 1);
	refuse(&flows, &headers, "no GRE with a key");
	flows = sample_flows(FIELD_TEID, 2, 1);
	refuse(&flows, &headers, "no GTP-U");
	sample_outer(&headers, ENCAPSULATION_GTPU, LAYER3_IPV4, 1);
	flows = sample_flows(FIELD_SOURCE_MAC, 2, 1);
	refuse(&flows, &headers, "without Ethernet");
	headers = sample_headers();
	flows = sample_flows((enum field)(FIELD_TEID + 1), 2, 1);
	refuse(&flows, &headers, "no field");
	flows = sample_flows(FIELD_SOURCE_IP, 0, 1);
	refuse(&flows, &headers, "0 values");
	flows = sample_flows(FIELD_SOURCE_IP, 2, 0);
	refuse(&flows, &headers, "step of 0");
	flows = sample_flows(FIELD_SOURCE_IP, 2, 1);
	sample_vary(&flows, FIELD_SOURCE_IP, 2, 1);
	refuse(&flows, &headers, "varies already");
	flows = sample_flows(FIELD_SOURCE_IP, 4097, 1);
	sample_vary(&flows, FIELD_DESTINATION_IP, 4096, 1);
	refuse(&flows, &headers, "more than 16777216");
	flows = sample_flows(FIELD_SOURCE_IP, 8, 1);
	flows.count = 9;
	refuse(&flows, &headers, "make 8");
	flows.count = 8;
	flows.order = (enum flow_order)2;
	refuse(&flows, &headers, "order");
	flows.order = FLOWS_IN_ORDER;
	flows.variations = TGEN_MAX_VARIATIONS + 1;
	refuse(&flows, &headers, "5 variations");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_stay_within_their_fields),
		cmocka_unit_test(refuses_flows_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
