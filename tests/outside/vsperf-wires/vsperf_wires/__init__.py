# vsperf-wires/vsperf_wires/__init__.py
"""A switch, VNFs and a generator on sockets of any machine, and what can be added beside."""
