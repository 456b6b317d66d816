"""The driver of Open vSwitch with DPDK."""
