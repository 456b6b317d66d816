# vsperf-wires/vsperf_wires/program.py
"""A program that exchanges data between places: Python at both ends of a stream of TCP."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import InstalledProgram, KnownFault, Rendezvous, Said, Told
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Interval, Traffic

SERVER = """
import json, socket, sys, time
here = socket.create_server((sys.argv[1], int(sys.argv[2])))
there, _ = here.accept()
began, total, parts = time.monotonic_ns(), 0, []
while data := there.recv(1 << 16):
    total += len(data)
    now = time.monotonic_ns() - began
    if not parts or now - parts[-1][0] > 250_000_000:  # a window begins in the midst of one
        parts.append([parts[-1][1] if parts else 0, now, 0])
    parts[-1][1:] = [now, parts[-1][2] + len(data)]
print(json.dumps({"bytes": total, "parts": parts}))
"""
CLIENT = """
import json, socket, sys, time
there = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
began, total, data = time.monotonic_ns(), 0, bytes(int(sys.argv[4]))
while time.monotonic_ns() - began < int(sys.argv[3]):
    total += there.send(data)
print(json.dumps({"bytes": total, "ns": time.monotonic_ns() - began}))
"""
WRITE_BYTES = 1 << 16


class PourSpec(DriverSpec):
    """Settings of `pour`: none but its kind."""

    kind: Literal["pour"]


class Pour:
    """Pours a stream of TCP into the path, by Python."""

    kind: ClassVar[str] = "pour"
    summary: ClassVar[str] = "Python at both ends of a stream of TCP"
    Spec: ClassVar[type[DriverSpec]] = PourSpec
    checks: ClassVar[tuple[Check, ...]] = ()
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"tcp-stream"})
    SERVER_ENDS: ClassVar[bool] = True
    SERVER: ClassVar[str] = "python"
    FAULTS: ClassVar[tuple[KnownFault, ...]] = ()

    def find(self, case: CaseSpec) -> InstalledProgram:
        return InstalledProgram(sys.executable, platform.python_version())

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {"server.py": SERVER, "client.py": CLIENT}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        return (program, "-I", "server.py", meet.address, str(meet.port))

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        write = asked.write_bytes or WRITE_BYTES
        where = (meet.address, str(meet.port))
        return (program, "-I", "client.py", *where, str(asked.sending_ns), str(write))

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what both ends wrote; where one of them failed there is no number."""
        ends = {"client": client, "server": server}
        if failed := [
            f"its {name} {end.quoted}" for name, end in ends.items() if end.exit_code != 0
        ]:
            return Told(problem="; ".join(failed))  # one that is killed takes the other with it
        try:
            sent, came = json.loads(client.text), json.loads(server.text)
            return Told(
                elapsed_ns=sent["ns"],
                write_bytes=asked.write_bytes or WRITE_BYTES,
                sent_bytes=sent["bytes"],
                received_bytes=came["bytes"],
                intervals=tuple(
                    Interval(began_ns=a, ended_ns=b, amount=n) for a, b, n in came["parts"]
                ),
            )
        except (ValueError, KeyError, TypeError) as error:
            return Told(problem=f"its answers cannot be read: {error}")
