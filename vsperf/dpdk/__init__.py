"""DPDK's testpmd, as a switch runs it and as a machine does: its command line, and its answers."""
