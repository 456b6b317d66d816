"""Benchmarks virtual switches, and says how far each number can be trusted."""

__version__ = "0.1.0"
