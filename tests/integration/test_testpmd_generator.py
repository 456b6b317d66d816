"""testpmd as the generator, and testpmd as the switch: what is counted, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Require
from places import PLACEMENT, room
from switch_cases import deployed, real_case

from vsperf.config.case import CaseSpec
from vsperf.deploy.deployment import Deployment
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.testpmd.driver import TestpmdGenerator, TestpmdSession
from vsperf.drivers.generators.testpmd.plan import TestpmdGeneratorSpec
from vsperf.errors import ComponentError
from vsperf.records.run import Placement

pytestmark = pytest.mark.machine

FLAT_OUT = TrialRequest(load_fps=14_880_952, duration_ns=300_000_000)
HANDFUL = TrialRequest(load_fps=1_000, duration_ns=100_000_000)


def case_of(mode: str, direction: str) -> CaseSpec:
    """Return a case between two ports of testpmd, without hugepages."""
    asked = {"kind": "fixed", "loads": ["100%"], "duration": "1s"}
    case = real_case("testpmd", {"hugepages": False}, search=asked)
    generator: dict[str, Any] = {"kind": "testpmd", "mode": mode, "hugepages": False}
    traffic = case.traffic.model_validate(case.traffic.model_dump() | {"direction": direction})
    spec = TestpmdGeneratorSpec.model_validate(generator)
    return case.model_copy(update={"generator": spec, "traffic": traffic})


@pytest.fixture(name="running", scope="module", params=["flowgen", "txonly"])
def fixture_running(request: pytest.FixtureRequest, require: Require) -> Iterator[Deployment]:
    require("dpdk-testpmd")
    direction = "both" if request.param == "flowgen" else "forward"
    with deployed(case_of(request.param, direction)) as (running, _):
        yield running


def test_flat_out_all_that_was_sent_is_found_again_in_the_counters(running: Deployment) -> None:
    """Sent = what the switch took; what it gave = received: nothing is lost in the drain.

    Flat out may be more than was asked for, on a fast machine: the judge flags that.
    """
    before = running.switch.counters()
    counts = running.generator.run(FLAT_OUT)
    after = running.switch.counters()
    assert before is not None and after is not None
    grown = {port.link: port for port in after.since(before).ports}
    assert counts.settled
    for way in counts.directions:
        enters, _, leaves = way.name.partition(" to ")
        assert way.intended_frames == FLAT_OUT.frames
        assert way.sent_frames > 0
        assert way.sent_frames == grown[enters].received_frames
        assert way.received_frames == grown[leaves].sent_frames
        assert way.refused_frames is not None
        assert way.refused_frames <= max(0, way.intended_frames - way.sent_frames)
        assert way.unmarked_frames == way.sent_frames  # nobody looked at any of them


@pytest.mark.everyday
def test_a_few_frames_are_exactly_as_many_and_arrive(running: Deployment) -> None:
    for way in running.generator.run(HANDFUL).directions:
        assert way.sent_frames == way.intended_frames == HANDFUL.frames
        assert way.received_frames == way.sent_frames


def test_what_it_cannot_do_is_an_error_and_never_a_number(running: Deployment) -> None:
    with pytest.raises(ComponentError, match="latencies"):
        running.generator.run(TrialRequest(1_000, 100_000_000, latency=True))
    assert running.generator.failure() is None


def test_the_record_says_that_it_is_unpaced(running: Deployment) -> None:
    facts = running.generator.facts()
    assert facts["paced"] is False
    assert facts["counts"] == "by ports"
    assert facts["dpdk"].startswith("DPDK ")


@pytest.mark.everyday
@pytest.mark.needs("dpdk-testpmd")
def test_one_that_was_killed_is_missed_and_leaves_nothing_behind() -> None:
    with deployed(case_of("flowgen", "both")) as (parts, _):
        generator = parts.generator
        assert isinstance(generator, TestpmdSession)
        assert generator.failure() is None
        generator.running[0].testpmd.program.process.kill()
        with pytest.raises(ComponentError, match="killed by SIGKILL"):
            generator.run(HANDFUL)
        assert generator.failure()


@pytest.mark.parametrize("mode", ["flowgen", "txonly"])
@pytest.mark.needs("dpdk-testpmd")
def test_its_cap_is_what_comes_back_from_a_mirror(mode: str) -> None:
    """Both programs of txonly share a CPU here, so both are waited for."""
    case = case_of(mode, "both" if mode == "flowgen" else "forward")
    with room("a calibration of testpmd") as place:
        found = TestpmdGenerator().calibrate(case, PLACEMENT, place)
    assert found is not None
    assert found.cap_fps > 0
    assert found.cpus == (0, 1)
    assert found.method == "vhost-user ports against a forwarder that looks at no frame"


def test_a_cap_needs_a_cpu_for_the_mirror() -> None:
    shared = Placement(cpus={"generator": (0,), "pmd": (0,)})
    with room("a calibration of testpmd") as place:
        assert TestpmdGenerator().calibrate(case_of("flowgen", "both"), shared, place) is None
