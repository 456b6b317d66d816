"""The NICs of VNFs and the passes through the switch, read off a topology.

The same for whoever makes a port, plugs a VNF in, or writes a rule. A VNF has, for each
path through it, a NIC on the side that the path comes from and one on the side that it goes to; or
a single one for both. At the end of a path stands a link, or a VNF whose outer NIC the
generator plays the other end of: there the switch sees no frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.flows import link_mac
from vsperf.config.topology import Path, Topology, is_vnf
from vsperf.config.traffic import Directions, TrafficProfile


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC of a VNF."""

    vnf: str
    number: int
    """Counted from 0 within its VNF, in the order of the paths."""
    faces: str | None
    """The next hop over this NIC, a link or a VNF; None where the generator is plugged in."""
    peer_mac: str
    """Where frames that leave by this NIC go to, for a VNF that rewrites addresses."""

    @property
    def port(self) -> str:
        """Name of the port that it is plugged into."""
        return f"{self.vnf}_{self.number}"

    @property
    def mac(self) -> str:
        """Its address; no other NIC of the deployment has it."""
        return nic_mac(self.vnf, self.number)


@dataclass(frozen=True, slots=True)
class Pass:
    """One way through the switch, of the frames of one path in one direction."""

    enters: str
    """Name of the port: a link's, or a NIC's."""
    leaves: str
    path: Path
    """From where the frames come to where they go; the path turned round for the way back."""
    lane: int
    """Which of the parallel paths it is, counted from 0."""

    @property
    def ends(self) -> bool:
        """Whether frames have passed the switch for the last time on their path."""
        end = self.path[-1]
        return self.leaves == end or self.leaves.startswith(f"{end}_")


def nic_mac(vnf: str, number: int) -> str:
    """Return the address of a VNF's NIC, of the range that QEMU's users take."""
    return f"52:54:00:00:{int(vnf[2:]):02x}:{number:02x}"


def nics(topology: Topology) -> tuple[Nic, ...]:
    """Return every NIC of every VNF, VNF by VNF."""
    found: list[Nic] = []
    for path in topology.paths:
        for place, hop in enumerate(path):
            if is_vnf(hop):
                found += _of_hop(topology, path, place, sum(nic.vnf == hop for nic in found))
    return tuple(sorted(found, key=lambda nic: (int(nic.vnf[2:]), nic.number)))


def outer_nics(topology: Topology) -> tuple[Nic, ...]:
    """Return the NICs that the generator is plugged into."""
    return tuple(nic for nic in nics(topology) if nic.faces is None)


def passes(topology: Topology) -> tuple[Pass, ...]:
    """Return every way through the switch, both directions of each path, in the paths' order."""
    found = []
    for path in topology.paths:
        lane = topology.lane(path)
        for place in range(len(path) - 1):
            here, there = _port(topology, path, place, 1), _port(topology, path, place + 1, 0)
            found.append(Pass(here, there, path, lane))
            found.append(Pass(there, here, path[::-1], lane))
    return tuple(found)


def forks(topology: Topology) -> tuple[Pass, ...]:
    """Return the ways through the switch whose frames enter where others do that leave elsewhere.

    Only what is in a frame tells such ways apart.
    """
    ways = passes(topology)
    return tuple(
        way
        for way in ways
        if any(other.enters == way.enters and other.leaves != way.leaves for other in ways)
    )


def _of_hop(topology: Topology, path: Path, place: int, first: int) -> list[Nic]:
    """Return the NICs that one path needs in the VNF at `place`."""
    vnf = path[place]
    before = path[place - 1] if place else None
    after = path[place + 1] if place + 1 < len(path) else None
    backward = _mac(topology, path, place - 1, 1)
    onward = _mac(topology, path, place + 1, 0)
    if topology.nics == 1 and before is not None and after is not None:
        return [Nic(vnf, first, after, onward)]
    return [Nic(vnf, first, before, backward), Nic(vnf, first + 1, after, onward)]


def _first(topology: Topology, path: Path, vnf: str) -> int:
    """Return the number of a VNF's first NIC on a path: those of earlier paths come before."""
    earlier = topology.paths[: topology.paths.index(path)]
    return sum(_cards(topology, one, vnf) for one in earlier if vnf in one)


def _cards(topology: Topology, path: Path, vnf: str) -> int:
    inside = vnf not in (path[0], path[-1])
    return 1 if topology.nics == 1 and inside else 2


def _port(topology: Topology, path: Path, place: int, side: int) -> str:
    """Return the port of a hop; `side` 0 is where the path enters it, 1 where it leaves."""
    hop = path[place]
    if not is_vnf(hop):
        return hop
    single = _cards(topology, path, hop) == 1
    return f"{hop}_{_first(topology, path, hop) + (0 if single else side)}"


def _mac(topology: Topology, path: Path, place: int, side: int) -> str:
    """Return the address of the NIC or link at `place`; beyond an end it is the generator's."""
    if place < 0 or place >= len(path):
        return link_mac(0 if place < 0 else 1)
    hop = path[place]
    if not is_vnf(hop):
        return link_mac(topology.links.index(hop))
    port = _port(topology, path, place, side)
    return nic_mac(hop, int(port.partition("_")[2]))


def load_shares(topology: Topology, traffic: TrafficProfile) -> tuple[Fraction, ...]:
    """Return what each way of the test traffic is offered of the load, in their order."""
    ways = directions_of(topology, traffic.direction)
    return tuple(load_share(topology, traffic, way) for way in ways)


def load_share(topology: Topology, traffic: TrafficProfile, way: tuple[str, str]) -> Fraction:
    """Return what one way is offered of the load."""
    forward = any(way == (path[0], path[-1]) for path in topology.paths)
    return Fraction(1) if forward else traffic.reverse_load.value


def directions_of(topology: Topology, direction: Directions) -> tuple[tuple[str, str], ...]:
    """Return the ways of the test traffic, each as (link it enters by, link it leaves by)."""
    forward = [(path[0], path[-1]) for path in topology.paths]
    reverse = [(last, first) for first, last in forward]
    ways = {
        "both": [way for pair in zip(forward, reverse, strict=True) for way in pair],
        "forward": forward,
        "reverse": reverse,
    }
    return tuple(dict.fromkeys(ways[direction]))
