"""Drivers of chassis keep the promises of all generator drivers, against servers of our own.

None of them has ever spoken to a chassis. Trials are short: a server in memory has no wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import trafficgen_contract
from chassis_cases import WAYS, chassis_case, hurry, ports_at
from ixnetwork_server import KEY, ixnetwork_server
from spirent_server import spirent_server
from trafficgen_contract import Rig, TrafficGeneratorContract
from vsperf_chassis.ixnetwork.driver import IxnetworkGenerator
from vsperf_chassis.spirent.driver import SpirentGenerator
from vsperf_chassis.xena.driver import XenaGenerator
from xena_server import xena_server

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import GeneratorSession, TrafficGenerator, TrialRequest
from vsperf.errors import ComponentError

LIGHT = TrialRequest(load_fps=10_000, duration_ns=20_000_000)


class ChassisContract(TrafficGeneratorContract):
    """What is the same for all of them."""

    places: tuple[str, str]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def quick(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """Let nobody wait for a wire, and no journal lie where a user's are."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VSPERF_RUNTIME", str(tmp_path_factory.mktemp("chassis") / "run"))
            patch.setattr(trafficgen_contract, "LIGHT", LIGHT)
            hurry(patch)
            yield

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls) -> Iterator[dict[str, Any]]:
        """Return how the generator is reached."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls, driver: TrafficGenerator, settings: dict[str, Any]) -> CaseSpec:
        case = chassis_case(driver.Spec.model_validate({"kind": driver.kind, **settings}))
        policy = case.trial.model_copy(update={"learning": False})
        return case.model_copy(update={"latency": None, "trial": policy})

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        yield Rig(ports_at(*cls.places), WAYS)

    def test_an_absurd_load_is_sent_or_its_shortfall_is_visible(
        self, session: GeneratorSession
    ) -> None:
        """A chassis sends all of it, however long that takes, or it is an error."""
        request = TrialRequest(load_fps=1_000_000_000, duration_ns=10_000_000)
        try:
            ways = session.run(request).directions
        except ComponentError:
            return
        assert [way.sent_frames for way in ways] == [10_000_000] * 2


class TestXena(ChassisContract):
    places = ("0/0", "0/1")

    drives = XenaGenerator

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls) -> Iterator[dict[str, Any]]:
        with xena_server() as server:
            yield {"chassis": server.address}


class TestSpirent(ChassisContract):
    places = ("//192.0.2.8/1/1", "//192.0.2.8/1/2")

    drives = SpirentGenerator

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls) -> Iterator[dict[str, Any]]:
        with spirent_server() as server:
            yield {"chassis": server.address}


class TestIxnetwork(ChassisContract):
    places = ("192.0.2.8/1/1", "192.0.2.8/1/2")

    drives = IxnetworkGenerator

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
        key = tmp_path_factory.mktemp("chassis") / "key"
        key.write_text(f"{KEY}\n")
        with ixnetwork_server() as server:
            yield {"chassis": server.address, "tls": "none", "password_file": str(key)}
