"""Settings of Open vSwitch without DPDK."""

from __future__ import annotations

from typing import Literal

from vsperf.units import CpuSet
from vsperf.vswitches.ovs.spec import OvsSettings


class OvsSpec(OvsSettings):
    """Settings of Open vSwitch without DPDK: its ports are devices of the kernel."""

    kind: Literal["ovs"]
    datapath: Literal["userspace", "kernel"] = "userspace"
    """Who forwards: the daemon, which needs nothing of the kernel but its devices; or the kernel's
    module openvswitch, which has to be there."""
    cpus: CpuSet | None = None
    """CPU on which the daemon forwards, with all its threads; with AF_XDP, CPUs of the polling
    threads, one each. In the kernel, frames are forwarded where they come in."""
    main_cpus: CpuSet | None = None
    """CPUs of the threads that do not forward: with AF_XDP, and where the kernel forwards."""
