"""Drivers, found by entry point: of switches, VNFs, generators, loads and collectors."""
