"""OVS-DPDK: a private instance of Open vSwitch with its userspace datapath."""
