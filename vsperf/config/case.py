"""A testcase, resolved to one concrete point: everything a run needs to know, frozen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, SerializeAsAny, model_validator

from vsperf.config.base import DriverSpec, Spec
from vsperf.config.cache import CacheRole, CacheShare
from vsperf.config.expect import Expectation
from vsperf.config.guest import NETWORK, AskedPlace
from vsperf.config.method import MethodSpec
from vsperf.config.modify import Modify
from vsperf.config.point import point_label
from vsperf.config.topology import Topology
from vsperf.config.traffic import LatencyTrials, TrafficProfile, TrialPolicy
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import CpuSet, LinkSpeed
from vsperf.trust.printable import as_label

VSWITCH, RIVALS, CALLED = "vswitch", "rivals", "called"
MADE = {
    RIVALS: "write a list of switches under `vswitch`, and choose a method that compares them",
    CALLED: "an item of a list under `vswitch` has a `name:`",
}
"""What a case has by a list of switches, and nobody writes."""


class Host(Spec):
    """A computer that takes part, and which of its CPUs may be used."""

    address: str = "local"
    """`local`, or an ssh destination."""
    cpus: CpuSet | None = None
    """CPUs that may be used; all of them when not given."""


class Link(Spec):
    """A cable, real or virtual, from a port of the generator to a port of the switch."""

    speed: LinkSpeed
    """Bit rate of one direction; 100% of a load and the line rate in results refer to it."""
    virtual: bool = False
    """No cable: nothing carries a line rate, and `speed` only bounds the loads of a search."""
    generator: str | None = None
    """Device at the generator's end; made by the deployment when not given."""
    switch: str | None = None
    """Device at the switch's end; made by the deployment when not given."""


class Testbed(Spec):
    """The hosts and links that a testcase runs on; no test logic."""

    __test__ = False  # not a test class, whatever its name suggests to pytest

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """What `--testbed` and records call it; its file is called the same."""
    title: str = ""
    """One line for lists."""
    simulated: bool = False
    """True where numbers come from a model; every output then says so."""
    hosts: dict[str, Host] = Field(default_factory=lambda: {"local": Host()})
    links: dict[str, Link] = Field(min_length=1)
    """By name; topologies speak of these names (`phy0`, `phy1`)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that links name, at either end."""
        ends = [end for link in self.links.values() for end in (link.switch, link.generator)]
        return tuple(end for end in ends if end is not None)


def as_written(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return where a value stands in what people write: a rival is an item below `vswitch`."""
    if path[:1] != (RIVALS,) or len(path) < 3:
        return path
    return (VSWITCH, str(int(path[1]) + 1), *path[3:])


class Rival(Spec):
    """A switch that is held against the case's own."""

    name: str
    """What it is called; this decides no number."""
    vswitch: SerializeAsAny[DriverSpec]


PROSE = ("name", "title", "description", "tags", "expect")
"""Sections that do not change what is measured, and so do not change a case's id."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


def _without_networks(places: dict[str, AskedPlace]) -> dict[str, AskedPlace]:
    """Leave out what is so without being said, so that both are the same case."""
    return {link: one for link, one in places.items() if one.kind != NETWORK}


class CaseSpec(Spec):
    """One concrete measurement: every list expanded, every default filled in."""

    name: Name
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    topology: Topology
    traffic: TrafficProfile
    trial: TrialPolicy
    search: SerializeAsAny[MethodSpec]
    latency: LatencyTrials | None = None
    expect: tuple[Expectation, ...] = ()
    testbed: Testbed
    vswitch: SerializeAsAny[DriverSpec]
    called: str = ""
    """What the switch is called beside its rivals; empty where it has a kind only."""
    rivals: tuple[Rival, ...] = ()
    """Switches that are held against it within the case; none unless the method compares."""
    generator: SerializeAsAny[DriverSpec]
    vnf: SerializeAsAny[DriverSpec] | None = None
    program: SerializeAsAny[DriverSpec] | None = None
    """What exchanges data between places at the ends of the links; only methods that ask for places
    have a use for it."""
    places: Annotated[dict[Name, AskedPlace], AfterValidator(_without_networks)] = Field({})
    """Guests, or the host, at the ends of links, by the links; any other is a network of its own.
    Methods that ask for places alone have a use for it."""
    probe: SerializeAsAny[DriverSpec] | None = None
    """What measures latency beside `program`; only methods that measure it under load have a use
    for it."""
    cache: dict[CacheRole, CacheShare] = Field({})
    """Parts of the last-level cache, such as `{switch: 8 ways, noise: 2 ways}`; none unless asked
    for, and only where the processor can do so."""
    collect: dict[Name, SerializeAsAny[DriverSpec]] = Field({})
    """What is collected around the trials, by the names of the collectors."""
    noise: SerializeAsAny[DriverSpec] | None = None
    """A load that runs beside the case; none unless it is asked for."""

    @property
    def vnf_queues(self) -> int:
        """The pairs of queues of each NIC of a VNF; a driver that knows of none has one."""
        queues: int = getattr(self.vnf, "queues", 1)
        return queues

    @property
    def modify(self) -> Modify:
        """What the switch changes in each frame; a driver that knows of nothing changes nothing."""
        asked: Modify | None = getattr(self.vswitch, "modify", None)
        return asked or Modify()

    @property
    def rewriting(self) -> str | None:
        """The setting by which the switch changes frames; None where it leaves them as they are."""
        if self.modify.anything:
            return "vswitch.modify"
        setting: str | None = getattr(self.vswitch, "rewriting", None)
        return setting

    def arriving(self, enters: str, leaves: str) -> dict[str, Any]:
        """Return the headers that frames from one link have at another, as far as is known.

        `modify` says so in the same words for all directions; a driver with words of its own knows
        what becomes of each.
        """
        of_driver = getattr(self.vswitch, "arriving", None)
        return {} if of_driver is None else of_driver(self, enters, leaves)

    @property
    def filters(self) -> int:
        """Rules that forbid other frames; a driver that knows of none has none."""
        count: int = getattr(self.vswitch, "filters", 0)
        return count

    @property
    def sides(self) -> tuple[Side, ...]:
        """Everything that takes turns: the switch, once more if it is its own control, and rivals.

        None where the method does not compare.
        """
        if not self.search.COMPARES:
            return ()
        alone = self.model_copy(update={"rivals": (), "called": ""})
        first = self.called or self.vswitch.kind
        control = (
            (Side("A′", f"{first} once more", alone),)
            if self.search.controlled(rivals=len(self.rivals))
            else ()
        )
        others = (
            Side(letter, rival.name, alone.model_copy(update={"vswitch": rival.vswitch}))
            for letter, rival in zip("BCDEFGH", self.rivals, strict=False)
        )
        return (Side("A", first, alone), *control, *others)

    @property
    def has_places(self) -> bool:
        """Whether the kernel's stack is at the ends of the links, with programs that use it."""
        return self.search.PLACES

    def guest_at(self, link: str) -> AskedPlace | None:
        """The guest that is the place at the end of a link; None where that is a network."""
        return self.guests.get(link)

    @property
    def guests(self) -> dict[str, AskedPlace]:
        """The guests that are places, by their links."""
        return {link: one for link, one in self.places.items() if one.kind == "vm"}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The links whose end is in the host's own network."""
        return tuple(link for link, one in self.places.items() if one.kind == "host")

    @property
    def user_space(self) -> tuple[str, ...]:
        """The links whose end is a vhost-user port that a program with its own stack has."""
        return tuple(link for link, one in self.places.items() if one.kind == "user-space")

    @property
    def has_connections(self) -> bool:
        """Whether the generator opens connections through the switch, and is both of their ends."""
        return self.search.CONNECTIONS

    @property
    def switched(self) -> bool:
        """Whether anything forwards between the links; a driver that does not say so does."""
        forwards: bool = getattr(self.vswitch, "FORWARDS", True)
        return forwards

    @property
    def made_anew(self) -> bool:
        """Whether the switch is deployed for each case; a driver that does not say so does that."""
        anew: bool = getattr(self.vswitch, "MADE_ANEW", True)
        return anew

    @property
    def capped(self) -> bool:
        """Whether the generator's cap bounds what can be found.

        It is measured on vhost-user ports, with a forwarder that looks at no frame in the switch's
        place: this says nothing where the ports are others, or where that is the switch.
        """
        bounds: bool = getattr(self.vswitch, "CAPPED", True)
        return bounds

    @property
    def withheld(self) -> tuple[str, ...]:
        """The features of virtio that vhost-user ports of the switch do not offer, by DPDK's names.

        What the generator does without a switch is measured without them, too. A driver that names
        none offers what DPDK's own ports do.
        """
        names: tuple[str, ...] = getattr(self.vswitch, "WITHHELD", ())
        return names

    @property
    def longest_bytes(self) -> int:
        """Of a frame that enters the switch or leaves it, unless it comes from a file."""
        return self.traffic.longest.bytes + max(0, self.modify.grows_bytes)

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        """Refuse what no part can see alone."""
        for link in self.topology.links:
            if link not in self.testbed.links:
                known = ", ".join(self.testbed.links)
                raise ValueError(
                    f"topology {self.topology.name} uses link {link}, "
                    f"but testbed {self.testbed.name} has {known}"
                )
        if not self.made_anew and getattr(self.search, "draws", 1) > 1:
            raise ValueError(
                "search.draws: a switch that others deploy is not made anew, so there are no "
                "further draws of it; leave it out"
            )
        metrics = self.search.metrics()
        shares = self.latency.loads if self.latency is not None and self.search.asked() else ()
        for expectation in self.expect:
            metric = expectation.metric
            if metric not in metrics and not (expectation.percentile and shares):
                choices = ", ".join((*metrics, *(("p50", "p99") if shares else ())))
                raise ValueError(f"expect names the metric {metric!r}; this case has {choices}")
            if metric in metrics:
                self._fits(expectation, metrics[metric])
            if expectation.load is not None and expectation.load not in shares:
                known = ", ".join(str(share) for share in shares)
                raise ValueError(
                    f"expect names latency at a load of {expectation.load}; it is measured at "
                    f"{known} of {self.latency.goal if self.latency else '?'}"
                )
        return self

    def _fits(self, expectation: Expectation, unit: Unit) -> None:
        """Refuse a bound that says nothing of a metric of the method."""
        metric, losses = expectation.metric, self.search.losses()
        expectation.require_losses(losses)
        if metric in losses:
            return
        if metric in self.search.asked() and expectation.at_most:
            told = expectation.baseline is not None
            wanted, wrong = ("drop", "rise") if told else ("min", "max")
            raise ValueError(f"a criterion on the goal {metric} takes `{wanted}`, not `{wrong}`")
        if expectation.known:
            expectation.bound.read(unit)

    @property
    def slowest_link(self) -> LinkSpeed:
        """Speed of the slowest link on the way; line rates and shares of it refer to this one."""
        used = self.topology.links or tuple(self.testbed.links)
        return min(self.testbed.links[name].speed for name in used)

    @property
    def virtual_links(self) -> bool:
        """Whether a link on the way is no cable, so that its line rate is nominal."""
        used = self.topology.links or tuple(self.testbed.links)
        return any(self.testbed.links[name].virtual for name in used)

    def measured(self) -> dict[str, Any]:
        """Return what decides the numbers, as plain data.

        Fields at their default are left out: a default means "as before this field existed", so a
        new optional field does not give every old case a new identity.
        """
        idle: tuple[str, ...] = () if self.topology.vnfs else ("vnf",)
        idle += ("generator",) if self.has_places else ("program",)
        idle += () if self.search.PROBED else ("probe",)
        left_out: dict[str, Any] = dict.fromkeys((*PROSE, *idle), True)
        left_out.setdefault("generator", set(self.generator.BESIDE))
        left_out["called"] = True
        left_out["rivals"] = {"__all__": {"name"}}
        left_out["search"] = {"draws"}
        return self.model_dump(mode="json", exclude=left_out, exclude_defaults=True)


@dataclass(frozen=True, slots=True)
class Side:
    """One of those that take turns in a case."""

    letter: str
    """A is the first, A′ the same once more, B and what follows its rivals."""
    name: str
    spec: CaseSpec
    """The case as if there was this switch alone."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case spec with its identity and the origin of each of its values."""

    spec: CaseSpec
    point: dict[str, str] = field(default_factory=dict)
    """The expanded values that tell this case from its sisters, such as frame_size: 64B."""
    origins: dict[str, str] = field(default_factory=dict)
    """Dotted path of a value → where it was written."""
    repeat: int = 1
    sister_sizes: tuple[int, ...] = ()
    """Frame sizes [B] of all cases of the same testcase in this run; standards ask for several."""
    id: str = field(init=False)
    """Stable name: testcase, point, and a digest of all that decides the numbers."""

    def __post_init__(self) -> None:
        text = json.dumps(self.spec.measured(), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        object.__setattr__(self, "id", f"{self.label}-{digest}")

    @property
    def key(self) -> str:
        """The id, and which repetition; unique within a run."""
        return self.id if self.repeat == 1 else f"{self.id}.{self.repeat}"

    @property
    def seeded_spec(self) -> CaseSpec:
        """The spec as this repetition runs it: a driver with a seed gets another one each time.

        Repetitions are one case, so the recorded spec and the id stay the same.
        """
        seed = getattr(self.spec.generator, "seed", None)
        if seed is None or self.repeat == 1:
            return self.spec
        moved = self.spec.generator.model_copy(update={"seed": seed + self.repeat - 1})
        return self.spec.model_copy(update={"generator": moved})

    @property
    def label(self) -> str:
        """Name and point for people: phy2phy_tput-64B-4096flows."""
        parts = [self.spec.name, self.spec.traffic.size_label]
        for name, value in self.point.items():
            if name != "frame_size":
                parts.append(point_label(name, value))
        return as_label("-".join(parts))
