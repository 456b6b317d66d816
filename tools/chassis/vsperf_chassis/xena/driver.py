"""The driver of Xena chassis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf_chassis.driver import ChassisGenerator, check_places
from vsperf_chassis.session import Chassis
from vsperf_chassis.spec import ChassisSpec, password_from
from vsperf_chassis.xena.chassis import XenaChassis, log_on, release

PLACE = re.compile(r"\d{1,3}/\d{1,3}")
DELIVERED = "xena"
"""The password that a chassis is delivered with."""


class XenaSpec(ChassisSpec):
    """Settings of a Xena chassis; its ports are `chassis:MODULE/PORT`."""

    kind: Literal["xena"]


class XenaGenerator(ChassisGenerator):
    """Trials by a Xena chassis."""

    kind: ClassVar[str] = "xena"
    summary: ClassVar[str] = "a Xena chassis, by its text protocol; never run against one"
    Spec: ClassVar[type[DriverSpec]] = XenaSpec
    who: ClassVar[str] = "the Xena chassis"
    rest_s: ClassVar[float] = XenaChassis.rest_s

    def check(self, spec: ChassisSpec, places: dict[str, str]) -> None:
        check_places(places, PLACE, "no Xena chassis has", "module and port", "0/2")

    @contextmanager
    def connect(self, spec: ChassisSpec, owner: str, places: tuple[str, ...]) -> Iterator[Chassis]:
        client = log_on(spec.address, owner, password_from(spec.password_file, DELIVERED))
        try:
            yield XenaChassis(client, places, owner)
        finally:
            client.close()

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """Release what a deployment that is gone has reserved under its name."""
        client = log_on(address, owner, password_from(password_file, DELIVERED))
        try:
            release(client, places, owner)
        finally:
            client.close()
