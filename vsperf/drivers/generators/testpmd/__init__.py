"""DPDK's testpmd as a generator: it sends as fast as it can, and counts what its ports count."""
