"""The driver of IxNetwork."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.config.flows import counts
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint, Placement, Step
from vsperf_chassis.driver import ChassisGenerator, check_places
from vsperf_chassis.ixnetwork import sessions
from vsperf_chassis.ixnetwork.chassis import Ixnetwork
from vsperf_chassis.ixnetwork.client import PLAIN, UNVERIFIED, VERIFIED, Client
from vsperf_chassis.session import Chassis
from vsperf_chassis.spec import ChassisSpec, password_from

PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*/\d{1,3}/\d{1,3}")


class IxnetworkSpec(ChassisSpec):
    """Settings of IxNetwork: `chassis` is the API server, ports are `chassis:HOST/CARD/PORT`."""

    kind: Literal["ixnetwork"]
    tls: Literal["verified", "unverified", "none"] = "verified"
    """Whether the server's certificate has to be one that this machine trusts; `none` sends the API
    key in clear text."""

    @property
    def address(self) -> str:
        scheme = {"verified": VERIFIED, "unverified": UNVERIFIED, "none": PLAIN}[self.tls]
        return scheme + super().address


class IxnetworkGenerator(ChassisGenerator):
    """Trials by IxNetwork."""

    kind = "ixnetwork"
    summary = "Keysight IxNetwork, by REST; never run against one"
    Spec = IxnetworkSpec
    who = "IxNetwork"
    rest_s = Ixnetwork.rest_s

    def capabilities(self, case: CaseSpec) -> Capabilities:
        """Return the same as of any chassis, but that copies of frames pass for frames."""
        return Capabilities(super().capabilities(case).does - {Ability.NUMBERED})

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        if min(counts(case.traffic) or (1,)) > 1:
            raise UsageError(
                f"IxNetwork is not told to send {case.traffic.flows} flows that differ by "
                f"{case.traffic.vary}",
                why="so many take two fields, one counted up after the other, and it would count "
                "up both at once",
                fix="--set traffic.flows=4096",
            )
        return super().plan(case, endpoints, placement)

    def check(self, spec: ChassisSpec, places: dict[str, str]) -> None:
        check_places(places, PLACE, "IxNetwork has not", "chassis, card and port", "192.0.2.8/1/1")

    @contextmanager
    def connect(self, spec: ChassisSpec, owner: str, places: tuple[str, ...]) -> Iterator[Chassis]:
        client = _client(spec.address, spec.password_file)
        client.objects(sessions.SESSIONS)  # whether it is there, and knows the key
        yield Ixnetwork(client, places, owner)

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """End the session that a deployment which is gone has begun under its name."""
        client = _client(address, password_file)
        if (session := sessions.find(client, owner)) is not None:
            Ixnetwork(client, places, owner, session).release()


def _client(address: str, key_file: str | None) -> Client:
    return Client(address, None if key_file is None else password_from(key_file, ""))
