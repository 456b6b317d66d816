"""The driver of Xena chassis."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Literal

from vsperf_chassis.driver import ChassisGenerator, check_places
from vsperf_chassis.session import Chassis
from vsperf_chassis.spec import ChassisSpec, password_from
from vsperf_chassis.xena.chassis import XenaChassis, logged_on

PLACE = re.compile(r"\d{1,3}/\d{1,3}")
DELIVERED = "xena"
"""The password that a chassis is delivered with."""


class XenaSpec(ChassisSpec):
    """Settings of a Xena chassis; its ports are `chassis:MODULE/PORT`."""

    kind: Literal["xena"]


class XenaGenerator(ChassisGenerator):
    """Trials by a Xena chassis."""

    kind = "xena"
    summary = "a Xena chassis, by its text protocol; never run against one"
    Spec = XenaSpec
    who = "the Xena chassis"
    rest_s = XenaChassis.rest_s

    def check(self, spec: ChassisSpec, places: dict[str, str]) -> None:
        check_places(places, PLACE, "no Xena chassis has", "module and port", "0/2")

    def connect(
        self, spec: ChassisSpec, owner: str, places: tuple[str, ...]
    ) -> AbstractContextManager[Chassis]:
        password = password_from(spec.password_file, DELIVERED)
        return logged_on(spec.address, places, owner, password)

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """Release what a deployment that is gone has reserved under its name."""
        password = password_from(password_file, DELIVERED)
        with logged_on(address, places, owner, password) as chassis:
            chassis.release()
