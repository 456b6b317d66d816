"""DPDK's testpmd, as a switch runs it and as a VNF does: its command line, and its answers."""
