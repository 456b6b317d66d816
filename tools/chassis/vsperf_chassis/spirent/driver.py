"""The driver of Spirent TestCenter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from vsperf.errors import UsageError
from vsperf_chassis.driver import ChassisGenerator, check_places
from vsperf_chassis.session import Chassis
from vsperf_chassis.spec import ChassisSpec
from vsperf_chassis.spirent.chassis import Client, Spirent

PLACE = re.compile(r"//[A-Za-z0-9][A-Za-z0-9.-]*/\d{1,3}/\d{1,3}")


class SpirentSpec(ChassisSpec):
    """Settings of TestCenter: `chassis` is the Lab Server, ports are `chassis://HOST/SLOT/PORT`."""

    kind: Literal["spirent"]


class SpirentGenerator(ChassisGenerator):
    """Trials by TestCenter."""

    kind = "spirent"
    summary = "Spirent TestCenter, by REST; never run against one"
    Spec = SpirentSpec
    who = "Spirent TestCenter"
    rest_s = Spirent.rest_s

    def check(self, spec: ChassisSpec, places: dict[str, str]) -> None:
        check_places(
            places, PLACE, "TestCenter has not", "chassis, slot and port", "//192.0.2.8/1/1"
        )
        if spec.password_file is not None:
            raise UsageError(
                "a Lab Server of TestCenter takes no password",
                why="its REST interface asks for none",
                fix="leave generator.password_file out",
            )

    @contextmanager
    def connect(self, spec: ChassisSpec, owner: str, places: tuple[str, ...]) -> Iterator[Chassis]:
        yield Spirent(Client(spec.address), places, owner)

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """End the session that a deployment which is gone has begun under its name."""
        client = Client(address)
        if client.take_up(owner):
            Spirent(client, places, owner).release()
