"""How much memory the packet buffers of an instance take. Pure.

With `per-port-memory` OVS makes for each port as many buffers as it can ever use. Otherwise it
begins with 262144 for all, takes what memory there is, and halves the number until it fits; for
that moment it has nothing left for the port that connects, which then fails.
"""

from __future__ import annotations

from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import LARGEST_USUAL_MTU, SwitchPort
from vsperf.errors import UsageError

MEGABYTE = 1 << 20
LEAST_BUFFERS = 16_384
"""Of each port, beside those in its rings."""
USUAL_RING = 2048
BURST = 32
OVERHEAD_BYTES = 960
"""Of each buffer: what DPDK and OVS say of the frame, headroom, and the pool's own."""
FRAME_OVERHEAD_BYTES = 154
"""Headers around the packet, and headroom, before rounding up to a kilobyte."""
PAGE_BYTES = 4096
SPARE_MB = 64
"""For all that is no buffer: rings, queues, and what lies between."""
STEP_MB = 64


def memory_mb(spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory that an instance is given; what the user chose has to suffice."""
    needed = needed_mb(spec, ports)
    if spec.memory is None:
        return needed
    if spec.memory < needed - SPARE_MB:
        raise UsageError(
            f"vswitch.memory is {spec.memory} MB, and the buffers of {len(ports)} ports need more",
            why=f"{needed - SPARE_MB} MB is what OVS makes for this MTU and these rings",
            fix=f"--set vswitch.memory={needed}, or leave it out",
        )
    return spec.memory


def needed_mb(spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return the memory that suffices [MB], in steps."""
    taken = sum(_buffers(spec) * _buffer_bytes(port, spec.hugepages) for port in ports)
    whole = -(-taken // MEGABYTE) + SPARE_MB
    return -(-whole // STEP_MB) * STEP_MB


def _buffers(spec: OvsDpdkSpec) -> int:
    """Return the buffers of one port; a vhost-user port may get as many queues as a NIC."""
    receive = spec.rxqs * (spec.rx_ring or USUAL_RING)
    send = (spec.pmd_count + 1) * (spec.tx_ring or USUAL_RING)
    return LEAST_BUFFERS + receive + send + spec.rxqs * BURST


def _buffer_bytes(port: SwitchPort, hugepages: bool) -> int:
    packet = port.mtu_request or LARGEST_USUAL_MTU
    data = -(-(packet + FRAME_OVERHEAD_BYTES) // 1024) * 1024
    whole = data + OVERHEAD_BYTES
    if hugepages:
        return whole
    return -(-whole // PAGE_BYTES) * PAGE_BYTES  # no buffer begins on one page and ends on another
