"""IPVS, the load balancer of the Linux kernel."""
