"""Captures: which ports have one, whether it goes on, and the file that it left.

What a port receives is copied by tgen, in memory of a bounded size. The file is written when the
capture is stopped; it lies in the workspace of the server, and goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.otg.document import Node, RefusedError

MOST_FRAMES = 1 << 16
MOST_BYTES = 16 << 20
"""Of the frames of a port together."""
LONGEST_KEPT = 9216
MOST_SAID = (1 << 16) - 1
"""The greatest size that the model has for a frame of a capture."""
CONFLICT = 409
FAILED = 500


@dataclass(frozen=True, slots=True)
class Capture:
    """What is wanted of a port."""

    last: bool = True
    """Where there are more frames than there is room for, the last are kept, and not the first."""
    longest: int = LONGEST_KEPT
    """Bytes that are kept of a frame."""


def read_captures(root: Node, ports: Mapping[str, object]) -> dict[str, Capture]:
    """Read what captures are wanted, by the names of ports."""
    found: dict[str, Capture] = {}
    called: set[str] = set()
    for node in root.nodes("captures"):
        name = node.text("name")
        if name in called:
            root.refuse(f"there are several called {name!r}", "captures")
        called.add(name)
        names = node.texts("port_names", len(ports))
        if not names:
            node.refuse("is needed", "port_names")
        node.one_of("format", ("pcap",), "pcap")
        if node.has("filters"):
            node.get("filters")
            node.refuse("not supported: all that a port receives is captured", "filters")
        last = node.flag("overwrite", default=True)
        longest = node.whole("packet_size", LONGEST_KEPT, 1, MOST_SAID)
        for port in names:
            if port not in ports:
                node.refuse(f"there is no port {port!r}", "port_names")
            elif port in found:
                node.refuse(f"port {port!r} is captured already", "port_names")
            found[port] = Capture(last, min(longest, LONGEST_KEPT))
    return found


@dataclass
class Captures:
    """The captures of a server; who calls has his turn with tgen."""

    tgen: Tgen
    folder: Path
    """For the files; nobody else's."""
    _running: dict[str, tuple[int, Capture]] = field(default_factory=dict)
    """tgen's numbers of the ports, by their names."""
    _files: dict[str, Path] = field(default_factory=dict)
    """What captures left that were stopped."""

    def running(self, port: str) -> bool:
        """Whether what a port receives is being copied."""
        return port in self._running

    def start(self, wanted: Mapping[str, tuple[int, Capture]]) -> None:
        """Begin with all of these, or with none; what they left before is gone then."""
        if busy := sorted(set(wanted) & set(self._running)):
            raise RefusedError(
                [f"port.capture: {', '.join(busy)} is captured already; stop it first"], CONFLICT
            )
        begun: list[str] = []
        try:
            for name, (number, capture) in wanted.items():
                self._begin(name, number, capture)
                begun.append(name)
        except TgenError as error:
            for name in begun:
                self._drop(name)
            raise RefusedError([f"port.capture: {error}"], FAILED) from error

    def stop(self, ports: Sequence[str]) -> tuple[str, ...]:
        """End those that go on, and write their files; return what was left out of them."""
        notes: list[str] = []
        failures: list[str] = []
        for name in ports:
            if name not in self._running:
                continue
            number, capture = self._running[name]
            del self._running[name]
            try:
                answer = self.tgen.ask("listen", port=number, on=False)
            except TgenError as error:
                failures.append(f"port {name!r}: there is no capture: {error}")
                self._path(number).unlink(missing_ok=True)
                continue
            self._files[name] = self._path(number)
            if answer["heard"] > answer["frames"]:
                end = "last" if capture.last else "first"
                notes.append(
                    f"port {name!r}: its capture has the {end} {answer['frames']} of the "
                    f"{answer['heard']} frames that came; there is room for {MOST_FRAMES} of "
                    f"{MOST_BYTES} bytes together"
                )
        if failures:
            raise RefusedError([*failures, *notes], FAILED)
        return tuple(notes)

    def opened(self, port: str) -> BinaryIO:
        """Return the file of a port; it stays whole, whatever comes meanwhile."""
        if port in self._running:
            raise RefusedError(
                [f"port_name: the capture of {port!r} goes on; stop it first"], CONFLICT
            )
        if port not in self._files:
            raise RefusedError([f"port_name: nothing of {port!r} was captured"], CONFLICT)
        return self._files[port].open("rb")

    def clear(self) -> None:
        """End all of them, and remove what they left."""
        for name in list(self._running):
            self._drop(name)
        for path in self._files.values():
            path.unlink(missing_ok=True)
        self._files.clear()

    def _begin(self, name: str, number: int, capture: Capture) -> None:
        path = self._path(number)
        path.unlink(missing_ok=True)  # who still reads the one before reads on
        self._files.pop(name, None)
        self.tgen.ask(
            "listen",
            port=number,
            path=str(path),
            frames=MOST_FRAMES,
            bytes=MOST_BYTES,
            longest=capture.longest,
            keep="last" if capture.last else "first",
        )
        self._running[name] = (number, capture)

    def _drop(self, name: str) -> None:
        number, _ = self._running.pop(name)
        with suppress(TgenError):  # a file that is not wanted need not be whole
            self.tgen.ask("listen", port=number, on=False)
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"capture-{number}.pcap"
