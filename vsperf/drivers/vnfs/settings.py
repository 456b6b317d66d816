"""Settings of each VNF: what holds for all of them, overrides for one, and templates.

`each` names settings of single VNFs, which win over those for all. A text may hold templates:
`{{ vm.index }}` counts the VNFs from 1, and `{{ vm.name }}` is the VNF's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import Field, ValidationError, ValidationInfo, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.method import Contradiction
from vsperf.config.suggest import quoted
from vsperf.config.topology import Topology
from vsperf.config.yaml import is_plain_text
from vsperf.errors import UsageError
from vsperf.quantities.human import counted
from vsperf.quantities.units import CpuSet

LONGEST = 4096
"""Characters of a template."""


def render(text: str, known: dict[str, Any]) -> str:
    """Return a template filled in; raises ValueError for what is wrong with it."""
    if "{{" not in text and "{%" not in text:
        return text
    if len(text) > LONGEST:
        raise ValueError(f"a template has {LONGEST} characters at most, and this one {len(text)}")
    from vsperf.drivers.vnfs.template_language import fill_in  # few have one, and Jinja is large

    try:
        found = fill_in(text, known)
    except ValueError:
        raise
    except Exception as error:  # a template can fail in as many ways as a program
        raise ValueError(str(error)) from error
    if not is_plain_text(found):
        raise ValueError("it makes a control character")
    return found


VnfName = Annotated[str, Field(pattern=r"^vm[1-9]\d*$")]
OWN = "own"
"""Told to the validation of settings of one VNF: which of them it has for itself."""


class VnfsSpec(DriverSpec):
    """What every driver of VNFs lets a user set."""

    shared: ClassVar[tuple[str, ...]] = ("kind", "each", "cpus")
    """Settings of all VNFs together, which none can have for itself."""
    FORWARDING: ClassVar[str] = "vCPU"
    """What `cpus` has one for each of."""
    each: dict[VnfName, dict[str, Any]] = Field(default_factory=dict)
    """Settings of single VNFs, which win over those for all: `vm2: {forward: mac}`. A text,
    here and in all settings, may say `{{ vm.index }}`, counted from 1, and `{{ vm.name }}`."""

    @model_validator(mode="after")
    def _overrides_are_settings(self, info: ValidationInfo) -> Self:
        """Refuse when it is read what would else be found when a VNF is planned."""
        if own_settings(info) is None:
            for vnf in self.each or ("vm1",):
                _of_vnf(self, vnf)
        return self

    @property
    def vcpu_count(self) -> int:
        """How many CPUs a VNF needs for what forwards."""
        return 1

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield what cannot be in a topology, told with its place in a file."""
        cpus: CpuSet | None = getattr(self, "cpus", None)
        if cpus is None or not topology.vnfs:
            return
        try:
            counts = {name: own.vcpu_count for name, own in by_vnf(self, topology).items()}
        except UsageError:  # told when it is planned
            return
        if (wrong := _not_as_many(cpus, counts, self.FORWARDING)) is not None:
            yield wrong


def own_settings(info: ValidationInfo) -> frozenset[str] | None:
    """Return which settings a VNF has for itself; None for those of all VNFs."""
    return (info.context or {}).get(OWN)


Settings = TypeVar("Settings", bound=VnfsSpec)


def by_vnf(spec: Settings, topology: Topology) -> dict[str, Settings]:
    """Return the settings of each VNF of a topology, with `each` and templates worked in."""
    unknown = [vnf for vnf in spec.each if vnf not in topology.vnfs]
    if unknown:
        known = ", ".join(topology.vnfs) or "no VNF"
        raise UsageError(
            f"vnf.each names {', '.join(unknown)}, where topology {topology.name} has {known}",
            fix="name VNFs that the topology has",
        )
    try:
        return {vnf: _of_vnf(spec, vnf) for vnf in topology.vnfs}
    except ValueError as error:
        raise UsageError(
            f"the settings of a VNF do not fit: {error}",
            why="what `vnf.each` says of one is put over what `vnf` says of all",
            fix="`vsperf show TESTCASE` lists both with the file that each is from",
        ) from error


def require_ways_told_apart(topology: Topology, writers: Mapping[str, str]) -> None:
    """Refuse VNFs that write addresses where the switch needs those of the generator.

    `writers` has, for each VNF that does, the setting that makes it. Where a VNF has one
    NIC, frames of both directions come out of it, and only what is in them tells them apart.
    """
    if topology.nics != 1 or topology.dispatch == "ip":
        return
    for path in topology.paths:
        single = next((hop for hop in path[1:-1] if hop in topology.vnfs), None)
        writer = next((hop for hop in path if hop in writers), None)
        if single is not None and writer is not None:
            raise UsageError(
                f"{writer} writes new addresses into frames ({writers[writer]}), and {single} has "
                "one NIC for both directions",
                why="the switch tells the directions apart by the destination MAC address "
                f"(topology.dispatch={topology.dispatch})",
                fix="--set vnf.forward=io with testpmd, or --set topology.dispatch=ip",
            )


def _of_vnf(spec: Settings, vnf: str) -> Settings:
    """Return the settings of one VNF; raises ValueError where they do not fit."""
    own = spec.each.get(vnf, {})
    for name in spec.shared:
        if name in own:
            raise ValueError(f"each.{vnf} cannot set {name}, which all VNFs share")
    general = spec.model_dump(mode="json", exclude_unset=True, exclude={"each"})
    content = _filled({**general, **own}, vnf, "")
    try:
        return type(spec).model_validate(content, context={OWN: frozenset(own)})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place} of {vnf}: {first['msg']}") from error


def _filled(value: Any, vnf: str, place: str) -> Any:
    """Return the value with the templates of all its texts filled in."""
    if isinstance(value, str):
        return _text(value, vnf, place)
    if isinstance(value, Mapping):
        return {key: _filled(item, vnf, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, vnf, f"{place}.{n}") for n, item in enumerate(value)]
    return value


def _text(text: str, vnf: str, place: str) -> str:
    vm = {"name": vnf, "index": int(vnf.removeprefix("vm"))}
    try:
        return render(text, {"vm": vm})
    except ValueError as error:
        shown = quoted(text)
        raise ValueError(f"the template {shown} of {place.lstrip('.')}: {error}") from error


def deal_out(
    cpus: CpuSet | None, counts: Mapping[str, int], what: str
) -> dict[str, tuple[int, ...]]:
    """Deal out the CPUs that the user chose, VNF by VNF; none where nothing was chosen.

    `counts` says how many each VNF needs, one for each of its `what`.
    """
    if cpus is None:
        return {}
    if (wrong := _not_as_many(cpus, counts, what)) is not None:
        raise UsageError(f"vnf.{wrong.path} {wrong.what}", why=wrong.why, fix=wrong.fix)
    found, rest = {}, list(cpus)
    for name, count in counts.items():
        found[name], rest = tuple(rest[:count]), rest[count:]
    return found


def _not_as_many(cpus: CpuSet, counts: Mapping[str, int], what: str) -> Contradiction | None:
    wanted = sum(counts.values())
    if len(cpus) == wanted:
        return None
    have = f"{counted(len(counts), 'VNF')} {'has' if len(counts) == 1 else 'have'}"
    return Contradiction(
        "cpus",
        f"names {counted(len(cpus), 'CPU')}, and {have} {counted(wanted, what)}",
        why="each is kept to a CPU of its own",
        fix=f"name {counted(wanted, 'CPU')}, or leave the choice to vsperf",
    )
