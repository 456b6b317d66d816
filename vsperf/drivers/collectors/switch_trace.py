"""`switch-trace`: where each role spends its time, as a flame graph, in trials of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from xml.sax.saxutils import escape, quoteattr

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.counted import Counted
from vsperf.drivers.collectors.base import (
    COMPONENT,
    OwnTrialsSpec,
    RunningCollector,
    Seat,
    own_trials_text,
)
from vsperf.drivers.collectors.perf_program import (
    PROGRAM,
    PerfCollector,
    PerRole,
    started,
)
from vsperf.errors import ComponentError
from vsperf.host.process import managed
from vsperf.records.run import Placement, Step
from vsperf.records.series import Nature, Note, Quantity, Sample
from vsperf.trust.printable import as_label

SCRIPT_S = 120.0
"""Patience with perf, which looks names up in all programs."""
FRAME = re.compile(
    r"^\s+[0-9a-f]+\s+(?P<name>.+?)(?:\+0x[0-9a-f]+)?\s+\((?P<where>[^()]*|\[.*\])\)$"
)
WIDTH, HEIGHT, MARGIN = 1200.0, 17, 30
LEAST = 0.3
"""Points of width below which nothing can be seen."""
LETTER = 6.6
"""About the width of one."""
MOST_DEPTH = 128


def folded(lines: Iterable[str]) -> Counter[str]:
    """Return how often each stack was seen, outermost first: the lines of `perf script`."""
    found: Counter[str] = Counter()
    thread, stack = "", list[str]()
    for line in lines:
        text = line.rstrip("\n")
        frame = FRAME.match(text)
        if frame is not None:
            if len(stack) < MOST_DEPTH:
                stack.append(_named(frame["name"], frame["where"]))
        elif not text.strip():
            _close(found, thread, stack)
            thread, stack = "", []
        elif not text.startswith((" ", "\t")):
            _close(found, thread, stack)
            thread, stack = _clean(re.split(r"\s+\d+(?:/\d+)?(?:\s|$)", text, maxsplit=1)[0]), []
    _close(found, thread, stack)
    return found


def _close(found: Counter[str], thread: str, stack: list[str]) -> None:
    if thread and stack:
        found[";".join((thread, *reversed(stack)))] += 1


def _named(name: str, where: str) -> str:
    if name == "[unknown]":
        return f"[{_clean(where.rpartition('/')[2].strip('[]')) or 'unknown'}]"
    return _clean(name)


def _clean(text: str) -> str:
    return "".join(one if one.isprintable() and one != ";" else "_" for one in text).strip()


def folded_text(stacks: Mapping[str, int]) -> str:
    """Return the stacks as other programs read them: a line each, with its count."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))


@dataclass(slots=True)
class _Node:
    count: int = 0
    children: dict[str, _Node] = field(default_factory=dict)


def flame_graph(stacks: Mapping[str, int], title: str) -> str:
    """Return an SVG: who called whom goes upwards, and width is time."""
    root = _Node()
    for stack, count in stacks.items():
        node = root
        node.count += count
        for name in stack.split(";"):
            node = node.children.setdefault(name, _Node())
            node.count += count
    boxes = list(_boxes(root, 0.0, 0, WIDTH / root.count)) if root.count else []
    deepest = max((depth for _, _, depth, _, _ in boxes), default=0)
    height = MARGIN + (deepest + 1) * HEIGHT + MARGIN
    said = f"{title}: {root.count} samples"
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" '
        'font-family="monospace" font-size="11">',
        f"<title>{escape(said)}</title>",
        f'<text x="4" y="18" font-size="14">{escape(said)}</text>',
    ]
    for name, left, depth, width, count in boxes:
        top = height - MARGIN - (depth + 1) * HEIGHT
        share = 100 * count / root.count
        about = quoteattr(f"{name}: {count} samples, {share:.1f} %")
        rows.append(
            f"<g aria-label={about}><title>{escape(name)}: {count} samples, {share:.1f} %</title>"
            f'<rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{HEIGHT - 1}" '
            f'fill="{_colour(name)}"/>{_label(name, left, top, width)}</g>'
        )
    return "\n".join((*rows, "</svg>\n"))


def _boxes(
    node: _Node, left: float, depth: int, scale: float
) -> Iterator[tuple[str, float, int, float, int]]:
    for name, child in sorted(node.children.items()):
        width = child.count * scale
        if width >= LEAST:
            yield name, left, depth, width, child.count
            yield from _boxes(child, left, depth + 1, scale)
        left += width


def _label(name: str, left: float, top: int, width: float) -> str:
    room = int((width - 4) / LETTER)
    if room < 3:
        return ""
    text = name if len(name) <= room else f"{name[: room - 1]}…"
    return f'<text x="{left + 2:.2f}" y="{top + 12}">{escape(text)}</text>'


def _colour(name: str) -> str:
    """Return a warm colour that is the same for the same name wherever it stands."""
    number = sum((at + 1) * ord(letter) for at, letter in enumerate(name))
    return f"rgb({205 + number % 50},{90 + number % 110},{number % 55})"


class SwitchTraceSpec(OwnTrialsSpec):
    """Settings of `switch-trace`."""

    kind: Literal["switch-trace"]
    frequency: Annotated[int, Field(ge=1, le=20_000), Counted] = 997
    """Looks at each thread in a second; a prime number keeps no step with timers."""


class Recording(PerRole):
    """A perf for each role that records."""

    def keep(self, role: str, file: Path, trial: int, at_ns: int) -> None:
        """Draw what it recorded."""
        name = f"collect-{self.seat.name}-script-{as_label(role)}-{trial}"
        argv = (PROGRAM, "script", "-i", str(file), "--fields", "comm,tid,ip,sym,dso")
        with managed(argv, name=name, workspace=self.seat.workspace) as program:
            self.seat.workspace.parts.pop(name, None)
            if not program.await_end(SCRIPT_S):
                raise ComponentError(f"perf did not read its own data within {SCRIPT_S:g} s")
            if program.poll() != 0:
                raise ComponentError(f"perf could not read its own data: {program.obituary()}")
            with program.log.open(errors="replace") as lines:
                stacks = folded(lines)
        total = sum(stacks.values())
        if not total:
            text = f"no sample of the {role} was taken: perf said nothing of its threads"
            self.seat.file.append(Note(trial=trial, text=text))
            return
        name = f".{as_label(role)}" if trial == 1 else f".{as_label(role)}.{trial}"
        graph = flame_graph(stacks, f"{role}, {self.seat.file.path.parent.parent.name}")
        drawn = self.seat.file.write_beside(f"{name}.svg", graph)
        self.seat.file.write_beside(f"{name}.folded", folded_text(stacks))
        values = {"samples": total, "stacks": len(stacks)}
        self.seat.file.append(
            Sample(trial=trial, at_ns=at_ns, of=role, values=values),
            Note(trial=trial, text=f"flame graph of the {role}: {drawn.name}"),
        )


class SwitchTrace(PerfCollector):
    """Records stacks of the polling threads of each role."""

    kind = "switch-trace"
    summary = "perf record by role: folded stacks and a flame graph, in a trial apart"
    Spec = SwitchTraceSpec

    def disturbs(self, settings: DriverSpec) -> str:
        return f"heavy: threads are interrupted for each look; it has {own_trials_text(settings)}"

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        total = Nature.TOTAL
        return (
            Quantity(name="samples", unit="1", nature=total, meaning="looks at its threads"),
            Quantity(name="stacks", unit="1", nature=total, meaning="different stacks among them"),
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        own = own_trials_text(settings)
        action = f"{name}: after the search, record stacks by role in {own}"
        return (Step(component=COMPONENT, action=action, argv=_command(settings)),)

    def start(self, settings: DriverSpec, seat: Seat) -> AbstractContextManager[RunningCollector]:
        return started(Recording, seat, _command(settings), ".data")


def _command(settings: DriverSpec) -> tuple[str, ...]:
    frequency = getattr(settings, "frequency", 997)
    return (PROGRAM, "record", "-F", str(frequency), "-g")
