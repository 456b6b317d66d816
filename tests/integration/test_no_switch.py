"""No switch of ours between the ports: a wire of others, or nothing."""

from __future__ import annotations

import os

import pytest
from loopbacks import tgen_case
from places import started_generator, started_switch
from real_runs import Place, fixture_calibrations, fixture_place
from switch_cases import all_arrived, deployed, real_case

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.vswitches.external import ExternalSwitch
from vsperf.errors import ExitCode
from vsperf.records.result import Limit
from vsperf.records.run import Outcome, Placement

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# Without a switch, for real: every frame comes back, and what is found is the generator's.

SLOWLY = TrialRequest(2000, 500_000_000)


@pytest.mark.parametrize("size", ["64B", "9018B"])
@pytest.mark.needs("tgen")
def test_frames_come_from_one_port_to_the_other(size: str) -> None:
    with deployed(real_case("none", traffic={"frame_size": size})) as (running, _):
        counts = running.generator.run(SLOWLY)
        assert running.switch.counters() is None
    assert all_arrived(counts)


def test_a_run_blames_no_switch_however_much_it_asks_for(place: Place) -> None:
    ended = place(
        "run",
        "phy2phy_tput",
        "--set=vswitch.kind=none",
        "--set=traffic.frame_size=64",
        "--set=trial.warm_up=0s",
        "--set=trial.drain=500ms",
        "--set=trial.linger=50ms",
        "--set=trial.retries=5",
        "--set=search={kind: fixed, loads: [1kfps, 100Mfps], duration: 300ms}",
        "--set=latency=null",
    )
    assert ended.code == 0, ended.err[-1000:]
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.PASS
    assert case.record.result is not None
    below, above = case.record.result.loads
    assert above.limit is Limit.GENERATOR
    assert "the switch" not in below.reason + above.reason
    assert all(trial.switch is None for trial in case.trials)


@pytest.mark.parametrize(
    ("testcase", "answer", "few"),
    [
        ("http_one_core_cps", "connection_rate", ()),
        ("http_one_core", "request_rate", ("search.connections=200", "search.min_rate=500")),
    ],
)
def test_one_core_asks_and_serves_and_no_switch_is_blamed(
    place: Place, testcase: str, answer: str, few: tuple[str, ...]
) -> None:
    brief = ("search.duration=500ms", "search.resolution=50%", "search.max_rate=2000")
    patient = "--set=trial.stretch_tolerance=100%"
    ended = place("run", testcase, *(f"--set={one}" for one in (*brief, *few)), patient)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (case,) = place.records().cases()
    searched = [one for one in case.connections if one.purpose == "search"]
    assert sum(one.client.completed for one in searched if one.client is not None) > 0
    assert all(one.switch is None for one in searched)
    assert case.record is not None and case.record.result is not None
    figures = {figure.name: figure for figure in case.record.result.figures}
    assert answer in figures
    assert all(figure.limit is not Limit.DUT for figure in figures.values())


# Without a switch of ours: the generator's own devices, and what others put between them.

MEMIF = "net_memif{0},role={1},id=0,socket=@vsperf-{2},socket-abstract=yes,rsize=10"


@pytest.mark.needs("tgen")
def test_frames_pass_a_wire_that_others_put_between_the_devices_of_the_links() -> None:
    ends = (MEMIF.format(0, "server", os.getpid()), MEMIF.format(1, "client", os.getpid()))
    links = {
        f"phy{number}": {"speed": "10G", "generator": device} for number, device in enumerate(ends)
    }
    case = tgen_case()
    case = case.model_copy(
        update={
            "vswitch": ExternalSwitch.Spec.model_validate({"kind": "external"}),
            "testbed": case.testbed.model_validate({"name": "lab", "links": links}),
        }
    )
    switch = ExternalSwitch()
    plan = switch.plan(case, Placement())
    ways = (("phy0", "phy1"), ("phy1", "phy0"))
    with (
        started_switch(switch, case, plan) as running,
        started_generator(TgenGenerator(), case, plan.endpoints, ways) as session,
    ):
        counts = session.run(TrialRequest(2000, 500_000_000))
        assert running.counters() is None
    assert [way.received_frames for way in counts.directions] == [1000, 1000]
