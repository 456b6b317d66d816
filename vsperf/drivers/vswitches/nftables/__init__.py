"""A router of the kernel that tracks connections: NAT, load balancer or firewall by nftables."""
