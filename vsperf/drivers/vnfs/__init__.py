"""Drivers of VNFs: of guests, and of what stands in for them."""
