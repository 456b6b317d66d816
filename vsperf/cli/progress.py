"""Progress of a run: a live view on a terminal, one line per trial elsewhere."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from vsperf.analysis.answers import headlines, interval, loss_text
from vsperf.analysis.summary import outcome_text
from vsperf.cli.terminal import between_words
from vsperf.config.case import Case
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.throughput import Throughput
from vsperf.progress import (
    Calibrated,
    CaseFinished,
    CaseStarted,
    ConnectionsFinished,
    ConnectionsStarted,
    DeploymentKept,
    Event,
    ExchangeFinished,
    ExchangeGoesOn,
    ExchangeStarted,
    PhaseEntered,
    RoundFinished,
    RoundStarted,
    RunStarted,
    TrialFinished,
    TrialHeld,
    TrialStarted,
)
from vsperf.quantities.human import (
    counted,
    human_count,
    human_expected,
    human_fps,
    human_ns,
    human_seconds,
    percent,
)
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Flag
from vsperf.records.meaning import DIED
from vsperf.records.result import amount
from vsperf.records.trial import Trial
from vsperf.records.turn_ratios import changes_in
from vsperf.records.turns import Role, Round
from vsperf.search.base import Loads
from vsperf.search.regimes import HELD

Mode = Literal["auto", "live", "plain", "json", "quiet"]
LAST_TRIALS = 6
SHOWN_INSTANCES = 8
BURST_NS = 50_000_000
"""Trials below are bursts, whose lengths are no round ones."""


class Progress(AbstractContextManager["Progress"]):
    """Listens to events and shows them; stdout is left to the result."""

    def __call__(self, event: Event) -> None:
        """Take in one event."""

    def __exit__(self, *_: object) -> None:
        """Stop showing."""


def make_progress(mode: Mode, console: Console) -> Progress:
    """Return the progress display for `mode`; `auto` is live on a terminal, else plain."""
    if mode == "auto":
        mode = "live" if console.is_terminal else "plain"
    match mode:
        case "live":
            return LiveProgress(console)
        case "plain":
            return PlainProgress(console)
        case "json":
            return JsonProgress(console)
        case _:
            return Progress()


class PlainProgress(Progress):
    """One line per case and trial."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __call__(self, event: Event) -> None:
        line = plain_line(event)
        if line:
            self.console.print(line)


class JsonProgress(Progress):
    """One JSON object per event, for programs that watch."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __call__(self, event: Event) -> None:
        if isinstance(event, ExchangeGoesOn):
            return  # to write now, to whoever may be slow to read, would disturb what is measured
        row = {"event": type(event).__name__, **_row(event)}
        self.console.out(json.dumps(row), highlight=False)


def _row(event: Event) -> dict[str, Any]:
    assert not isinstance(event, ExchangeGoesOn)  # nobody is written to meanwhile
    row: dict[str, Any]
    match event:
        case RunStarted():
            row = {"run": event.run, "folder": event.folder, "cases": len(event.cases)}
            row |= _time_row(event)
            row["resumed"] = event.resumed and asdict(event.resumed)
        case TrialFinished():
            row = {"case": event.case.key, **event.trial.model_dump(mode="json")}
            row["disturbance"] = row.pop("event")  # `event` says what kind of line this is
            for direction in row["directions"]:
                direction.pop("latency_histogram")  # kilobytes, and in the record anyway
        case RoundFinished() | ExchangeFinished() | ConnectionsFinished():
            row = {"case": event.case.key, **_brief(event)}
        case CaseFinished():
            row = event.record.model_dump(mode="json")
        case PhaseEntered():
            row = {"case": event.case.key, "phase": event.phase}
        case CaseStarted():
            row = {"case": event.case.key, "number": event.number, "of": event.total}
            row |= _time_row(event)
        case DeploymentKept():
            row = {"case": event.case.key, "folder": event.folder, "access": event.access}
        case Calibrated() | TrialHeld() | RoundStarted() | ExchangeStarted() | ConnectionsStarted():
            row = _begun_row(event)
        case _:
            row = {"case": event.case.key, "purpose": event.purpose, "load_fps": event.load_fps}
    return row


def _brief(event: RoundFinished | ExchangeFinished | ConnectionsFinished) -> dict[str, Any]:
    """Return what was made without hundreds of numbers that are in the record anyway."""
    if isinstance(event, RoundFinished):
        return event.round.model_dump(mode="json", exclude={"turns"}) | event.round.said
    if isinstance(event, ConnectionsFinished):
        return event.trial.model_dump(mode="json", exclude={"counts": {"slots", "times"}})
    return event.exchange.model_dump(mode="json", exclude={"instances": {"__all__": {"intervals"}}})


def _begun_row(
    event: Calibrated | TrialHeld | RoundStarted | ExchangeStarted | ConnectionsStarted,
) -> dict[str, Any]:
    row: dict[str, Any] = {"case": event.case.key}
    if isinstance(event, Calibrated):
        return row | {"cap_fps": event.cap_fps}
    if isinstance(event, ConnectionsStarted):
        begun = {"rate_cps": event.rate_cps, "connections": event.connections}
        if event.request_rps is not None:
            begun["request_rps"] = event.request_rps
        return row | {"purpose": event.purpose} | begun
    if isinstance(event, ExchangeStarted):
        return row | {"traffic": event.traffic, "instances": event.instances}
    if isinstance(event, TrialHeld):
        return row | {"round_trip_ns": event.round_trip_ns}
    if isinstance(event, RoundStarted) and event.rings:
        return row | {"full_rings": True}
    return row | {"load_fps": event.load_fps}


def _time_row(event: RunStarted | CaseStarted) -> dict[str, Any]:
    row: dict[str, Any] = {"estimated_s": event.estimated_s, "spread_s": event.spread_s}
    return row if event.here_s is None else row | {"here_s": event.here_s}


def _time(event: RunStarted | CaseStarted) -> str:
    return human_expected(event.estimated_s, event.spread_s, event.here_s)


def plain_line(event: Event) -> str:
    """Return an event as one line of text; empty for what plain output leaves out."""
    match event:
        case RunStarted():
            return run_text(event)
        case CaseStarted():
            return f"[{event.number}/{event.total}] {event.case.label}, about {_time(event)}"
        case (
            TrialHeld()
            | TrialFinished()
            | RoundFinished()
            | ExchangeFinished()
            | ConnectionsFinished()
        ):
            return "  " + made_line(event)
        case DeploymentKept():
            return kept_text(event)
        case CaseFinished():
            return "  " + case_line(event)
        case _:
            return ""


def run_text(event: RunStarted) -> str:
    """Say which run begins or goes on, and what one that goes on takes from before."""
    label = "SIMULATED " if event.simulated else ""
    cases, before = counted(len(event.cases), "case"), event.resumed
    ahead = f"about {_time(event)}, in {event.folder}"
    if before is None:
        return f"{label}run {event.run}: {cases}, {ahead}"
    taken = f"{counted(before.finished, 'case')} with {counted(before.trials, 'trial')}"
    dropped = f"; not taken: {counted(before.dropped, 'trial')} of what was not finished"
    return (
        f"{label}resuming {event.run}: {cases} left, {ahead}\n"
        f"  taken from before: {taken if before.finished else 'no case'}"
        f"{dropped if before.dropped else ''}"
    )


def kept_text(event: DeploymentKept) -> str:
    """Say how to look at a deployment that stays up, and how to end it."""
    access = "".join(f"\n    {command}" for command in event.access)
    return f"  kept up in {event.folder}; `vsperf clean` takes it down:{access}"


def _seconds(trial: Trial) -> str:
    return f"{trial.duration_ns / 1e9:g} s"


def trial_line(trial: Trial) -> str:
    """Return a trial as one line: what was asked, what was lost, what is to be said."""
    where = f" {trial.deployment}" if trial.deployment > 1 else ""
    head = f"#{trial.index:<3} {trial.purpose + where:<10} {human_fps(trial.load_fps):>12}"
    took = human_ns(trial.duration_ns) if trial.duration_ns < BURST_NS else _seconds(trial)
    if trial.error is not None:
        return f"{head} {took:>6}  failed: {trial.error}"
    lost = _lost(trial)
    flags = ", ".join(_flag_text(flag, trial) for flag in trial.flags)
    again = f" (repeats #{trial.retry_of})" if trial.retry_of else ""
    return f"{head} {took:>6}  {lost}{again}" + (f"  [{flags}]" if flags else "")


Finished = TrialFinished | RoundFinished | ExchangeFinished | ConnectionsFinished


def made_by(event: Finished) -> Trial | Round | Exchange | ConnectionTrial:
    """Return what was made."""
    match event:
        case RoundFinished():
            return event.round
        case ExchangeFinished():
            return event.exchange
        case _:
            return event.trial


def made_line(event: TrialHeld | Finished) -> str:
    """Return what was made as one line, or why nothing is."""
    if isinstance(event, TrialHeld):
        return held_line(event)
    match made_by(event):
        case Round() as one:
            return round_line(one)
        case Exchange() as one:
            return exchange_line(one)
        case ConnectionTrial() as one:
            return connections_line(one)
        case one:
            return trial_line(one)


def marked(line: str, *, gone: bool) -> str:
    """Return the line of a trial, or of an exchange; of one that does not count it says so."""
    return f"{line}  [{DIED}]" if gone else line


def round_line(one: Round) -> str:
    """Return a round as one line: what was asked, and how the sides stand to the first in it."""
    seconds = f"{one.elapsed_ns / 1e9:.1f} s"
    head = f"#{one.index:<3} {one.role:<10} {one.offered:>12} {seconds:>6}"
    again = f" (repeats #{one.retry_of})" if one.retry_of else ""
    if not one.valid:
        flags = ", ".join(flag.value for flag in one.flags)
        return f"{head}  {'; '.join(one.reasons)}{again}  [{flags}]"
    if one.role is not Role.ANSWER:
        return f"{head}{again}"
    return f"{head}  {', '.join(changes_in(one, digits=1))}{again}"


def exchange_line(one: Exchange) -> str:
    """Return an exchange as one line: what was exchanged, what arrived, what is to be said."""
    seconds = f"{one.asked_ns / 1e9:g} s"
    head = f"#{one.index:<3} {one.traffic:<10} {_instances(len(one.instances)):>12} {seconds:>6}"
    again = f" (repeats #{one.retry_of})" if one.retry_of else ""
    if not one.valid:
        flags = ", ".join(flag.value for flag in one.flags)
        return f"{head}  {'; '.join(one.reasons)}{again}  [{flags}]"
    rates = {way: one.rate(way) for way in one.directions}
    found = (f"{amount(rate, one.unit)}, {way}" for way, rate in rates.items() if rate is not None)
    doubts = f"  [{'; '.join(one.reasons)}]" if one.reasons else ""
    return f"{head}  {'; '.join((*found, *_echo(one)))}{again}{doubts}"


def _echo(one: Exchange) -> Iterator[str]:
    """Yield how long packets of an echo took, alone or beside what is exchanged."""
    times = one.times
    if times is None or not times.from_due_ns:
        return
    half = times.from_due(Fraction(1, 2))
    within = "" if half is None else f"half of the packets within {human_ns(half)}, "
    yield f"{within}the longest {human_ns(times.from_due_ns[-1])}, {times.lost:,} lost"


def connections_line(one: ConnectionTrial) -> str:
    """Return a trial of connections as one line: what was asked, what failed and by which cause."""
    head = f"#{one.index:<3} {one.purpose:<10} {human_count(one.rate) + '/s':>12}"
    head += f" {one.duration_ns / 1e9:>4g} s  {one.due:>9,} {one.noun}"
    again = f" (repeats #{one.retry_of})" if one.retry_of else ""
    said = ", ".join(flag.value for flag in one.flags)
    flags = f"  [{said}]" if said else ""
    if one.accounts is None:
        return f"{head}  failed: {one.error}{again}{flags}"
    late = f"{one.short} begun" if one.short else ""
    found = ", ".join(filter(None, (one.causes_text, late)))
    return f"{head}  {found or 'none failed'}{again}{flags}"


def _instances(count: int) -> str:
    return "1 instance" if count == 1 else f"{count} instances"


def _flag_text(flag: Flag, trial: Trial) -> str:
    """Return a flag, with the thread that it is about where there is one."""
    if flag is Flag.KEPT_FROM_RUNNING and trial.held_up:
        thread = trial.held_up[0]
        return f"{flag.value}: {thread.part} {thread.name} for {human_ns(thread.kept_ns)}"
    return flag.value


def case_line(event: CaseFinished) -> str:
    """Return how a case ended, as one line."""
    record = event.record
    # Loads are left out: there may be many, and each had a line when it was tried.
    result = record.result and record.result.model_copy(update={"loads": ()})
    found = ", ".join(headlines(result)) if result else ""
    parts = [outcome_text(record), found, f"limit: {record.limit}" if record.limit else ""]
    return "  ".join(part for part in (*parts, record.reason) if part)


def _lost(trial: Trial) -> str:
    """Return the loss of all directions, and the share of the worse one: a search judges by it."""
    worse = trial.worst_direction
    if worse.lost_frames == 0:
        return "lost 0"
    if worse.lost_frames < 0:
        return f"{-worse.lost_frames:,} more than sent, {worse.name}"
    # what came too often one way makes up for nothing that was lost the other way
    lost = sum(max(0, way.lost_frames) for way in trial.directions)
    share = loss_text(worse.loss_ratio)
    if len(trial.directions) == 1:
        return f"lost {lost:,} ({share})"
    return f"lost {lost:,}, max {share} ({worse.name})"


def _now(event: TrialStarted | RoundStarted | ExchangeStarted | ConnectionsStarted) -> str:
    """Say what is being made."""
    if isinstance(event, ConnectionsStarted):
        rate = human_count(event.rate_cps)
        if event.request_rps is not None:
            asked = human_count(event.request_rps)
            return f"{event.purpose} {asked} requests/s on {event.connections:,} connections"
        return f"{event.purpose} {event.connections:,} connections at {rate}/s"
    if isinstance(event, ExchangeStarted):
        count = _instances(event.instances)
        return f"{event.traffic} by {count} for {event.sending_ns / 1e9:g} s"
    load = human_fps(event.load_fps)
    if isinstance(event, RoundStarted):
        offered = "with full rings" if event.rings else f"at {load}"
        return f"turns {offered} for {event.length_ns / 1e9:.1f} s"
    return f"{event.purpose} {load} for {event.duration_ns / 1e9:g} s"


def seen_lines(event: ExchangeGoesOn) -> Iterator[str]:
    """Yield what came to devices in the last second, and below it to each instance."""
    devices = [one for one in event.rates if one.frames_per_second is not None]
    others = [one for one in event.rates if one.frames_per_second is None]
    for one in devices:
        frames = human_count(one.frames_per_second or 0)
        yield f"{one.name}: {amount(one.value, one.unit)}, {frames} frames/s"
    told = [f"{one.name} {amount(one.value, one.unit)}" for one in others[:SHOWN_INSTANCES]]
    if told:
        more = len(others) - len(told)
        yield ", ".join(told) + (f" and {more} more" if more else "")


def held_line(event: TrialHeld) -> str:
    """Say what is waited for, and for how long at most."""
    return (
        f"holds trials back until the machine moves its CPUs, {human_ns(event.round_trip_ns)} "
        f"apart there and back ({percent(HELD)} of the search's time at most)"
    )


@dataclass
class _View:
    """What the live view knows of the case that runs."""

    case: Case
    number: int
    total: int
    estimated_s: float
    clock: str
    """Whose time that is, for people; nothing where it is the time here."""
    started: float = field(default_factory=time.monotonic)
    phase: str = ""
    now: str = ""
    seen: tuple[str, ...] = ()
    """What arrived in the last second, while programs run."""
    lines: deque[Text] = field(default_factory=lambda: deque(maxlen=LAST_TRIALS))
    """The last ones of what was made."""
    measured_ns: int = 0
    loads: Loads | None = None
    """What may be offered; None until that is known."""
    trials: list[Trial] = field(default_factory=list)
    """Made on this deployment."""
    goals: tuple[str, ...] = ()
    """Where each goal stands."""

    def begin(self, event: Calibrated) -> None:
        """Forget what was made before: it says nothing of this deployment."""
        self.loads, self.trials = loads_of(self.case.seeded_spec, event.cap_fps), []
        self.goals = goal_lines(self.case, self.loads, self.trials)

    def follow(self, event: Event) -> None:
        """Take in what happens in the case."""
        match event:
            case PhaseEntered():
                self.phase, self.now, self.seen = event.phase, "", ()
            case Calibrated():
                self.begin(event)
            case TrialStarted() | RoundStarted() | ExchangeStarted() | ConnectionsStarted():
                self.now, self.seen = _now(event), ()
            case ExchangeGoesOn():
                self.seen = tuple(seen_lines(event))
            case TrialHeld():
                self.now = held_line(event)
            case TrialFinished() | RoundFinished() | ExchangeFinished() | ConnectionsFinished():
                self.take(event)

    def take(self, event: Finished) -> None:
        """Take in what was made."""
        one = made_by(event)
        style = "" if one.valid else "magenta"
        self.lines.append(Text("  " + made_line(event), style=style))
        self.measured_ns += one.elapsed_ns
        if isinstance(one, Trial) and self.loads is not None:
            self.trials.append(one)
            self.goals = goal_lines(self.case, self.loads, self.trials)


class LiveProgress(Progress):
    """The case, where its goals stand, and the last trials; finished cases scroll up as lines."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.view: _View | None = None
        self.live = Live(
            console=console, get_renderable=self._render, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.view = None
        self.live.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.console.print(plain_line(event))
            case CaseStarted():
                clock = "" if event.here_s is None else " of simulated time"
                self.view = _View(event.case, event.number, event.total, event.estimated_s, clock)
            case DeploymentKept():
                self.console.print(kept_text(event))
            case CaseFinished():
                self.view = None
                self.console.print(f"{event.case.label}: {case_line(event)}")
            case _ if self.view:
                self.view.follow(event)

    def _render(self) -> RenderableType:
        view = self.view
        if view is None:
            return Text("")
        elapsed = time.monotonic() - view.started
        left = view.estimated_s - (view.measured_ns / 1e9 if view.clock else elapsed)
        head = Text(f"[{view.number}/{view.total}] {view.case.label}", style="bold")
        head.append(f"  {view.phase}", style="cyan")
        head.append(
            f"  {human_seconds(elapsed)} elapsed, "
            + (f"about {human_seconds(left)}{view.clock} left" if left > 0 else "nearly done"),
            style="dim",
        )
        lines = [head]
        lines += [Text(f"  {line}") for line in view.goals]
        lines += view.lines
        lines.append(Text(f"  … {view.now}" if view.now else "", style="dim"))
        lines += [Text(f"    {line}", style="dim") for line in view.seen]
        # beside a line that is printed above it, Rich wraps none of these
        return Group(*(between_words(line, self.console.width, "    ") for line in lines))


def goal_lines(case: Case, loads: Loads, trials: Sequence[Trial]) -> tuple[str, ...]:
    """Say where each goal stands, by the rules that its answer follows from, too."""
    method = method_of(case.spec)
    if not isinstance(method, Throughput):
        return ()
    return tuple(
        f"{goal.goal} {interval(goal)}" + (", still searching" if goal.cut_short else "")
        for goal in method.so_far(loads, trials)
    )
