"""tgen: the project's own DPDK traffic generator, driven over its control socket."""
