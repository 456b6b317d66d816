"""What methods print beside goals is read again from the trials, and what differs is told.

Each is carried out on the simulated testbed, as a user does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from all_wrong import none_wrong
from bench_models import LOADS, FluidBench, method
from conftest import REPOSITORY
from record_samples import given_load
from reread import answers, of_runs, unread
from reread_figures import own_curves, own_figures
from reread_trials import Measured, since_check
from search_models import lossy

from vsperf.cli.main import run_cli
from vsperf.methods.base import PLAIN, TrialOptions
from vsperf.methods.soak import Hours
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.view import CaseView, views
from vsperf.records.result import Limit, SearchResult
from vsperf.records.trial import Purpose, Trial

SIMULATED = ["--testbed", "sim", "--preset", "quick", "--anyway", "--progress", "quiet"]
FRAMES = "traffic.frame_size=64B"
GIVEN = "search.throughput=3Mfps"
WITH_FIGURES: Mapping[str, tuple[str, ...]] = {
    "phy2phy_back2back": ("vswitch.behaviour.kind=buffered", "search.repeats=3"),
    "phy2phy_broadcast": (),
    "phy2phy_caching": ("vswitch.address_table=777",),
    "phy2phy_flow_setup": (),
    "phy2phy_forwarding": (),
    "phy2phy_latency": (GIVEN, "search.repeats=3"),
    "phy2phy_learning": ("vswitch.learns=20kfps",),
    "phy2phy_loss": (),
    "phy2phy_recovery": (
        "vswitch.behaviour.kind=buffered",
        "vswitch.behaviour.recovery=100ms",
        "search.repeats=3",
    ),
    "phy2phy_reset": (GIVEN,),
    "phy2phy_soak": (
        "search.duration=40s",
        "search.throughput=6.2Mfps",
        "search.load=100%",
        "vswitch.behaviour.kind=noisy",
    ),
    "phy2phy_wake_up": (GIVEN,),
}
GOLDEN = REPOSITORY / "tests" / "golden" / "records"
TOLD_BEFORE = {"loss_events", "over_time", "losses"}
"""What samples of soaks say of frames that a full port took later: their vsperf held them lost."""


@pytest.fixture(name="results", autouse=True)
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSPERF_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def runs_in(results: Path) -> list[Path]:
    return sorted(one for one in results.iterdir() if one.name.startswith("20"))


def measured(results: Path, testcase: str, *settings: str) -> CaseView:
    told = [part for one in (FRAMES, *settings) for part in ("--set", one)]
    run_cli(["run", testcase, *SIMULATED, *told])
    (folder,) = runs_in(results)
    (case,) = views(folder)
    return case


def against(case: CaseView, result: SearchResult) -> list[str]:
    read = answers(case.planned.spec["search"], case.trials, result, case.seconds)
    return [f"{name}: {text}" for name, told in read for text in told]


def changed(result: SearchResult) -> Iterator[tuple[str, SearchResult]]:
    """Yield the result with each of its figures and curves another one."""
    for number, one in enumerate(result.figures):
        other = one.model_copy(update={"value": 1.01 * one.value + 1 if one.value else 1.0})
        told = (*result.figures[:number], other, *result.figures[number + 1 :])
        yield one.name, result.model_copy(update={"figures": told})
    for number, curve in enumerate(result.curves):
        rows = curve.model_copy(update={"points": curve.points[:-1]})
        drawn = (*result.curves[:number], rows, *result.curves[number + 1 :])
        yield curve.name, result.model_copy(update={"curves": drawn})


@pytest.mark.parametrize("testcase", WITH_FIGURES)
def test_trials_of_every_method_come_to_what_was_printed_and_to_nothing_else(
    testcase: str, results: Path
) -> None:
    case = measured(results, testcase, *WITH_FIGURES[testcase])
    assert case.result is not None
    assert any(one.value is not None for one in case.result.figures)
    assert unread(case.planned.spec["search"], case.result) == 0
    assert against(case, case.result) == []
    none_wrong(name for name, other in changed(case.result) if not against(case, other))


def test_a_repeat_that_was_left_out_is_told(results: Path) -> None:
    case = measured(results, "phy2phy_latency", GIVEN, "search.repeats=3")
    assert case.result is not None
    trials = case.trials[:-1]
    told = dict(answers(case.planned.spec["search"], trials, case.result))
    assert "number of repeats printed 3, by all trials 2" in told["typical_latency"]


@pytest.mark.parametrize("given", ["20%", "2Gbps_l1", "1.5Gbps_l2"])
def test_a_throughput_that_is_given_as_a_share_or_in_bits_is_read_again_too(
    given: str, results: Path
) -> None:
    buffered = "vswitch.behaviour.kind=buffered"
    measured(results, "phy2phy_back2back", buffered, f"search.throughput={given}")
    left: Counter[str] = Counter()
    read = {name: told for _, name, told in of_runs(runs_in(results), left)}
    assert left.total() == 0
    assert {"burst", "implied_buffer_time", "buffer_time", "buffered"} <= read.keys()
    assert not any(read.values()), read


def test_that_nothing_is_printed_of_what_trials_come_to_is_told(results: Path) -> None:
    case = measured(results, "phy2phy_forwarding")
    assert case.result is not None
    less = case.result.model_copy(update={"figures": case.result.figures[:1]})
    (told,) = against(case, less)
    assert told.startswith("frmol: nothing printed, by all trials ")


def test_a_sweep_that_goes_on_or_ends_too_early_is_told(results: Path) -> None:
    case = measured(results, "phy2phy_loss", "search.step=5%")
    assert case.result is not None
    search = case.planned.spec["search"]
    last = case.trials[-1]
    more = last.model_copy(update={"load_fps": last.load_fps - 1})
    for trials, text in (
        ([*case.trials, more], "it went on after it had what it looks for"),
        (case.trials[:-1], "it ended before it had what it looks for"),
    ):
        assert text in dict(answers(search, trials, case.result))["loads"]


def test_what_came_through_at_a_given_load_is_read_again() -> None:
    printed = given_load(1000, throughput_fps=999, limit=Limit.SETTING)
    result = SearchResult(loads=(printed,))
    ((_, told),) = answers({"kind": "fixed", "loss_ratio": "0"}, [lossy(1000, 1)], result)
    assert told == ("through printed 999, by all trials 1,000",)


def test_trials_on_a_deployment_that_died_say_nothing_of_the_answer() -> None:
    dead, check, made = (
        lossy(1000, 1),
        lossy(1000, 1).model_copy(update={"purpose": Purpose.PATH_CHECK}),
        lossy(2000, 1),
    )
    assert since_check([check, dead, check, made]) == [made]


def test_golden_soaks_are_refuted_where_their_vsperf_was_wrong() -> None:
    folders = sorted(path.parent for path in GOLDEN.rglob("*soak*/*.jsonl"))
    wrong = {name for _, name, told in of_runs(folders) if told}
    assert wrong == TOLD_BEFORE


def test_seconds_of_golden_soaks_come_to_what_is_told_of_them_today() -> None:
    folders = sorted(path.parent for path in GOLDEN.rglob("*soak*/*.jsonl"))
    assert folders
    for folder in folders:
        for case in views(folder):
            search, trial = case.planned.spec["search"], case.trials[-1]
            hours = Hours(trial.duration_ns, search["events"], trial.load_fps)
            for second in case.seconds:
                hours.add(second)
            hours.settle(trial.lost_frames)
            own = Measured(search, [], case.trials, tuple(case.seconds), None, whole=True)
            assert own_figures(own)["loss_events"].value == hours.events_seen
            lost = [row[1] for row in own_curves(own)["over_time"]]
            assert lost == [part.lost for part in hours.parts if part.seconds]


@dataclass
class ChurningBench(FluidBench):
    """Forwards less beside changes of rules."""

    changes: list[int] = field(default_factory=list)

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        self.capacity_fps = 8_000_000 - 1000 * options.rules_per_second
        made = super().trial(load_fps, duration_ns, options)
        changed = options.rules_per_second * duration_ns // NANOSECONDS
        self.made[-1] = made.model_copy(update={"rules_changed": changed})
        return self.made[-1]


def test_what_changes_of_rules_leave_is_read_from_the_trials_beside_each_number_of_them() -> None:
    bench = ChurningBench(0)
    told: dict[str, Any] = {
        "rules_per_second": [100, 1000],
        "throughput_duration": "1s",
        "throughput_sum": "1s",
    }
    asked = method("churn", **told)
    result = asked.run(bench)
    search = asked.model_dump(mode="json")
    assert unread(search, result) == 0
    read = dict(answers(search, bench.made, result))
    assert read == {"throughput": (), "throughput_beside_changes": (), "kept": ()}
    (curve,) = result.curves
    quiet, first, (wanted, changes, passed, *rest) = curve.points
    assert passed is not None
    moved = curve.model_copy(
        update={"points": (quiet, first, (wanted, changes, passed + 1, *rest))}
    )
    others = dict(changed(result)) | {curve.name: result.model_copy(update={"curves": (moved,)})}
    for name, other in others.items():
        assert dict(answers(search, bench.made, other))[name]


def test_how_much_of_an_overload_was_offered_is_read_again() -> None:
    given = 5_000_000
    loads = replace(LOADS, reference=given, maximum=5_200_000)
    bench = FluidBench(given, recovery_ns=1_000_000, loads=loads)
    asked = method("recovery", throughput=f"{given}fps")
    result = asked.run(bench)
    search = asked.model_dump(mode="json")
    assert dict(answers(search, bench.made, result)) == {"recovery_time": (), "overload_share": ()}
    assert unread(search, result) == 0
    for name, other in changed(result):
        assert dict(answers(search, bench.made, other))[name]


def test_changes_of_rules_that_the_time_ended_before_are_no_difference() -> None:
    """What is left is told of the most changes that were made, and the quiet row beside them."""
    told: dict[str, Any] = {
        "rules_per_second": [100, 1000],
        "throughput_duration": "1s",
        "throughput_sum": "1s",
    }
    bench = ChurningBench(0)
    asked = method("churn", **told)
    result = asked.run(bench)
    whole = [one for one in bench.made if one.reference != "beside 1000 rules/s"]
    (curve,) = result.curves
    (kept,) = result.figures
    quiet, first, _ = curve.points
    ended = result.model_copy(
        update={
            "figures": (kept.model_copy(update={"value": first[-1]}),),
            "curves": (curve.model_copy(update={"points": (quiet, first)}),),
            "complete": False,
        }
    )
    search = asked.model_dump(mode="json")
    assert not any(against for _, against in answers(search, whole, ended))
    passed = (*quiet[:2], (quiet[2] or 0) + 1, *quiet[3:])
    moved = curve.model_copy(update={"points": (passed, first)})
    forged = ended.model_copy(update={"curves": (moved,)})
    assert dict(answers(search, whole, forged))[curve.name]
