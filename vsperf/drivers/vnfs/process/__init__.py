"""VNFs that are processes: DPDK's testpmd on virtio_user, as containers run it."""
