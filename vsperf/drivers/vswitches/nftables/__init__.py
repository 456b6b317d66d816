"""The kernel as a router that tracks connections and rewrites addresses, by nftables."""
