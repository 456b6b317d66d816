"""A plain QEMU with the guest image: no switch, no vhost, its NICs are datagram sockets here."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vsperf.qemu.image import GuestImage

MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02")
PATIENCE_S = 60.0
"""Many times what it takes: the machine may be busy, and the guest is emulated."""


class Guest:
    """One guest that is being run, seen from its control port."""

    def __init__(self, image: GuestImage, folder: Path) -> None:
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self._stack = ExitStack()
        self._nics: list[socket.socket] = []
        self._argv = self._command(image)

    def __enter__(self) -> Self:
        self.qemu = self._stack.enter_context(subprocess.Popen(self._argv))
        self._stack.callback(self.qemu.kill)
        self._control = self.connect("control")
        self._lines = self._stack.enter_context(self._control.makefile())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _command(self, image: GuestImage) -> list[str]:
        argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
        argv += ["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "256"]
        argv += ["-kernel", str(image.kernel), "-initrd", str(image.initrd)]
        argv += ["-append", str(image.append), "-no-reboot"]
        argv += ["-serial", f"file:{self.folder}/console", "-device", "virtio-serial-pci"]
        for name in ("control", "shell"):
            argv += ["-chardev", f"socket,id={name},path={self.folder}/{name},server=on,wait=off"]
            argv += ["-device", f"virtserialport,chardev={name},name=vsperf.{name}"]
        for number, mac in enumerate(MACS):
            here = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            here.bind(f"{self.folder}/here{number}")
            here.settimeout(PATIENCE_S)
            self._nics.append(here)
            ends = f"local.type=unix,local.path={self.folder}/guest{number}"
            ends += f",remote.type=unix,remote.path={self.folder}/here{number}"
            argv += ["-netdev", f"dgram,id=nic{number},{ends}"]
            argv += ["-device", f"virtio-net-pci,netdev=nic{number},mac={mac}"]
        return argv

    def connect(self, name: str) -> socket.socket:
        """Connect to a port of the guest as soon as QEMU offers it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            connection = self._stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(PATIENCE_S)
            try:
                connection.connect(f"{self.folder}/{name}")
            except OSError:
                assert time.monotonic() < deadline
                assert self.qemu.poll() is None
                time.sleep(0.01)
            else:
                return connection

    def read(self) -> dict[str, Any]:
        """Return the next line, whatever it is."""
        line: dict[str, Any] = json.loads(self._lines.readline())
        return line

    def hang_up(self) -> None:
        """Leave the control port, and come again."""
        self._lines.close()
        self._control.close()
        self._control = self.connect("control")
        self._lines = self._stack.enter_context(self._control.makefile())

    def send(self, text: str) -> None:
        """Send a line as it is."""
        self._control.sendall(text.encode() + b"\n")

    def ask(self, verb: str, **more: object) -> dict[str, Any]:
        """Return the answer to a request; events that come before are kept."""
        self.send(json.dumps({"id": 7, "verb": verb, **more}))
        while "id" not in (line := self.read()):
            self.events.append(line)
        assert line["id"] == 7
        return line

    def start(self, app: str, **more: object) -> dict[str, Any]:
        """Start an application on both NICs."""
        deadline_ms = int(PATIENCE_S * 1000)
        return self.ask("start", **{"app": app, "nics": MACS, "deadline_ms": deadline_ms, **more})

    def pass_frame(self, enters: int, leaves: int, frame: bytes) -> bytes:
        """Send a frame into one NIC, and return what comes out of another."""
        self._nics[enters].sendto(frame, f"{self.folder}/guest{enters}")
        return self._nics[leaves].recv(16384)


@contextmanager
def booted(image: GuestImage) -> Iterator[Guest]:
    """Boot a guest, and end it. The folder's name is short: sockets have to fit into 107 bytes."""
    with (
        tempfile.TemporaryDirectory(prefix="guest-") as folder,
        Guest(image, Path(folder)) as guest,
    ):
        yield guest
