"""The driver: where irtt is, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    Found,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    settings_of,
)
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.programs.irtt.answer import told
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Traffic

IRTT = Installed(
    "irtt", "apt-get install irtt", "version", r"irtt version: (\d+(?:\.\d+)+)", "probe.path"
)
USE = "for latency under load between places"
PAYLOAD_BYTES = 64
"""Of each packet: the least that its times and numbers fit into, rounded up."""
TIMER = "hybrid:0.95"
"""It sleeps for so much of each interval and looks at the clock for the rest. Its other timers
sleep for all of it, and are up to a millisecond off, which would be in all times from when packets
were due."""
WAIT = "2s"
"""For packets that are under way in the end. Its own choice follows from the longest time so far,
and so gives up those that a stall at the end keeps."""
KNOWN = (
    "it exits with 0 when its server died, leaves out of its times how long the server had a "
    "packet, and sends none of those that were due while it was kept from running: its raw times "
    "are read"
)


class IrttSpec(ProgramSpec):
    """Settings of irtt."""

    kind: Literal["irtt"]


class Irtt:
    """Runs irtt."""

    kind: ClassVar[str] = "irtt"
    summary: ClassVar[str] = "irtt: packets by a clock that are sent back, each with its times"
    Spec: ClassVar[type[DriverSpec]] = IrttSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"udp-echo"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = IRTT.name
    checks: ClassVar[tuple[Check, ...]] = (IRTT.check(IrttSpec, IRTT.of, USE, lambda _: KNOWN),)

    def find(self, case: CaseSpec) -> Found:
        return IRTT.of(settings_of(case, IrttSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """For as long and as often as a client likes: else it grants 10 ms between packets."""
        return (
            *(program, "server", "-4", "-b", f"{meet.address}:{meet.port}"),
            *("-i", "0", "-d", "0"),
        )

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """With nothing but its document on its standard output."""
        return (
            *(program, "client", "-4", "-Q", "-o", "-"),
            *("-i", f"{asked.interval_ns}ns", "-d", f"{asked.sending_ns}ns"),
            *("-l", str(PAYLOAD_BYTES), f"--timer={TIMER}", f"--wait={WAIT}"),
            f"{meet.address}:{meet.port}",
        )

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)
