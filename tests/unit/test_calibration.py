"""The cap of the generator: measured once, kept, and measured anew when there is reason."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from record_samples import TIME, trial
from record_samples import goal as answered
from simulated_cases import simulated_case

from vsperf.cli.tgen_view import print_calibrations
from vsperf.config.case import CaseSpec
from vsperf.config.topology import Topology
from vsperf.config.traffic import Replay
from vsperf.deploy.planner import CasePlan, Drivers, make_plan
from vsperf.drivers.generators.base import HostJitter
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.generators.tgen import cap
from vsperf.drivers.generators.tgen.calibrate import Calibration as FoundByHand
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.vswitches.sim import SimulatedSwitch, SimulatedSwitchSpec
from vsperf.engine.calibration import ATTEMPTS, LOOKED_S, Calibrator, cap_key
from vsperf.engine.conditions import outdated
from vsperf.errors import DiedError, InvalidTrialError
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.workspace import Nowhere, Workspace
from vsperf.output.report.environment import found_of
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.view import views
from vsperf.records.host import Calibration, Conditions, Stalls
from vsperf.records.result import Limit, SearchResult
from vsperf.records.run import Placement


@dataclass
class Machine(SimulatedGenerator):
    """A generator on a machine whose CPUs are so far apart; counts how often it is calibrated."""

    distance_ns: int | None = 120
    kept_ns: int = 0
    """Of a second, for which others have the CPU of the generator."""
    age: timedelta = timedelta(0)
    measured: list[int | None] = field(default_factory=list)
    caps: list[int] = field(default_factory=list)
    """What it can do each time; more and more where nothing is told."""

    def jitter(self, case: CaseSpec, placement: Placement, workspace: Workspace) -> HostJitter:
        stalls = Stalls(
            cpu=0,
            observed_ns=NANOSECONDS,
            threshold_ns=10_000,
            gaps=9,
            total_ns=self.kept_ns,
            longest_ns=self.kept_ns,
        )
        return HostJitter((stalls,), self.distance_ns)

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        self.measured.append(self.distance_ns)
        return Calibration(
            frame_size=case.traffic.frame_size.bytes,
            cap_fps=self.caps.pop(0) if self.caps else 1000 * len(self.measured),
            method="made up",
            measured_at=(datetime.now(UTC) - self.age).isoformat(),
            cpus=(0, 1),
        )


@dataclass
class Lab:
    """Runs one after the other, on one machine."""

    cache: Path
    machine: Machine = field(default_factory=Machine)

    def run(self, *frame_sizes: str, recalibrate: bool = False) -> list[tuple[int, bool]]:
        """Return by case the cap, and whether it was known before the run."""
        calibrator, found = Calibrator(recalibrate=recalibrate, cache=self.cache), []
        for size in frame_sizes or ("64B",):
            calibration = calibrator.calibration(*self.case(size), Nowhere())
            assert calibration is not None
            found.append((calibration.cap_fps, calibration.cached))
        return found

    def case(self, size: str = "64B") -> tuple[CaseSpec, CasePlan, Drivers]:
        spec = simulated_case(traffic={"frame_size": size})
        drivers = Drivers(SimulatedSwitch(), self.machine)
        return spec, make_plan(spec, drivers, CpuTopology((Cpu(0), Cpu(1, core=1)))), drivers


@pytest.fixture(name="lab")
def fixture_lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "calibration.json")


def test_a_cap_is_measured_once_per_frame_size(lab: Lab) -> None:
    assert lab.run("64B", "128B", "64B") == [(1000, False), (2000, False), (1000, False)]
    assert lab.run("64B", "128B") == [(1000, True), (2000, True)]


def test_a_cap_is_that_of_the_file_that_is_replayed(lab: Lab, tmp_path: Path) -> None:
    """As it then was, whatever is there today."""
    file = tmp_path / "x.pcap"
    made, plan, drivers = lab.case()
    replay = Replay(file=str(file))
    spec = made.model_copy(update={"traffic": made.traffic.model_copy(update={"replay": replay})})
    caps = []
    for content in (None, b"one", b"another", None):
        if content is not None:
            file.write_bytes(content)
        found = Calibrator(cache=lab.cache).calibration(spec, plan, drivers, Nowhere())
        assert found is not None
        caps.append((found.cap_fps, found.cached))
    assert caps == [(1000, False), (2000, False), (3000, False), (3000, True)]
    assert lab.run() == [(4000, False)]


def test_a_cap_is_that_of_the_cpus_of_switch_and_generator_whoever_joins_them_later(
    lab: Lab,
) -> None:
    made, plan, drivers = lab.case()
    pvp = Topology(name="pvp", paths=(("phy0", "vm1", "phy1"),))
    with_vnf = made.model_copy(update={"topology": pvp})

    def placed(**cpus: tuple[int, ...]) -> CasePlan:
        placement = Placement(cpus={**plan.plan.placement.cpus, **cpus})
        return replace(plan, plan=plan.plan.model_copy(update={"placement": placement}))

    vnfs = {"vm1": (3,), "vm1 emulator": (4,)}
    found = [
        Calibrator(cache=lab.cache).calibration(spec, where, drivers, Nowhere())
        for spec, where in (
            (made, plan),
            (with_vnf, placed(**vnfs)),
            (with_vnf, placed(**vnfs, generator=(5,))),
        )
    ]
    assert [(one.cap_fps, one.cached) for one in found if one] == [
        (1000, False), (1000, True), (2000, False),
    ]  # fmt: skip


class Frugal(SimulatedSwitchSpec):
    """A switch whose ports offer less than others."""

    WITHHELD: ClassVar[tuple[str, ...]] = ("in_order",)


def test_a_cap_is_that_of_the_features_that_the_ports_of_the_switch_offer(lab: Lab) -> None:
    made, plan, drivers = lab.case()
    frugal = made.model_copy(update={"vswitch": Frugal.model_validate(made.vswitch.model_dump())})
    found = [
        Calibrator(cache=lab.cache).calibration(spec, plan, drivers, Nowhere())
        for spec in (made, frugal, made, frugal)
    ]
    assert [(one.cap_fps, one.cached) for one in found if one] == [
        (1000, False), (2000, False), (1000, True), (2000, True),
    ]  # fmt: skip


def test_it_does_not_depend_on_how_long_the_machine_is_watched(lab: Lab) -> None:
    made, plan, drivers = lab.case()
    told, names = [], []
    for stalls in ("1s", "100ms"):
        generator = TgenSpec.model_validate({"kind": "tgen", "stalls": stalls})
        spec = made.model_copy(update={"generator": generator})
        found = Calibrator(cache=lab.cache).calibration(spec, plan, drivers, Nowhere())
        assert found is not None
        told.append(found.cached)
        names.append(spec.measured())
    assert told == [False, True]
    assert names[0] == names[1], "a case is the same one, whatever is watched beside it"


def test_it_is_measured_anew_once_when_told_so(lab: Lab) -> None:
    lab.run()
    assert lab.run("64B", "64B", recalibrate=True) == [(2000, False), (2000, False)]
    assert lab.run() == [(2000, True)]


def test_it_is_measured_anew_after_a_day(lab: Lab) -> None:
    lab.machine.age = timedelta(hours=23)
    lab.run()
    assert lab.run() == [(1000, True)]
    lab.machine.age = timedelta(hours=25)
    lab.run(recalibrate=True)
    assert lab.run() == [(3000, False)]


def test_one_that_was_measured_in_the_future_is_not_believed(lab: Lab) -> None:
    lab.machine.age = timedelta(hours=-1)
    lab.run()
    lab.machine.age = timedelta()
    assert lab.run() == [(2000, False)]
    assert lab.run() == [(2000, True)]


@pytest.mark.parametrize(
    ("then", "now", "known"),
    [
        (120, 170, True),
        (120, 190, False),
        (190, 120, False),
        (120, None, True),
        (None, 120, True),
    ],
)
def test_it_is_measured_anew_when_the_cpus_were_moved(
    then: int | None, now: int | None, known: bool, lab: Lab
) -> None:
    lab.machine.distance_ns = then
    lab.run()
    lab.machine.distance_ns = now
    ((_, cached),) = lab.run()
    assert (cached, len(lab.machine.measured)) == (known, 1 if known else 2)


@pytest.mark.parametrize(("kept_ns", "known"), [(40_000_000, True), (550_000_000, False)])
def test_it_is_not_kept_for_the_next_run_where_others_had_the_cpus(
    kept_ns: int, known: bool, lab: Lab
) -> None:
    """It is for this run, whose cases find the same machine."""
    lab.machine.kept_ns = kept_ns
    assert lab.run("64B", "64B") == [(1000, False), (1000, False)]
    lab.machine.kept_ns = 0
    assert lab.run() == [(1000, True) if known else (2000, False)]


def test_whether_others_have_the_cpus_is_looked_at_when_a_cap_is_measured(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run lasts for minutes, and who came since its first case had this one's CPUs."""
    now_s = 1000.0
    monkeypatch.setattr("vsperf.engine.calibration.time.monotonic", lambda: now_s)
    calibrator = Calibrator(cache=lab.cache)
    calibrator.calibration(*lab.case("64B"), Nowhere())
    lab.machine.kept_ns = 550_000_000
    calibrator.calibration(*lab.case("128B"), Nowhere())  # by the look of a moment ago
    now_s += LOOKED_S + 1
    calibrator.calibration(*lab.case("256B"), Nowhere())
    lab.machine.kept_ns = 0
    assert lab.run("64B", "128B", "256B") == [(1000, True), (2000, True), (4000, False)]


def test_a_busy_machine_takes_none_away_that_was_kept_in_a_quiet_time(lab: Lab) -> None:
    lab.machine.caps = [CAP, CAP // 4]
    lab.run()
    lab.machine.kept_ns = 550_000_000
    assert lab.run(recalibrate=True) == [(CAP // 4, False)]
    assert lab.run() == [(CAP, True)]


def test_one_that_is_doubted_is_forgotten_and_the_others_are_not(lab: Lab) -> None:
    lab.run("64B", "128B")
    spec, plan, _ = lab.case("64B")
    calibrator = Calibrator(cache=lab.cache)
    doubted = calibrator.known(spec, plan)
    assert doubted is not None
    (said,) = calibrator.forget(spec, plan, doubted)
    assert said.startswith(f"the generator was calibrated at {doubted.measured_at} and may do more")
    assert lab.run("64B", "128B") == [(3000, False), (2000, True)]


@pytest.mark.parametrize(
    ("cached", "limit", "doubted"),
    [
        (True, Limit.GENERATOR, True),
        (True, Limit.DUT, False),
        (False, Limit.GENERATOR, False),
    ],
)
def test_a_result_at_a_cap_from_an_earlier_run_is_reason_to_doubt_it(
    cached: bool, limit: Limit, doubted: bool
) -> None:
    calibration = Calibration(
        frame_size=64, cap_fps=1000, method="made up", measured_at="", cpus=(0, 1), cached=cached
    )
    result = SearchResult(goals=(answered(1000, None, limit=limit),))
    assert outdated(calibration, result, ()) is doubted


@pytest.mark.parametrize(
    ("then_ns", "looks", "doubted"),
    [
        (400, [(390, 410), (90, 95)], True),
        (400, [(390, 410), (90, 410)], False),  # it was near for a part of the trial at most
        (95, [(90, 95), (390, 410)], False),
        (None, [(90, 95)], False),
        (400, [()], False),
    ],
)
def test_so_is_one_of_cpus_that_were_farther_apart_than_in_a_trial(
    then_ns: int | None, looks: list[tuple[int, ...]], doubted: bool
) -> None:
    calibration = Calibration(
        frame_size=64,
        cap_fps=1000,
        method="made up",
        measured_at="",
        cpus=(0, 1),
        round_trip_ns=then_ns,
    )
    result = SearchResult(goals=(answered(1000, None, limit=Limit.GENERATOR),))
    trials = [trial(place, round_trips_ns=ends) for place, ends in enumerate(looks, start=1)]
    assert outdated(calibration, result, trials) is doubted


def test_a_cap_that_was_doubted_and_is_no_higher_now_is_gone_by_as_before(lab: Lab) -> None:
    lab.machine.caps = [CAP, CAP // 4]
    calibrator, (spec, plan, drivers) = Calibrator(cache=lab.cache), lab.case()
    doubted = calibrator.calibration(spec, plan, drivers, Nowhere())
    assert doubted is not None
    calibrator.forget(spec, plan, doubted)
    now = calibrator.calibration(spec, plan, drivers, Nowhere())
    assert now is not None and now.cap_fps == CAP // 4
    calibrator.stand_by(spec, plan, doubted)
    assert calibrator.calibration(spec, plan, drivers, Nowhere()) == doubted
    assert len(lab.machine.measured) == 2


FALLEN = 118_600
CAP = 2_868_000


def test_a_cap_that_falls_absurdly_is_measured_again(lab: Lab) -> None:
    lab.machine.caps = [CAP, FALLEN, CAP - 1000]
    assert lab.run("64B", "128B") == [(CAP, False), (CAP - 1000, False)]


def test_one_that_stays_absurd_is_neither_believed_nor_kept(lab: Lab) -> None:
    lab.machine.caps = [CAP, *[FALLEN] * ATTEMPTS]
    with pytest.raises(InvalidTrialError) as refused:
        lab.run("64B", "128B")
    assert "118.6 kfps" in refused.value.with_why
    assert "2.868 Mfps" in refused.value.with_why
    lab.machine.caps = [CAP - 1000]
    assert lab.run("64B", "128B") == [(CAP, True), (CAP - 1000, False)]


def test_a_cap_is_held_against_the_one_that_it_replaces(lab: Lab) -> None:
    lab.run("64B")
    lab.machine.caps = [CAP]
    lab.run("64B", recalibrate=True)
    lab.machine.distance_ns = 1000
    lab.machine.caps = [*[FALLEN] * ATTEMPTS]
    with pytest.raises(InvalidTrialError):
        lab.run("64B")
    lab.machine.caps = [FALLEN]
    assert lab.run("64B", recalibrate=True) == [(FALLEN, False)], "who says so is believed"


def test_long_frames_may_be_as_many_fewer_as_they_are_longer(lab: Lab) -> None:
    lab.machine.caps = [CAP, CAP * 64 // 1518]
    assert lab.run("64B", "1518B") == [(CAP, False), (CAP * 64 // 1518, False)]


def test_the_first_cap_of_a_run_is_held_against_those_of_earlier_runs_at_the_place(
    lab: Lab,
) -> None:
    lab.machine.caps = [CAP]
    lab.run("64B")
    lab.machine.caps = [FALLEN, CAP - 1000]
    assert lab.run("128B") == [(CAP - 1000, False)]
    lab.machine.caps = [FALLEN]
    assert lab.run("256B", recalibrate=True) == [(FALLEN, False)], "they are to be forgotten"


def test_one_of_another_place_says_nothing(lab: Lab) -> None:
    lab.machine.caps = [CAP, FALLEN]
    lab.run("64B")
    spec, plan, drivers = lab.case("128B")
    placement = Placement(cpus={**plan.plan.placement.cpus, "generator": (5,)})
    elsewhere = replace(plan, plan=plan.plan.model_copy(update={"placement": placement}))
    found = Calibrator(cache=lab.cache).calibration(spec, elsewhere, drivers, Nowhere())
    assert found is not None
    assert found.cap_fps == FALLEN


def test_that_cases_went_by_a_cap_that_had_fallen_is_told_once(lab: Lab) -> None:
    lab.machine.caps = [FALLEN, CAP, CAP]
    told: list[Mapping[str, str]] = []
    calibrator, after = Calibrator(cache=lab.cache, refute=told.append), []
    for size in ("128B", "64B", "256B"):
        calibrator.calibration(*lab.case(size), Nowhere())
        after.append(len(told))
    assert after == [0, 1, 1]
    ((key, doubt),) = told[0].items()
    assert key == cap_key(*lab.case("128B")[:2])
    assert "118.6 kfps" in doubt


def test_so_is_one_of_an_earlier_run_that_cases_of_this_one_went_by(lab: Lab) -> None:
    lab.machine.caps = [FALLEN]
    lab.run("128B")
    lab.run("256B", recalibrate=True)  # a run of its own, that no case of the next one goes by
    lab.machine.caps = [CAP]
    told: list[Mapping[str, str]] = []
    calibrator = Calibrator(cache=lab.cache, refute=told.append)
    for size in ("128B", "64B"):
        calibrator.calibration(*lab.case(size), Nowhere())
    assert [list(one) for one in told] == [[cap_key(*lab.case("128B")[:2])]]


@pytest.mark.parametrize("recalibrate", [False, True])
def test_so_is_one_that_a_case_went_by_before_the_run_was_resumed(
    lab: Lab, recalibrate: bool
) -> None:
    lab.machine.caps = [CAP]
    told: list[Mapping[str, str]] = []
    calibrator = Calibrator(recalibrate, cache=lab.cache, refute=told.append)
    spec, plan, _ = lab.case("128B")
    fallen = Calibration(
        frame_size=128, cap_fps=FALLEN, method="", measured_at="2026-01-01T00:00:00Z", cpus=()
    )
    calibrator.gone_by_before(spec, plan, fallen)
    calibrator.calibration(*lab.case("64B"), Nowhere())
    assert [list(one) for one in told] == [[cap_key(spec, plan)]]


def test_the_first_cap_of_a_run_is_not_kept_where_a_later_one_shows_that_it_had_fallen(
    lab: Lab,
) -> None:
    lab.machine.caps = [FALLEN, CAP]
    assert lab.run("64B", "128B") == [(FALLEN, False), (CAP, False)]
    lab.machine.caps = [CAP]
    assert lab.run("64B", "128B") == [(CAP, False), (CAP, True)]


@pytest.mark.parametrize("fps", [0, 1_000_000], ids=["nothing came", "some came"])
def test_what_came_before_the_mirror_died_is_no_cap(
    fps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = SimpleNamespace(ports=lambda: [0, 1], round_trip_ns=lambda cpus: 90)
    came = {"distinct": fps, "sending_ns": 10**9, "sent": 10**6, "received": fps}
    monkeypatch.setattr(cap, "loop", lambda *_, **__: nullcontext(("net_a", "net_b")))
    monkeypatch.setattr(cap, "at_hand", lambda *_: nullcontext(ports))
    monkeypatch.setattr(cap, "trial", lambda *_: {"streams": [came]})
    place = Nowhere()
    if fps:
        assert cap.measure_cap(simulated_case(), Options(), 1, (1,), place) == (fps, 90)
    place.parts["mirror"] = lambda: "was killed by SIGKILL"
    with pytest.raises(DiedError, match="mirror was lost while"):
        cap.measure_cap(simulated_case(), Options(), 1, (1,), place)


def test_a_cap_is_told_with_where_the_cpus_were_when_it_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each attempt is between two looks; the one of the better attempt that was nearer counts."""
    looks, rates = iter([400, 410, 90]), iter([2_000_000, 5_000_000])
    ports = SimpleNamespace(ports=lambda: [0, 1], round_trip_ns=lambda cpus: next(looks))

    def trial(*_: object) -> dict[str, object]:
        return {"streams": [{"distinct": next(rates), "sending_ns": 10**9}]}

    monkeypatch.setattr(cap, "loop", lambda *_, **__: nullcontext(("net_a", "net_b")))
    monkeypatch.setattr(cap, "at_hand", lambda *_: nullcontext(ports))
    monkeypatch.setattr(cap, "trial", trial)
    assert cap.measure_cap(simulated_case(), Options(), 1, (1,), Nowhere()) == (5_000_000, 90)


# The rate per core of a generator: computed from its calibration, and never stored.

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
RUNS = sorted(run.parent for run in GOLDEN.glob("*/records.jsonl"))


def calibration(*cpus: int) -> Calibration:
    """Return what was found on these CPUs, of which the last one was the mirror's."""
    return Calibration(
        frame_size=64, cap_fps=9_000_001, method="a mirror", measured_at=TIME, cpus=cpus
    )


@pytest.mark.parametrize(("cpus", "rate"), [((0, 1), 9_000_001), ((0, 2, 1), 4_500_000)])
def test_it_is_the_cap_divided_by_the_cpus_of_the_generator(
    cpus: tuple[int, ...], rate: int
) -> None:
    assert calibration(*cpus).per_cpu_fps == rate


@pytest.mark.parametrize("cpus", [(), (1,)])
def test_there_is_none_where_the_generator_has_no_cpu(cpus: tuple[int, ...]) -> None:
    assert calibration(*cpus).per_cpu_fps is None


def test_it_is_not_stored() -> None:
    assert "per_cpu_fps" not in calibration(0, 1).model_dump()


def test_records_have_it() -> None:
    found = [
        around.calibration
        for run in RUNS
        for case in views(run)
        if case.record is not None and (around := case.record.conditions) is not None
    ]
    known = [one for one in found if one is not None]
    assert known
    for one in known:
        assert one.per_cpu_fps == one.cap_fps  # they were all made with one worker


def test_a_report_says_it_of_several_cpus() -> None:
    (cap,) = found_of(Conditions(calibration=calibration(0, 2, 1)))
    assert cap.value.endswith("; 4.500 Mfps for each of its 2 CPUs")


def test_a_report_does_not_say_the_cap_of_one_cpu_twice() -> None:
    (cap,) = found_of(Conditions(calibration=calibration(0, 1)))
    assert "CPUs" not in cap.value


def test_calibration_by_hand_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    one = FoundByHand(
        frame_size=64,
        directions=2,
        maximum_fps=8_000_000,
        loss_free_lower_fps=7_000_000,
        loss_free_upper_fps=7_100_000,
        floor_min_ns=100,
        floor_p50_ns=200,
        floor_p99_ns=300,
        workers=4,
        per_cpu_fps=2_000_000,
    )
    print_calibrations([one])
    shown = capsys.readouterr().out
    assert "per CPU" in shown
    assert "2.000 Mfps" in shown
