"""DPVS as the device: a load balancer on DPDK, which keeps a table of connections."""
