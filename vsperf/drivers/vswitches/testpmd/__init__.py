"""DPDK's testpmd as a switch: it joins ports in pairs, and knows no rule."""
