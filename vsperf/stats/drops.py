"""What a switch counted as dropped, and which of it was a full ring. Pure.

Each driver has its own words. Where a word stands for more than full rings, it is not said to be
one.
"""

from __future__ import annotations

from dataclasses import dataclass

from vsperf.record.switch import SwitchCounters
from vsperf.record.trial import Trial

OF_RINGS = (
    "full",  # of a tap or of a packet socket: OVS, VPP, the bridge of Linux
    "missed",  # of a device: VPP, testpmd
    "not taken",  # testpmd
    "tx dropped",  # OVS
    "tx failure",  # OVS, at a port of the kind dpdkvhostuser
    "no free",  # VPP: memif, tap, AF_XDP
    "no available descriptors",  # VPP: vhost, and its name in other versions
    "nobuf",
    "overrun",  # VPP: packet socket
)
"""What is in the reasons that can only be a ring or queue without room."""
PERHAPS_OF_RINGS = ("rx dropped", "no buffer")
"""What is in reasons that may be one, or something else, such as a frame that no rule is for."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Frames that the switch lost for one reason, at one place."""

    where: str
    reason: str
    frames: int

    @property
    def of_ring(self) -> bool:
        """Whether it can only have been a full ring."""
        return is_ring(self.reason)

    @property
    def perhaps_of_ring(self) -> bool:
        """Whether it may have been one."""
        return any(word in self.reason for word in PERHAPS_OF_RINGS)


def is_ring(reason: str) -> bool:
    """Whether a reason says that a ring or queue was full."""
    words = reason.replace("_", " ").lower()
    return any(word in words for word in OF_RINGS)


def dropped_in(trial: Trial) -> list[Drop]:
    """Return what the switch dropped; nothing where a counter fell, as none is believed then."""
    if trial.switch is None or trial.counts_backwards:
        return []
    at_ports = [
        Drop(f"at {port.link or port.machine or port.name} ({reason})", reason, count)
        for port in trial.switch.ports
        for reason, count in port.drops.items()
    ]
    elsewhere = [Drop(name, name, count) for name, count in trial.switch.drops.items()]
    return [one for one in (*at_ports, *elsewhere) if one.frames > 0]


def counts_rings(trial: Trial) -> bool:
    """Whether a ring before or behind the switch could not be full without being counted."""
    switch = trial.switch
    if switch is None:
        return False
    told = all(way.refused_frames is not None for way in trial.directions)
    return _counts_behind(switch) and (told or _counts_before(switch))


def _counts_behind(switch: SwitchCounters) -> bool:
    """Whether each port counts full rings, or the switch does for ports that count nothing."""
    places = [port.drops for port in switch.ports]
    if any(is_ring(reason) for reason in switch.drops):
        places.append(switch.drops)
    return bool(places) and all(any(map(is_ring, reasons)) for reasons in places)


def _counts_before(switch: SwitchCounters) -> bool:
    """Whether each port to a link counts what it did not take in."""
    places = [port.drops for port in switch.ports if port.link is not None]
    return bool(places) and all(
        any(reason.startswith("rx ") for reason in reasons) for reasons in places
    )
