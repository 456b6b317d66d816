"""Runs that ask several deployments: from the command line to the record, and what is shown."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from all_wrong import none_wrong
from assertions import known
from click.testing import Result
from reread import of_runs
from simulated_cases import LEFT, leaving
from test_paired_runs import shown, stored, vsperf

from vsperf.analysis.comparison import compare
from vsperf.analysis.sides import side
from vsperf.deploy.deployment import deploy
from vsperf.engine import case as engine_case
from vsperf.engine import draws as engine_draws
from vsperf.engine.assignment import CaseRun
from vsperf.errors import ComponentError, NotReadyError
from vsperf.quantities.units import FrameSize
from vsperf.records.files.folders import resolve, run_folders
from vsperf.records.flags import Flag
from vsperf.records.result import Draws, GoalResult, Limit
from vsperf.records.trial import Purpose, Trial
from vsperf.search import draws as search_draws
from vsperf.search.verdict import Question, answer
from vsperf.simulation.restless import Restless, RestlessHost
from vsperf.simulation.switch import Offer, SwitchModel

IDEAL = "{kind: sim, capacity: 5Mpps, behaviour: {kind: ideal}, draw: 4%}"


def run(results: Path, *more: str, draws: int = 3) -> Result:
    where = ("--testbed", "sim", "--results", str(results), "--progress", "plain")
    asked = ("--set", "traffic.frame_size=64B", "--set", f"vswitch={IDEAL}")
    wanted = ("--set", f"search.draws={draws}") if draws > 1 else ()
    return vsperf("run", "phy2phy_tput", *where, *asked, *wanted, *more)


def drawn(results: Path, goal: str = "ndr") -> Draws:
    record = known(stored(results).record)
    assert record.result is not None
    found = known(next(one for one in record.result.goals if one.goal == goal).draws)
    return found


def truths(results: Path, deployments: int, seed: int = 1) -> list[int]:
    """Return the capacity of each deployment, as the model has it."""
    start = known(stored(results).start)
    model = SwitchModel.at(start.plan.endpoints[0].address)
    offer = Offer(FrameSize(64))
    found = []
    for number in range(deployments):
        ways = model.true_capacity_fps(offer, seed=seed + engine_draws.SEED_STEP * number)
        found.append(min(way.crossings[0].lower_fps or 0 for way in ways))
    return found


def test_the_answer_holds_what_each_deployment_can_do(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 0, done.output
    draws, capacities = drawn(tmp_path), truths(tmp_path, 3)
    assert len({*capacities}) == 3
    for one, capacity in zip(draws.made, capacities, strict=True):
        assert (one.lower_fps or 0) <= capacity <= (one.upper_fps or 0)
    assert (draws.lower_fps or 0) <= min(capacities)
    assert max(capacities) <= (draws.upper_fps or 0)


def test_each_trial_says_on_which_deployment_it_was_made(tmp_path: Path) -> None:
    run(tmp_path)
    trials = stored(tmp_path).trials
    assert [one.index for one in trials] == list(range(1, len(trials) + 1))
    assert {one.deployment for one in trials} == {1, 2, 3}
    assert {one.purpose for one in trials if one.deployment == 1}.isdisjoint({Purpose.DRAW})
    for number in (2, 3):
        made = [one.purpose for one in trials if one.deployment == number]
        assert made[:2] == [Purpose.PATH_CHECK, Purpose.WARM_UP]
        assert {*made[2:]} == {Purpose.DRAW}


def test_another_program_finds_the_same_in_the_records(tmp_path: Path) -> None:
    run(tmp_path)
    found = list(of_runs([resolve(tmp_path, "latest")]))
    assert {name for _, name, _ in found} >= {"ndr on deployment 3", "pdr over deployments"}
    none_wrong(f"{case} {name}: {text}" for case, name, said in found for text in said)


def test_the_first_deployment_is_judged_as_if_there_was_no_other(tmp_path: Path) -> None:
    run(tmp_path / "one", draws=1)
    run(tmp_path / "three")
    alone, among = stored(tmp_path / "one").record, stored(tmp_path / "three").record
    assert alone is not None
    assert among is not None
    assert among.flags == alone.flags
    assert among.compliance == alone.compliance
    assert among.case == alone.case, "what is asked is the same, on more deployments"
    assert alone.result is not None
    assert among.result is not None
    bare = [one.model_copy(update={"draws": None}) for one in among.result.goals]
    assert bare == list(alone.result.goals)


def test_what_the_machine_did_on_other_deployments_is_no_doubt_of_the_first(tmp_path: Path) -> None:
    """Each is near or far for good: a deployment in another regime than the first tells nothing."""
    moved = {"far": "75%", "near_lasts": "10h", "far_lasts": "10h"}
    given = [f"generator.host.{name}={text}" for name, text in moved.items()]
    done = run(tmp_path, *(part for one in given for part in ("--set", one)), draws=6)
    assert done.exit_code == 0, done.output
    record, trials = stored(tmp_path).record, stored(tmp_path).trials
    assert record is not None
    trips = {trip > 200 for one in trials for trip in one.round_trips_ns}
    assert trips == {True, False}, "the seed has both"
    assert Flag.CORES_MOVED not in record.flags
    untold = [one for one in drawn(tmp_path).made if not one.told]
    assert untold
    assert all("not as on the first deployment" in one.reason for one in untold)


def test_where_no_other_deployment_has_an_answer_it_is_said_why(tmp_path: Path) -> None:
    moved = {"far": "75%", "near_lasts": "10h", "far_lasts": "10h"}
    model = Restless.model_validate(moved)
    step = engine_draws.SEED_STEP
    apart = (
        n for n in range(100) if RestlessHost(model, n).near != RestlessHost(model, n + step).near
    )
    given = [f"host.{name}={text}" for name, text in moved.items()] + [f"seed={next(apart)}"]
    done = run(tmp_path, *(p for one in given for p in ("--set", f"generator.{one}")), draws=2)
    assert not drawn(tmp_path).made[1].told
    assert "no ndr over 2 deployments: on number 2, its CPUs were" in " ".join(done.output.split())


def test_the_interval_over_deployments_is_shown_beside_that_of_one(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert " over 3" in done.output
    said = " ".join(done.output.split())
    assert "each deployment is a draw of its own" in said
    assert "one more lies beyond these in about 50% of cases" in said
    assert "one-draw" not in done.output
    assert "ndr on deployment 3: " in shown(tmp_path, "64B")


def test_one_deployment_is_said_to_be_one_draw_once(tmp_path: Path) -> None:
    done = run(tmp_path, draws=1)
    assert " ".join(done.output.split()).count("one-draw") == 1
    document = json.loads(shown(tmp_path, "--json"))
    assert document["cases"][0]["goals"][0]["draws"] is None


def test_tables_have_them(tmp_path: Path) -> None:
    run(tmp_path)
    out = tmp_path / "tables"
    done = vsperf("export", "csv", "latest", "--results", str(tmp_path), "-o", str(out))
    assert done.exit_code == 0, done.output
    (cells,) = csv.DictReader((out / "cases.csv").read_text().splitlines())
    rows = csv.DictReader((out / "trials.csv").read_text().splitlines())
    assert {row["deployment"] for row in rows} == {"1", "2", "3"}
    draws = drawn(tmp_path)
    assert cells["ndr_draws_count"] == "3"
    assert cells["ndr_draws_lower_fps"] == str(draws.lower_fps)
    assert cells["ndr_draws_upper_fps"] == str(draws.upper_fps)


def test_a_report_says_what_each_deployment_came_to(tmp_path: Path) -> None:
    run(tmp_path)
    out = tmp_path / "page.html"
    done = vsperf("report", "latest", "--results", str(tmp_path), "-o", str(out))
    assert done.exit_code == 0, done.output
    page = out.read_text()
    assert "on several deployments" in page
    assert "over 3" in page


def test_a_report_of_one_deployment_says_that_it_is_one_draw(tmp_path: Path) -> None:
    run(tmp_path, draws=1)
    out = tmp_path / "page.html"
    vsperf("report", "latest", "--results", str(tmp_path), "-o", str(out))
    assert "The interval is that of one deployment, one draw" in out.read_text()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ComponentError("the switch did not come up"), "the switch did not come up"),
        (NotReadyError("no hugepages"), "no hugepages"),
        (OSError(28, "No space left on device"), "the system refused: No space left on device"),
    ],
    ids=["failed", "not ready", "refused"],
)
def test_a_deployment_that_fails_takes_nothing_back(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = deploy

    def fails_the_second_time(*parts: Any) -> Any:
        if len(calls) == 1:
            raise error
        calls.append(parts)
        return made(*parts)

    calls: list[Any] = []
    monkeypatch.setattr(engine_draws, "deploy", fails_the_second_time)
    done = run(tmp_path)
    assert done.exit_code == 0, done.output
    record = known(stored(tmp_path).record)
    assert f"2 of 3 deployments were asked: {said}" in record.warnings
    assert len(drawn(tmp_path).made) == 2


def test_where_the_last_deployment_is_not_reached_it_is_said_that_none_stays_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*parts: Any) -> Any:
        raise ComponentError("the switch did not come up")

    def kept(of_case: CaseRun, *parts: Any) -> Any:
        """As of a real one: nothing of a model can stay up."""
        return asked(replace(of_case, keep=lambda: True), *parts)

    asked = engine_draws.ask_again
    monkeypatch.setattr(engine_case, "ask_again", kept)
    monkeypatch.setattr(engine_draws, "deploy", fails)
    run(tmp_path)
    record = known(stored(tmp_path).record)
    why = "the switch did not come up; none of them stays up"
    assert f"1 of 3 deployments were asked: {why}" in record.warnings


@pytest.mark.parametrize(
    ("whose", "asked", "why"),
    [
        (1, 1, "nothing is measured beside one that was not taken down in order"),
        (2, 2, "nothing is measured beside one that was not taken down in order"),
        (3, 3, ""),
    ],
)
def test_what_a_deployment_leaves_takes_nothing_back_and_none_is_made_beside_it(
    whose: int, asked: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving(monkeypatch, whose)
    done = run(tmp_path)
    assert done.exit_code == 6, done.output
    record = known(stored(tmp_path).record)
    assert record.result is not None
    assert {one.deployment for one in stored(tmp_path).trials} == set(range(1, asked + 1))
    assert (f"{asked} of 3 deployments were asked: {why}" in record.warnings) is (why != "")
    assert record.warnings[-1].startswith(
        f"after all was measured: something of a run is left on this machine: {LEFT}"
    )


def test_one_that_fails_and_leaves_something_takes_nothing_back_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*parts: Any) -> Any:
        raise ComponentError("the switch did not come up")

    monkeypatch.setattr(engine_draws, "deploy", fails)
    leaving(monkeypatch, 2)
    done = run(tmp_path)
    assert done.exit_code == 6, done.output
    record = known(stored(tmp_path).record)
    assert record.result is not None
    assert "1 of 3 deployments were asked: something of a run is left" in record.warnings[-2]
    assert "and before that: the switch did not come up" in record.warnings[-1]


def test_where_the_answer_is_not_the_switchs_nothing_is_deployed_again(tmp_path: Path) -> None:
    done = run(tmp_path, "--budget", "5s")
    record = stored(tmp_path).record
    assert record is not None, done.output
    assert {one.deployment for one in stored(tmp_path).trials} == {1}
    assert any(one.startswith("no further deployment was asked") for one in record.warnings)


def test_a_time_that_ends_leaves_what_deployments_there_are(tmp_path: Path) -> None:
    done = run(tmp_path, "--budget", "60s", draws=20)
    assert done.exit_code == 0, done.output
    record = known(stored(tmp_path).record)
    assert any("of 20 deployments were asked" in one for one in record.warnings)
    assert 1 < len(drawn(tmp_path).made) < 20


def test_a_time_that_ends_in_doubt_leaves_them_as_well_and_none_is_deployed_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the time was not clean either, it is not what limits the answer on the last one."""

    def in_doubt(question: Question, trials: Sequence[Trial]) -> GoalResult:
        found = answer(question, trials)
        ended = found.limit is Limit.BUDGET
        return found.model_copy(update={"limit": Limit.UNKNOWN}) if ended else found

    monkeypatch.setattr(search_draws, "answer", in_doubt)
    done = run(tmp_path, "--budget", "55s", draws=20)
    assert done.exit_code == 0, done.output
    made = drawn(tmp_path).made
    last = {drawn(tmp_path, goal).made[-1].limit for goal in ("ndr", "pdr")}
    assert Limit.UNKNOWN in last
    told = f"{len(made)} of 20 deployments were asked: the time would not suffice"
    assert told in known(stored(tmp_path).record).warnings


def test_more_deployments_are_expected_to_take_longer(tmp_path: Path) -> None:
    def seconds(draws: int) -> float:
        asked = ("--testbed", "sim", "--set", "traffic.frame_size=64B", "--json")
        done = vsperf("plan", "phy2phy_tput", *asked, "--set", f"search.draws={draws}")
        (case,) = json.loads(done.output)
        return float(case["estimate"]["seconds"])

    assert seconds(5) > seconds(1) + 4 * 5


def test_a_switch_that_others_deploy_is_not_drawn_again(tmp_path: Path) -> None:
    done = vsperf(
        *("plan", "phy2phy_tput", "--testbed", "sim", "--vswitch", "external"),
        *("--set", "search.draws=3"),
    )
    assert done.exit_code != 0
    assert "a switch that others deploy is not made anew" in " ".join(done.output.split())


# Runs that asked several deployments, held against each other: their scatter is that of draws.


def measured(results: Path, *more: str, draws: int = 5, fps: str = "5Mpps", seed: int = 1) -> str:
    """Make a run and return its name."""
    switch = f"{{kind: sim, capacity: {fps}, behaviour: {{kind: ideal}}, draw: 4%}}"
    given = ("--set", f"vswitch={switch}", "--set", f"generator.seed={seed}")
    done = run(results, *given, *more, draws=draws)
    assert done.exit_code == 0, done.output
    return next(iter(sorted(run_folders(results), key=lambda one: -one.stat().st_mtime))).name


def compared(results: Path, *sides: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the changes by number, and the notes."""
    done = vsperf("compare", *sides, "--results", str(results), "--json", "--anyway")
    document = json.loads(done.output)
    rows = {row["number"]: row["changes"][0] for row in document["rows"]}
    return rows, " ".join(document["notes"])


def test_a_difference_within_the_scatter_of_draws_is_none(tmp_path: Path) -> None:
    one, other = measured(tmp_path), measured(tmp_path, seed=50)
    rows, _ = compared(tmp_path, one, other)
    assert rows["ndr over draws"]["by"] == "ranks"
    assert rows["ndr over draws"]["change"] == "none"


def test_it_is_deployments_that_are_held_against_each_other_where_both_have_several(
    tmp_path: Path,
) -> None:
    rows, _ = compared(tmp_path, measured(tmp_path), measured(tmp_path, seed=50))
    assert rows["ndr"] is None


def test_a_difference_beyond_it_is_found(tmp_path: Path) -> None:
    rows, _ = compared(tmp_path, measured(tmp_path), measured(tmp_path, fps="4Mpps", seed=50))
    assert rows["ndr over draws"]["change"] == "down"
    assert rows["ndr over draws"]["worse"]


def test_draws_of_one_side_widen_what_the_other_found_once(tmp_path: Path) -> None:
    """Seeds 1 and 50: 7 % apart by the draw alone, and one percent of width each."""
    several, once = measured(tmp_path), measured(tmp_path, draws=1, seed=50, fps="4.6Mpps")
    rows, _ = compared(tmp_path, several, once)
    assert rows["ndr"]["by"] == "scatter"
    assert rows["ndr"]["change"] == "none"


def test_a_deployment_counts_once_where_a_case_is_repeated(tmp_path: Path) -> None:
    """Three of them in each of two repeats are six: the first of each is what `ndr` says, too."""
    several = measured(tmp_path, "--repeat", "2", draws=3)
    once = measured(tmp_path, draws=1, seed=50)
    found = compare([side(tmp_path, name) for name in (several, once)], anyway=True)
    assert (found.scatters["ndr over draws"].freedom, found.scatters["ndr"].freedom) == (5, 5)


def test_where_both_are_one_deployment_nothing_is_said_of_the_draw(tmp_path: Path) -> None:
    one, other = (measured(tmp_path, draws=1, seed=seed) for seed in (1, 50))
    rows, notes = compared(tmp_path, one, other)
    assert rows["ndr"]["by"] == "intervals"
    assert "each side is one deployment, one draw" in notes


def test_repeats_are_draws(tmp_path: Path) -> None:
    one = measured(tmp_path, "--repeat", "5", draws=1)
    other = measured(tmp_path, "--repeat", "5", draws=1, seed=50)
    rows, notes = compared(tmp_path, one, other)
    assert rows["ndr"]["by"] == "ranks"
    assert rows["ndr"]["change"] == "none"
    assert "one draw" not in notes


@pytest.mark.parametrize("goal", ["ndr", "pdr"])
def test_a_trend_has_them(tmp_path: Path, goal: str) -> None:
    measured(tmp_path)
    measured(tmp_path, seed=50)
    done = vsperf("trend", "phy2phy_tput", "--results", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    told = {one["number"] for one in json.loads(done.output)}
    assert f"{goal} over draws" in told
    text = vsperf("trend", "phy2phy_tput", "--results", str(tmp_path), "--metric", goal)
    assert "it is the draw of one deployment of several: see it over draws" in text.output
