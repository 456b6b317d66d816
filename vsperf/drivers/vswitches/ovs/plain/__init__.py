"""The driver of Open vSwitch without DPDK: on taps, packet sockets or AF_XDP."""
