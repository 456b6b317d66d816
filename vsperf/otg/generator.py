"""tgen as the model sees it: configured, started, stopped, and asked for its counters.

Requests come from several threads. Who talks to tgen has its turn for as long as one question
takes, and waits without it; documents are read, and files written, before. A trial of tgen goes on
between them; its events are read whenever the next request talks to tgen, so nothing of this takes
a thread while frames are sent.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.otg.captures import Captures
from vsperf.otg.config import Config, Place, merged, read_config
from vsperf.otg.counters import FlowCounts, PortCounts, final, on_the_way, port_counts
from vsperf.otg.document import Document, RefusedError
from vsperf.otg.flows import Flow, write_frames
from vsperf.quantities.units import NANOSECONDS
from vsperf.waits import sleep

IDLE = "idle"
"""Said by tgen of a stop when there is nothing to stop."""
QUIET_NS = 100_000_000
DRAIN_NS = 2 * NANOSECONDS
ENDING_S = DRAIN_NS / NANOSECONDS + 10
"""Patience with the end of a trial."""
POLL_S = 0.01
CONFLICT = 409


def say_nothing(text: str) -> None:
    """Keep no log."""


@dataclass
class Sending:
    """Flows that are being sent together."""

    flows: tuple[Flow, ...]


@dataclass
class Generator:
    """One tgen, and what it was told."""

    tgen: Tgen
    places: Mapping[str, Place]
    """Its ports, by their locations."""
    folder: Path
    """For files of frames; nobody else's."""
    burst: int = 32
    whole_payload: bool = True
    """Whether all bytes behind the headers are looked at, and not only tgen's mark."""
    say: Callable[[str], None] = say_nothing
    """Told what a user of the server should know, a line each."""
    config: Config = field(default_factory=Config)
    turn: threading.RLock = field(default_factory=threading.RLock)
    """Who has it talks to tgen; for no longer than tgen takes to answer."""
    _configuring: threading.Lock = field(default_factory=threading.Lock)
    """Who has it reads a configuration, and takes it."""
    _files: Path | None = None
    """The folder with the files of the configuration."""
    _sending: Sending | None = None
    _result: Mapping[str, Any] | None = None
    """Of the trial that has just ended."""
    _notes: tuple[str, ...] = ()
    """What is worth knowing of it."""
    _counts: dict[str, FlowCounts] = field(default_factory=dict)
    """By the names of flows: all that were ever started, as far as they came."""
    _foreign: dict[int, PortCounts] = field(default_factory=dict)
    """What ports counted beside flows in the last trial."""

    def __post_init__(self) -> None:
        self.tgen.listen(self._hear)
        self._captures = Captures(self.tgen, self.folder)

    def configure(self, content: object) -> tuple[str, ...]:
        """Take a configuration in place of the one before; return warnings.

        One that is refused changes nothing: what is there goes on as it is.
        """
        with self._configuring:
            return self._configure(content, ending=True)

    def update(self, content: object) -> tuple[str, ...]:
        """Take other rates or sizes of flows that do not send."""
        with self._configuring:
            changed = merged(self.config, Document(content))
            self._require_idle("flows: stop the traffic first")
            return self._configure(changed, ending=False)

    def start(self, names: Sequence[str]) -> None:
        """Begin to send flows, all where none is named; their counters begin at zero."""
        with self.turn:
            self._require_idle(
                "traffic.flow_transmit: flows are being sent; stop them first",
            )
            flows = self._named(names)
            if not flows:
                raise RefusedError(["traffic.flow_transmit: no flow is configured"])
            self._streams(flows)
            for flow in flows:
                self._counts.pop(flow.name, None)
            self._foreign.clear()
            self._notes = ()
            self.tgen.ask("trial", **_trial(flows, self.burst, self.whole_payload), wait=False)
            self._result = None
            self._sending = Sending(flows)

    def stop(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Stop sending, and wait until counters are final; return what is worth knowing."""
        with self.turn:
            named = {flow.name for flow in self._named(names)}
            sending = self._running()
            if sending is None:
                return self._notes
            live = {flow.name for flow in sending.flows if self._counts[flow.name].sending}
            if not live & named and live:
                return ()  # these have stopped by themselves
            if kept := sorted(live - named):
                raise RefusedError(
                    [
                        "traffic.flow_transmit.flow_names: flows that were started together stop "
                        f"together, and {', '.join(kept)} would go on"
                    ],
                    CONFLICT,
                )
            self._ask_to_stop()
        self._await_end(sending)
        return self._notes

    def counts(self) -> dict[str, FlowCounts]:
        with self.turn:
            self._running()
            flows = self.config.flows
            return {flow.name: self._counts.get(flow.name, FlowCounts()) for flow in flows}

    def port_counts(self) -> dict[str, PortCounts]:
        """Return the counters of all ports, by their names."""
        with self.turn:
            counts = self.counts()
            numbers = {name: self._number(name) for name in self.config.ports}
            return port_counts(self.config.flows, counts, numbers, self._foreign)

    def links(self) -> dict[str, bool]:
        """Return by port whether its link is up; of a device of the kernel, the kernel says it."""
        with self.turn:
            up = {
                int(port["port"]): bool(port["link_up"]) and bool(port.get("kernel_up", True))
                for port in self.tgen.ask("ports")["ports"]
            }
            return {name: up[self._number(name)] for name in self.config.ports}

    def sending(self, port: str) -> bool:
        with self.turn:
            return self._sending is not None and any(
                flow.transmit == port and self._counts.get(flow.name, FlowCounts()).sending
                for flow in self._sending.flows
            )

    def start_captures(self, names: Sequence[str]) -> None:
        """Begin to capture ports, all that have a capture where none is named."""
        with self.turn:
            found = self._captured(names)
            if not found:
                raise RefusedError(["port.capture: no capture is configured"])
            captures = self.config.captures
            self._captures.start({name: (self._number(name), captures[name]) for name in found})

    def stop_captures(self, names: Sequence[str]) -> tuple[str, ...]:
        """End captures, and write them; return what is not in them."""
        with self.turn:
            notes = self._captures.stop(self._captured(names))
        for note in notes:
            self.say(note)
        return notes

    def capturing(self, port: str) -> bool:
        with self.turn:
            return self._captures.running(port)

    def captured(self, port: str) -> BinaryIO:
        """Return the file that the capture of a port left."""
        with self.turn:
            if port not in self.config.ports:
                raise RefusedError([f"port_name: there is no port {port!r}"])
            return self._captures.opened(port)

    def _captured(self, names: Sequence[str]) -> tuple[str, ...]:
        captures = self.config.captures
        for name in names:
            if name not in captures:
                raise RefusedError(
                    [f"port.capture.port_names: {name!r} has no capture in the configuration"]
                )
        return tuple(name for name in captures if not names or name in names)

    def _number(self, port: str) -> int:
        return self.places[self.config.ports[port]].number

    def _configure(self, content: object, *, ending: bool) -> tuple[str, ...]:
        """Read a configuration, and take it; `ending` says whether traffic ends for that."""
        config = read_config(content, self.places)
        with _folder_in(self.folder, config) as files:
            if files is not None:
                config = replace(config, flows=write_frames(config.flows, files))
            self._take(config, ending=ending)
            self._files, old = files, self._files
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
        return config.warnings

    def _take(self, config: Config, *, ending: bool) -> None:
        """Put a configuration into the place of the one before, once nothing is sent."""
        deadline = time.monotonic() + ENDING_S
        while True:
            with self.turn:
                sending = self._running()
                if sending is None:
                    self._swap(config)
                    if ending:
                        self._captures.clear()
                    return
                if not ending or time.monotonic() > deadline:
                    raise RefusedError(["flows: somebody started them meanwhile"], CONFLICT)
                self._ask_to_stop()
            self._await_end(sending)

    def _swap(self, config: Config) -> None:
        """Have tgen take the streams of a configuration; it keeps what it had where it cannot."""
        if config.flows:
            try:
                self._streams(config.flows)
            except RefusedError:
                if self.config.flows:
                    with suppress(RefusedError):
                        self._streams(self.config.flows)
                raise
        self.config = config
        self._counts.clear()
        self._foreign.clear()
        self._notes = ()

    def _ask_to_stop(self) -> None:
        try:
            self.tgen.ask("stop")
        except TgenError as refused:
            if refused.code != IDLE:  # else it ended by itself a moment ago
                raise

    def _await_end(self, sending: Sending) -> None:
        """Wait until the counters of flows are final, while others have their turn."""
        deadline = time.monotonic() + ENDING_S
        while True:
            with self.turn:
                self._running()
                if self._sending is not sending:
                    return
            if time.monotonic() > deadline:
                raise RefusedError([f"tgen did not stop within {ENDING_S:g} s"], 500)
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def _require_idle(self, text: str) -> None:
        with self.turn:
            if self._running() is not None:
                raise RefusedError([text], CONFLICT)

    def _named(self, names: Sequence[str]) -> tuple[Flow, ...]:
        known = {flow.name for flow in self.config.flows}
        if missing := [name for name in names if name not in known]:
            raise RefusedError(
                [f"traffic.flow_transmit.flow_names: there is no flow {missing[0]!r}"]
            )
        wanted = set(names)
        return tuple(flow for flow in self.config.flows if not wanted or flow.name in wanted)

    def _streams(self, flows: Sequence[Flow]) -> None:
        """Have tgen take the streams; what it refuses is told with the flow's name."""
        try:
            answer = self.tgen.ask("configure", streams=[dict(flow.stream) for flow in flows])
        except TgenError as error:
            raise RefusedError([_blamed(error, flows)]) from error
        for one in answer.get("replays", ()):
            if one["unmarked"]:
                name = flows[int(one["stream"])].name
                raise RefusedError(
                    [f"flow {name!r}: tgen has no place for its mark in {one['unmarked']} frames"]
                )

    def _running(self) -> Sending | None:
        """Return what is being sent, once the news are heard; None when nothing is."""
        sending = self._sending
        if sending is None:
            return None
        live = self.tgen.ask("live")  # hears of the end, too
        if self._result is not None:
            self._end(sending, self._result)
            return None
        if live["state"] == "idle":
            self._sending = None
            raise RefusedError(["tgen did not finish what was sent; counters are not known"], 500)
        if "streams" in live:
            self._on_the_way(sending, live)
        for flow in sending.flows:
            self._counts.setdefault(flow.name, FlowCounts(sending=True))
        return sending

    def _on_the_way(self, sending: Sending, live: Mapping[str, Any]) -> None:
        found = {
            flow.name: on_the_way(flow, stream, live["elapsed_ns"], self._counts.get(flow.name))
            for flow, stream in zip(sending.flows, live["streams"], strict=True)
        }
        if not any(one.sending for one in found.values()):  # the end of all tells more in a moment
            found = {name: replace(one, sending=True) for name, one in found.items()}
        self._counts |= found

    def _end(self, sending: Sending, result: Mapping[str, Any]) -> None:
        self._sending = None
        for flow, stream in zip(sending.flows, result["streams"], strict=True):
            self._counts[flow.name] = final(flow, stream)
        self._foreign = {
            int(port["port"]): PortCounts(frames_rx=port.get("foreign", 0))
            for port in result["ports"]
        }
        self._notes = fell_short(sending.flows, result)
        for note in self._notes:
            self.say(note)

    def _hear(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == "trial-done":
            self._result = event["result"]


@contextmanager
def _folder_in(folder: Path, config: Config) -> Iterator[Path | None]:
    """Make a folder for files of a configuration, if it needs some; it goes if that is refused."""
    if all(flow.written is None for flow in config.flows):
        yield None
        return
    made = Path(tempfile.mkdtemp(prefix="flows-", dir=folder))
    try:
        yield made
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _trial(flows: Sequence[Flow], burst: int, whole_payload: bool) -> dict[str, Any]:
    """Return the parameters of a trial that sends flows together."""
    return {
        "rate_fps": [_number(flow.rate_fps) for flow in flows],
        "frames": [flow.frames for flow in flows],
        "until_ns": [int((flow.seconds or 0) * NANOSECONDS) for flow in flows],
        "burst": burst,
        "latency": any(flow.latency for flow in flows),
        "check_fill": whole_payload,
        "quiet_ns": QUIET_NS,
        "drain_ns": DRAIN_NS,
    }


def _number(rate: Fraction) -> int | float:
    return rate.numerator if rate.denominator == 1 else float(rate)


def _blamed(error: TgenError, flows: Sequence[Flow]) -> str:
    """Return what tgen said against a stream, as words on a flow."""
    place, _, rest = (error.path or "").partition("]")
    number = place.removeprefix("streams[")
    if number.isdigit() and int(number) < len(flows):
        return f"flow {flows[int(number)].name!r}{rest}: {error}"
    return str(error)


TOLERATED = 100
"""One frame in so many may be late, and"""
LEAST_FRAMES = 64
"""so many in any case: a burst is under way when somebody says stop."""


def fell_short(flows: Sequence[Flow], result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each flow of a trial whose rate was not reached."""
    told = zip(flows, result["streams"], strict=True)
    notes = (_note(flow, stream, result["elapsed_ns"]) for flow, stream in told)
    paused_ns = max((worker["paused_ns"] for worker in result["workers"]), default=0)
    why = f"; the machine kept tgen from running for {paused_ns / NANOSECONDS:.3f} s" * (
        paused_ns > 0
    )
    return tuple(note + why for note in notes if note)


def _note(flow: Flow, stream: Mapping[str, Any], elapsed_ns: int) -> str | None:
    sent, rate = stream["sent"], f"{float(flow.rate_fps):g} frames a second"
    if sent < flow.frames:
        lasted_ns = elapsed_ns if flow.seconds is None else min(elapsed_ns, _ns(flow.seconds))
        due = min(flow.frames, int(flow.rate_fps * lasted_ns / NANOSECONDS))
        if not _is_short(sent, due):
            return None
        share = 100 * sent / due
        return (
            f"flow {flow.name!r}: {sent} of the {due} frames that were due have left "
            f"({share:.1f} %), as its rate of {rate} was not reached"
        )
    taken_ns = stream.get("sending_ns", 0)
    if not _is_short(sent, int(flow.rate_fps * taken_ns / NANOSECONDS)):
        return None
    return (
        f"flow {flow.name!r}: its {sent} frames left within {taken_ns / NANOSECONDS:.3f} s, and "
        f"not within {float(sent / flow.rate_fps):.3f} s, as its rate of {rate} was not reached"
    )


def _is_short(sent: int, due: int) -> bool:
    return due - sent > LEAST_FRAMES + due // TOLERATED


def _ns(seconds: float) -> int:
    return int(seconds * NANOSECONDS)
