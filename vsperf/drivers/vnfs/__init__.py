"""Drivers of virtual machines and of what stands in for them."""
