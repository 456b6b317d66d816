"""Drivers, found by entry point: of switches, machines, generators, loads and collectors."""
