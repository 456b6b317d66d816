"""A program that shares no code with the searches finds in stored trials what was printed of them.

Switches and machines of all models that searches are held against, by each search, over seeds.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from all_methods import METHODS
from all_wrong import none_wrong
from bench_models import method
from conftest import REPOSITORY
from coverage import RANGE, SEARCHES, of_a_model, searched
from coverage_models import MODELS
from record_samples import given_load, lossy_load
from record_samples import goal as answered
from reread import answers, of_runs, runs_in, unread, with_surplus
from reread_goals import Is, Weighed, as_it_is, counted, goals_of
from reread_names import CURVES, FIGURES, READ, UNTOLD, reads
from search_models import lossy, trial, way

from vsperf.errors import ComponentError
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.folders import RECORDS
from vsperf.records.flags import Flag
from vsperf.records.result import (
    CleanResult,
    Curve,
    Draw,
    Draws,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    RegimeResult,
    SearchResult,
    Spread,
)
from vsperf.records.trial import Event, Purpose, Trial
from vsperf.search.base import Budget

BENCH = REPOSITORY / "tools" / "bench"
RUNS = REPOSITORY / "tests" / "golden" / "records"
GOLDEN = json.loads((REPOSITORY / "tests" / "golden" / "load_classification.json").read_text())
SEEDS = range(1)
MORE_SEEDS = range(1, 12)
MOST_S = 240
"""Of a search that has a budget, in the time of the model."""


def differing(name: str, seed: int, budget_s: int | None = None) -> Iterator[str]:
    """Yield where what is printed of each model is not what its trials come to."""
    for model in MODELS:
        budget = Budget(None if budget_s is None else budget_s * NANOSECONDS)
        if (run := searched(name, model, seed, budget)) is None:
            continue
        for goal, against in of_a_model(*run):
            yield from (f"{model.name}, seed {seed}, {goal}: {text}" for text in against)


@pytest.mark.parametrize("name", SEARCHES)
def test_trials_of_every_model_come_to_what_was_printed(name: str) -> None:
    none_wrong(text for seed in SEEDS for text in differing(name, seed))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SEARCHES)
def test_so_they_do_over_many_seeds(name: str) -> None:
    none_wrong(text for seed in MORE_SEEDS for text in differing(name, seed))


@pytest.mark.parametrize("name", SEARCHES)
def test_so_they_do_where_the_time_ended_before(name: str) -> None:
    none_wrong(differing(name, 0, MOST_S if name in {"rfc2544", "tst009"} else MOST_S // 4))


def test_loads_are_what_the_worked_example_of_the_standard_says() -> None:
    for goal in GOLDEN["goals"]:
        rule = Weighed(
            Fraction(goal["loss"]) / 100,
            Fraction(goal["exceed"]) / 100,
            goal["final_s"] * NANOSECONDS,
            goal["sum_s"] * NANOSECONDS,
        )
        made: list[Trial] = []
        for (count, seconds, loss), (bound, *_) in zip(
            GOLDEN["phases"], goal["cells"], strict=True
        ):
            made += [lossy(GOLDEN["load_fps"], seconds, Fraction(loss) / 100)] * count
            expected = {"undecided": Is.OPEN}.get(bound) or Is(bound)
            assert rule.judge([as_it_is(one) for one in made]) is expected


def test_golden_runs_come_to_what_was_printed() -> None:
    """But for soaks, of which `test_reread_figures.py` says what their vsperf told wrongly."""
    read = list(of_runs(one for one in runs_in([RUNS]) if "soak" not in one.name))
    assert read
    none_wrong(f"{case}, {name}: {text}" for case, name, against in read for text in against)


def test_a_folder_of_runs_is_read_whole_and_one_that_cannot_be_read_counts_as_wrong(
    tmp_path: Path,
) -> None:
    """A day of runs holds some that were killed, and nothing of it is passed over in silence."""
    whole = next(one for one in runs_in([RUNS]) if one.name.endswith("gxq9"))
    shutil.copytree(whole, tmp_path / "morning" / whole.name)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / RECORDS).write_text("{}\n")
    folders = list(runs_in([tmp_path]))
    assert [one.name for one in folders] == ["damaged", whole.name]
    wrong, *rest = of_runs(folders)
    assert (wrong[:2], len(wrong[2])) == (("damaged", "records"), 1)
    assert rest == list(of_runs([whole]))
    with pytest.raises(ComponentError, match="there is no run in"):
        list(runs_in([tmp_path / "evening"]))


# What reads again shares no code with what is read: by imports, and by what is asked of records.

DATA = ("vsperf.records.", "vsperf.quantities.", "vsperf.errors.")
BESIDE_CLASSES = {"worst", "views", "FUNCTIONAL_ONLY", "RECORDS"}
"""The gravest of flags and which of them are of one kind, and how files are opened."""
SHOWN = {"CaseRow", "Latency"}
"""From where all outputs take what they compute of trials: what is held against them."""
ANSWERS = {"asked.py", "result.py", "run.py"}
"""Of records, what is printed: it computes nothing of a trial."""


def readers() -> dict[str, ast.Module]:
    return {one.name: ast.parse(one.read_text()) for one in BENCH.glob("reread*.py")}


def members(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield what classes have, and whether they compute it."""
    for model in ast.walk(tree):
        for one in model.body if isinstance(model, ast.ClassDef) else ():
            if isinstance(one, ast.FunctionDef):
                yield one.name, True
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                yield one.target.id, False


def test_what_reads_again_imports_no_code_of_searches_methods_or_engine() -> None:
    """Of records only data: what a load, clean time or a regime is, is written once more."""

    def allowed(one: ast.Import | ast.ImportFrom) -> bool:
        module = (one.module if isinstance(one, ast.ImportFrom) else one.names[0].name) or ""
        if not module.startswith("vsperf"):
            return not module.startswith(("coverage", "paired", "MLRsearch"))
        names = {each.name for each in one.names}
        code = {each for each in names if each[0].islower() or each.isupper()}
        shown = module == "vsperf.analysis.summary" and names <= SHOWN
        return shown or (f"{module}.".startswith(DATA) and code <= BESIDE_CLASSES)

    trees = readers()
    assert len(trees) > 9
    none_wrong(
        f"{name}:{one.lineno}: {ast.unparse(one)}"
        for name, tree in trees.items()
        for one in ast.walk(tree)
        if isinstance(one, ast.Import | ast.ImportFrom) and not allowed(one)
    )


def test_what_reads_again_asks_records_of_trials_for_what_was_counted_alone() -> None:
    """Not for what they compute of it: searches go by the same, so nobody would see it wrong."""
    known = [
        (name, is_so and path.name not in ANSWERS, is_so)
        for path in (REPOSITORY / "vsperf" / "records").glob("*.py")
        for name, is_so in members(ast.parse(path.read_text()))
    ]
    stored = {name for name, _, is_so in known if not is_so}
    own = {name for tree in readers().values() for name, _ in members(tree)}
    computed = {name for name, of_trials, _ in known if of_trials} - stored - own
    assert {"as_load", "kept_ns", "valid", "vnf_frames"} <= computed
    none_wrong(
        f"{name}:{one.lineno}: {ast.unparse(one)} is computed by records"
        for name, tree in readers().items()
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and one.attr in computed
    )


def test_a_bound_that_its_trials_refute_is_told_with_how_many_passed() -> None:
    search = {"kind": "rfc2544", "goals": {"ndr": {"loss_ratio": "0"}}, "duration": "1s"}
    made = [lossy(1000, 1), lossy(2000, 1), lossy(2000, 1, Fraction(1, 10)), lossy(3000, 1, 1)]
    printed = answered(2000, 3000)
    ((_, against),) = answers(search, made, SearchResult(goals=(printed,)))
    assert against == (
        "lower bound printed 2,000 (1 of 2 passed), by all trials 1,000",
        "upper bound printed 3,000 (0 of 1 passed), by all trials 2,000",
    )


def test_a_surplus_of_one_trial_leaves_no_answer_that_stands() -> None:
    made = [lossy(1000, 1), lossy(2000, 1, 1)]
    over = made[0].directions[0].model_copy(update={"received_frames": 1001})
    flags = (Flag.RX_EXCEEDS_TX,)
    retried = made[0].model_copy(update={"index": 1, "directions": (over,), "flags": flags})
    result = SearchResult(goals=(answered(1000, 2000),))

    def found(result: SearchResult) -> tuple[str, ...]:
        return dict(with_surplus([retried, *made], result))["surplus"]

    assert found(result) == ("stands, though more arrived than was sent in trials [1]",)
    assert found(result.doubted(*flags, "counted wrong")) == ()


def test_what_the_generator_did_not_send_counts_as_lost() -> None:
    seen = as_it_is(trial(1000, NANOSECONDS, [way(1000, unsent=100)]))
    assert (seen.lost, seen.own) == (Fraction(1, 10), Fraction(0))


@pytest.mark.parametrize(
    "change",
    [
        {"directions": ()},
        {"purpose": Purpose.WARM_UP},
        {"flags": (Flag.RX_EXCEEDS_TX,)},
        {"event": Event(name="restart", began_ns=1, ended_ns=2)},
    ],
)
def test_what_is_no_valid_trial_of_a_search_says_nothing_of_a_load(change: dict[str, Any]) -> None:
    good = lossy(1000, 1)
    assert counted([good, good.model_copy(update=change)]) == [good]


LOOKS = {
    "kind": "broadcast",
    "throughput": None,
    "throughput_duration": "2s",
    "throughput_sum": "2s",
}


def test_a_throughput_that_others_refer_to_is_read_from_the_trials_that_looked_for_it() -> None:
    made = [lossy(1000, 2), lossy(2000, 2, 1)]
    burst = lossy(1000, 1, 1)
    latency = made[0].model_copy(update={"purpose": Purpose.LATENCY})
    printed = answered(1000, 2000, "throughput")
    result = SearchResult(goals=(printed,))
    whole = dict(answers(LOOKS, [*made, burst, latency], result))
    assert whole["throughput"] == ()
    assert dict(answers(LOOKS, [*made, lossy(1000, 2, 1)], result))["throughput"]
    assert unread(LOOKS, result) == 0
    assert unread({**LOOKS, "throughput": "1000fps"}, result) == 1


def test_a_throughput_that_trials_at_it_take_back_may_not_stand() -> None:
    made = [lossy(1000, 2), lossy(2000, 2, 1)]
    later = lossy(1000, 2, Fraction(1, 10)).model_copy(update={"purpose": Purpose.LATENCY})
    printed = answered(1000, 2000, "throughput")

    def found(goal: GoalResult) -> dict[str, tuple[str, ...]]:
        return dict(answers(LOOKS, [*made, later], SearchResult(goals=(goal,))))

    assert found(printed)["throughput again"] == ("stands, though 1 of 2 passed at 1,000",)
    assert found(printed.model_copy(update={"flags": (Flag.REFUTED,)}))["throughput again"] == ()


def test_what_became_of_a_given_load_is_read_again() -> None:
    made = [lossy(1000, 1), lossy(1000, 1, Fraction(1, 10))]
    printed = given_load(1000, trials=2, worst_loss_ratio="1/10", throughput_fps=900)
    fixed = {"kind": "fixed", "loss_ratio": "0"}
    result = SearchResult(loads=(printed,))
    assert list(answers(fixed, made, result)) == [("1,000", ())]
    ((_, against),) = answers(fixed, [*made, lossy(1000, 1, Fraction(1, 5))], result)
    assert against == (
        "printed 1 of 2 passed, by all trials 1 of 3",
        "worst loss printed 1/10, by all trials 1/5",
        "through printed 900, by all trials 800",
    )


def test_answers_that_are_not_read_are_counted_by_method() -> None:
    left: Counter[str] = Counter()
    list(of_runs(runs_in([RUNS]), left))
    assert left.keys()
    figure = Figure(name="made_up", unit=Unit.COUNT, value=1, reason="")
    assert unread({"kind": "of_others"}, SearchResult(figures=(figure,))) == 1


# Nothing is printed that nobody reads again.

BRIEF = {"throughput_duration": "1s", "throughput_sum": "1s"}
FLOOD, UDP = {"syn_flood": "5k"}, {"protocol": "udp"}
ASKED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "churn": ({**BRIEF, "rules_per_second": [100]},),
    **dict.fromkeys(("cc", "cps", "goodput", "pps"), (FLOOD, UDP)),
    "fixed": ({"loads": ["50%"], "duration": "1s"},),
    "http": ({}, {"rate": 100}),
    "reconnect": ({"events": ["restart-switch", "kill-switch", "reboot-vnfs"]},),
    "reset": ({"events": ["restart-switch", "kill-switch", "reboot-vnfs"]},),
    "stream": ({}, {"protocol": "udp"}),
    **{one["kind"]: ({**RANGE, **one},) for one in SEARCHES.values()},
}
"""Settings by which methods answer with all that they can; those that have only one way are not
named."""


def unread_of(kind: str) -> Iterator[str]:
    """Yield what a method can be judged by and nobody reads again, nor says why not."""
    for settings in ASKED.get(kind, ({},)):
        asked = method(kind, **{name: one for name, one in settings.items() if name != "kind"})
        goals = goals_of(asked.model_dump(mode="json"))
        for name in asked.metrics():
            known = name in goals if name in asked.asked() else reads(kind, name)
            if not known and name not in UNTOLD:
                yield f"{kind} answers with {name}, which the re-reader neither reads nor lists"


def test_every_figure_of_every_method_is_read_again_or_listed_with_the_reason() -> None:
    none_wrong(text for kind in METHODS for text in unread_of(kind))
    assert {*FIGURES, *CURVES} <= METHODS.keys()


def test_every_field_of_an_answer_is_read_again_or_listed_with_the_reason() -> None:
    models = (
        *(CleanResult, Curve, Draw, Draws, Figure, GoalResult),
        *(LoadResult, RegimeResult, SearchResult, Spread),
    )
    fields = {name for one in models for name in one.model_fields}
    assert fields == READ | UNTOLD.keys()
    assert not READ & UNTOLD.keys()
    assert all(UNTOLD.values())


def test_a_figure_or_curve_that_no_method_of_ours_has_is_counted_as_unread() -> None:
    figure = Figure(name="made_up", unit=Unit.COUNT, value=1)
    curve = Curve.model_validate(
        {"name": "made_up", "x": {"name": "x", "unit": "count"}, "columns": (), "points": ((1,),)}
    )
    for kind in ("cps", "loss", "stream", "paired", "latency_under_load"):
        assert unread({"kind": kind}, SearchResult(figures=(figure,), curves=(curve,))) == 2


SHARES = {"stalls that lose": ("quick", 0), "regimes, of 8 and 18 s": ("standard", 2)}


@pytest.mark.parametrize("name", SHARES)
def test_shares_of_the_time_and_what_came_through_are_read_again(name: str) -> None:
    """Also how far CPUs were from each other, near and far."""
    search, seed = SHARES[name]
    (model,) = (one for one in MODELS if one.name == name)
    run = searched(search, model, seed)
    assert run is not None
    settings, result, trials = run
    goal = result.goals[0]
    others: list[dict[str, Any]] = [{"throughput_fps": (goal.throughput_fps or 0) + 1}]
    if goal.clean is not None:
        others.append({"clean": goal.clean.model_copy(update={"share": "1/7"})})
    changes: dict[str, Any] = {"share": "1/7", "least_ns": 1, "most_ns": 10**9, "clean": "1/7"}
    for number, one in enumerate(goal.regimes):
        for change in changes.items():
            regimes = list(goal.regimes)
            regimes[number] = one.model_copy(update=dict([change]))
            others.append({"regimes": tuple(regimes)})
    assert len(others) == {"quick": 2, "standard": 9}[search]
    assert not any(against for _, against in answers(settings, trials, result))
    for other in others:
        goals = (goal.model_copy(update=other), *result.goals[1:])
        told = answers(settings, trials, result.model_copy(update={"goals": goals}))
        assert any(against for _, against in told), other


def test_trials_after_a_search_need_not_be_in_its_shares_of_the_time() -> None:
    """They are made at shares of its answer, which stands as long as they do not move it."""
    (model,) = (one for one in MODELS if one.name == "stalls that lose")
    run = searched("quick", model, 0)
    assert run is not None
    settings, result, trials = run
    least = min(trials, key=lambda one: one.load_fps)
    later = least.model_copy(update={"purpose": Purpose.LATENCY, "reference": "10% of ndr"})
    none_wrong(
        f"{name}: {text}"
        for name, against in answers(settings, [*trials, later], result)
        for text in against
    )


def test_what_the_generator_was_too_slow_for_is_read_again() -> None:
    late = trial(1000, NANOSECONDS, [way(1000, unsent=100)])
    made = [late.model_copy(update={"flags": (Flag.SHORT_OFFER,)})]
    printed = lossy_load(
        "1/10", load_fps=1000, short_ratio="1/20", throughput_fps=900, limit=Limit.GENERATOR
    )
    ((_, told),) = answers({"kind": "fixed"}, made, SearchResult(loads=(printed,)))
    assert told == ("short printed 1/20, by all trials 1/10",)
