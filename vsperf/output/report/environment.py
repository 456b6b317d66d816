"""What stood around a measurement: machine, software, how parts were set up, and its run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from vsperf.output.report.page import Fact, RunPart, Told
from vsperf.output.table import NOTHING
from vsperf.quantities.human import human_fps, human_ns
from vsperf.records.asked import part_of
from vsperf.records.files.view import RunView
from vsperf.records.host import Conditions
from vsperf.records.run import RunHeader

LONGEST = 400
"""Characters of a value; a report is read by people."""


def groups_of(header: RunHeader) -> tuple[tuple[str, tuple[Fact, ...]], ...]:
    """Return the facts that a run found before it began, by subject."""
    return tuple(
        (str(name), tuple(_leaves(value)))
        for name, value in header.environment.items()
        if value not in ({}, [], None, "")
    )


def host_text(header: RunHeader) -> str:
    """Name the machine in a line, as far as it is known."""
    host, system = (part_of(header.environment, name) for name in ("host", "system"))
    cpus = host.get("cpus")
    known = [
        host.get("cpu_model"),
        f"{cpus} CPU{'s' * (cpus != 1)}" if cpus else None,
        "a virtual machine" if host.get("hypervisor") else None,
        system.get("os"),
        f"kernel {system['kernel']}" if system.get("kernel") else None,
    ]
    return ", ".join(str(word) for word in known if word)


def short_host(header: RunHeader) -> str:
    """Name the machine in a few words; a model stands on none."""
    host = part_of(header.environment, "host")
    if header.simulated or not host.get("cpus"):
        return ""
    kind = "a virtual machine" if host.get("hypervisor") else "a machine"
    model = f" ({host['cpu_model']})" if host.get("cpu_model") else ""
    return f"{kind} with {host['cpus']} CPU{'s' * (host['cpus'] != 1)}{model}"


def found_of(around: Conditions | None) -> tuple[Fact, ...]:
    """Return what a case found around itself."""
    if around is None:
        return ()
    found = []
    if (cap := around.calibration) is not None:
        kept = ", measured before this run" if cap.cached else ""
        text = f"{human_fps(cap.cap_fps)} per direction without a switch{cap.where}"
        text += f" ({cap.method}{kept})"
        if cap.workers > 1 and cap.per_cpu_fps is not None:
            text += f"; {human_fps(cap.per_cpu_fps)} for each of its {cap.workers} CPUs"
        found.append(Fact("cap of the generator", text))
    for stall in around.stalls:
        text = (
            f"{stall.gaps} gaps, {human_ns(stall.total_ns)} of {human_ns(stall.observed_ns)}, "
            f"the longest {human_ns(stall.longest_ns)}"
        )
        found.append(Fact(f"stalls of CPU {stall.cpu}", text))
    if around.round_trip_ns is not None:
        found.append(Fact("from CPU to CPU and back", human_ns(around.round_trip_ns)))
    for name in ("switch", "vnfs", "generator"):
        found += _leaves(getattr(around, name), name)
    return tuple(found)


def switch_version(around: Conditions | None) -> str:
    """Return the versions that a switch told; empty where it told none."""
    version = around.switch.get("version") if around is not None else None
    words = version if isinstance(version, list) else [version]
    return ", ".join(str(word) for word in words if word)


def _leaves(value: Any, path: str = "") -> Iterator[Fact]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path} {key}".strip())
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            inner = dict(item) if isinstance(item, dict) else {"": item}
            name = inner.pop("name", number)
            yield from _leaves(inner, f"{path} {name}".strip())
    elif value not in (None, "", [], {}):
        yield _fact(path, value)


def _fact(path: str, value: Any) -> Fact:
    if isinstance(value, list):
        text = ", ".join(one if isinstance(one, str) else json.dumps(one) for one in value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return Fact(path.replace("_", " "), cut)


@dataclass(slots=True)
class Differences:
    """Facts of one kind that a report has told so far, so that what is alike is told once."""

    _whole: list[tuple[tuple[str, str], tuple[Fact, ...]]] = field(default_factory=list)
    """Anchor and name of whose facts were told as a whole, and these."""

    def tell(self, facts: tuple[Fact, ...], anchor: str, name: str) -> Told:
        """Return facts, or what is different where most are those of one that was told before."""
        ways = [Told(_changed(facts, known), *whose) for whose, known in self._whole]
        least = min(ways, key=lambda way: len(way.facts), default=None)
        if least is not None and 2 * len(least.facts) < len(facts):
            return least
        self._whole.append(((anchor, name), facts))
        return Told(facts)


def _changed(facts: tuple[Fact, ...], known: tuple[Fact, ...]) -> tuple[Fact, ...]:
    names, before = {fact.name for fact in facts}, set(known)
    gone = (Fact(fact.name, NOTHING) for fact in known if fact.name not in names)
    return (*(fact for fact in facts if fact not in before), *gone)


# The runs that a report is made of.


def moment(text: str) -> str:
    """Write a moment in UTC, without its fractions of a second; what is none, as it stands."""
    try:
        found = datetime.fromisoformat(text)
        found = found.astimezone(UTC) if found.tzinfo else found
    except (ValueError, OverflowError):
        return text
    return f"{found:%Y-%m-%d %H:%M:%S} UTC"


def run_parts(runs: Sequence[RunView]) -> Iterator[RunPart]:
    """Yield the runs; of the environment of a later one what is different."""
    told: dict[str, Differences] = {}
    for number, run in enumerate(runs, start=1):
        anchor = f"run-{number}"
        around = tuple(
            (name, told.setdefault(name, Differences()).tell(found, anchor, run.run))
            for name, found in groups_of(run.header)
        )
        yield RunPart(anchor, run.run, run.state.value, _facts_of(run), around)


def _facts_of(run: RunView) -> tuple[Fact, ...]:
    header = run.header
    return (
        Fact("testbed", header.testbed),
        Fact("preset", header.preset),
        Fact("started", moment(header.started_at)),
        *([Fact("ended", moment(run.end.finished_at))] if run.end else []),
        *([Fact("exit code", str(run.end.exit_code))] if run.end else []),
        *(Fact("resumed", moment(one.resumed_at)) for one in run.resumes),
        *(Fact(f"label {name}", value) for name, value in run.labels.items()),
        Fact("command", header.command_line),
        Fact("vsperf", header.vsperf_version),
        Fact("records", f"{run.folder.name}/records.jsonl, version {run.header.schema_version}"),
    )
