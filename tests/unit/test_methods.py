"""All methods: their metrics, repeats, truths on models, and their page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, takewhile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from all_methods import METHODS
from all_wrong import hold_each, none_wrong, relative
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given
from hypothesis import strategies as st
from search_models import LINE_RATE, case_of
from simulated_cases import SECOND, session, simulated_case, switch_of
from test_method_control_plane import ChurningBench, UpcallBench
from test_method_delays import SleepyBench
from test_method_soak import added_up

from vsperf.cli.selection import library
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.sim import SimulatedSession
from vsperf.drivers.vswitches.sim import RunningModel, SimulatedSwitchSpec
from vsperf.engine.criteria import flags_of, outcome_of
from vsperf.engine.disturb import run_trial
from vsperf.engine.events import Parts
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import PLAIN, SHARE_BEFORE, TrialOptions, repeated
from vsperf.methods.soak import Hours
from vsperf.quantities.units import NANOSECONDS, FrameSize
from vsperf.records.flags import Flag
from vsperf.records.result import SearchResult
from vsperf.records.run import Outcome
from vsperf.records.trial import Trial
from vsperf.search.base import Budget, BudgetExhausted
from vsperf.simulation.switch import Offer

# Whatever a method answers with can be a criterion, and in the unit that it has there.

QUALIFIERS = {"overload_share", "trials_with_loss"}
"""Figures that say what is to be held against another one, and are missing where nothing is."""
GIVEN = 5_000_000
BRIEF = {"throughput_duration": "1s", "throughput_sum": "1s"}
EVENTS = {"restart-switch": 10**9, "kill-switch": 10**9, "reboot-vnfs": 10**9}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "loss": {},
    "forwarding": {},
    "back2back": {},
    "recovery": {},
    "latency": {"repeats": 2},
    "reset": {"events": list(EVENTS), "repeats": 1},
    "soak": {"duration": "10s"},
    "broadcast": {"duration": "1s", "repeats": 2, **BRIEF},
    "wake_up": {"repeats": 2, **BRIEF},
}


@pytest.mark.parametrize("kind", ASKED)
def test_every_figure_of_a_method_can_be_judged(kind: str) -> None:
    referring = {} if kind in ("loss", "forwarding") else {"throughput": f"{GIVEN}fps"}
    asked = method(kind, **referring, **ASKED[kind])
    bench = (SleepyBench if kind == "wake_up" else FluidBench)(
        GIVEN,
        buffer_frames=4000,
        outages_ns=EVENTS,
        recovery_ns=1_000_000,
        latencies_ns=[10_000] * 600,
        seconds=added_up([0, 3, 4, 0, 0, 5, 0, 0, 0, 0]),
        loads=replace(LOADS, reference=GIVEN if referring else None, maximum=LOADS.maximum - 1),
    )

    figures = asked.run(bench).figures

    known = asked.metrics()
    assert len(figures) > 0
    assert {one.name: one.unit for one in figures if one.name not in QUALIFIERS}.items() <= (
        known.items()
    )


# Methods find what a switch was made with, whatever that is.

STEP = 0.01
"""Of a search for the throughput: bounds that are so near each other are the answer."""


@given(losses=st.lists(st.sampled_from([0, 0, 0, 1, 7, 5000]), min_size=2, max_size=300))
def test_every_frame_that_a_soak_misses_is_in_one_event(losses: list[int]) -> None:
    hours = Hours(len(losses) * NANOSECONDS, most_events=len(losses))
    for one in added_up(losses):
        hours.add(one)

    rows = [list(row) for missed, row in groupby(losses, key=bool) if missed]
    assert hours.events_seen == len(rows)
    found = sorted(hours.events, key=lambda event: event.begin_ns)
    assert [event.lost for event in found] == [sum(row) for row in rows]
    assert [event.end_ns - event.begin_ns for event in found] == [
        len(row) * NANOSECONDS for row in rows
    ]
    assert sum(part.lost for part in hours.parts) == sum(losses)


def at_share(values: Sequence[int], per_mille: int) -> int:
    """Return the value that so many of a thousand do not exceed."""
    return sorted(values)[max(0, -(-len(values) * per_mille // 1000) - 1)]


@given(
    latencies=st.lists(st.integers(1_000, 100_000_000), min_size=500, max_size=900),
    throughput=st.integers(10_000, LOADS.maximum),
)
def test_latency_is_that_of_the_frames(latencies: list[int], throughput: int) -> None:
    loads = replace(LOADS, reference=throughput)
    bench = FluidBench(throughput, loads=loads, latencies_ns=latencies)

    found = figures(method("latency", throughput=f"{throughput}fps", repeats=2).run(bench))

    assert found["tagged_latency"] == latencies[0]
    assert found["mean_latency"] == pytest.approx(sum(latencies) / len(latencies), rel=0.01)
    assert found["typical_latency"] == pytest.approx(at_share(latencies, 500), rel=0.01)
    assert found["worst_case_latency"] == pytest.approx(at_share(latencies, 999), rel=0.01)
    assert {trial.load_fps for trial in bench.made} == {throughput}


@given(capacity=st.integers(1_000_000, 9_000_000), changes=st.integers(1, 900))
def test_what_changes_of_rules_cost_is_found(capacity: int, changes: int) -> None:
    result = method("churn", rules_per_second=[changes], **BRIEF).run(ChurningBench(capacity))

    left = 1 - 1000 * changes / capacity
    assert figures(result)["kept"] == pytest.approx(left, abs=2 * STEP)


@given(rate=st.integers(LOADS.minimum, 500_000))
def test_the_rate_at_which_flows_are_set_up_is_found(rate: int) -> None:
    bench = UpcallBench(rate, loads=replace(LOADS, flows=16_384))

    found = figures(method("flow_setup", width="2%").run(bench))["flow_setup_rate"]

    assert found is not None
    assert 0.975 * rate <= found <= rate


# What a method does several times, where a trial cannot be believed in the end.

WHY = "trial 9 at 5.000 Mfps stayed invalid after 2 repeats: stretched"
RESET = {"throughput": "5Mfps", "events": ["restart-switch", "kill-switch"]}


@dataclass
class SpoiledBench(FluidBench):
    """A bench on which all trials stay invalid from one on."""

    good: int = 0
    """Trials that can be believed."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        if len(self.made) >= self.good:
            raise InvalidTrialError(WHY)
        return super().trial(load_fps, duration_ns, options)


def spoiled_bench(good: int, reference: int = 5_000_000) -> SpoiledBench:
    return SpoiledBench(
        5_000_000,
        buffer_frames=4000,
        outages_ns={"restart-switch": 10**9, "kill-switch": 10**9},
        loads=replace(LOADS, reference=reference),
        good=good,
        latencies_ns=[10_000] * 600,
    )


@pytest.mark.parametrize("kind", ["latency", "broadcast"])
def test_the_repeats_before_an_invalid_trial_stand(kind: str) -> None:
    result = method(kind, throughput="5Mfps", repeats=5).run(spoiled_bench(3))

    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 3
    assert (result.spoiled, result.complete, result.whole) == (WHY, True, False)


def test_searches_for_a_burst_before_an_invalid_trial_stand() -> None:
    whole = spoiled_bench(10**6)
    asked = method("back2back", throughput="5Mfps", repeats=5)
    asked.run(whole)

    result = asked.run(spoiled_bench(len(whole.made) - 1))

    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 4
    assert result.spoiled == WHY
    (found,) = asked.compliance(case_of("mlr", search=asked), [64], result)
    assert "a trial that stayed invalid came before 5 searches" in found.deviations


def test_an_event_whose_trials_are_invalid_leaves_the_figures_of_the_other() -> None:
    result = method("reset", **RESET, repeats=2).run(spoiled_bench(2))

    assert "restart_time" in figures(result) and "kill_time" not in figures(result)
    assert result.spoiled == WHY


def test_a_flow_set_up_rate_stands_without_the_latencies_that_follow_it() -> None:
    loads = replace(LOADS, flows=4096)
    whole = FluidBench(5_000_000, loads=loads)
    asked = method("flow_setup", repeats=1)
    asked.run(whole)

    result = asked.run(SpoiledBench(5_000_000, loads=loads, good=len(whole.made) - 1))

    assert list(figures(result)) == ["flow_setup_rate"]
    assert result.spoiled == WHY


@pytest.mark.parametrize("kind", ["latency", "recovery", "back2back", "reset"])
def test_where_nothing_was_found_before_it_the_invalid_trial_ends_the_case(kind: str) -> None:
    with pytest.raises(InvalidTrialError):
        method(kind, throughput="4Mfps").run(spoiled_bench(0, reference=4_000_000))


def test_a_result_from_fewer_repeats_is_flagged_and_not_as_one_that_the_time_cut_short() -> None:
    bench = spoiled_bench(3)
    result = method("latency", throughput="5Mfps", repeats=5).run(bench)

    assert flags_of(result, bench.made) == (Flag.FEWER_REPEATS,)
    assert flags_of(SearchResult(complete=False), ()) == (Flag.OUT_OF_BUDGET,)


def test_the_time_that_ends_is_told_apart() -> None:
    bench = FluidBench(5_000_000, budget=Budget(3 * NANOSECONDS))

    def once() -> None:
        bench.budget.require(NANOSECONDS)
        bench.budget.spend(NANOSECONDS)

    found = repeated(5, once)

    assert (len(found.found), found.in_time, found.spoiled) == (3, False, "")
    with pytest.raises(BudgetExhausted):
        once()


# A method that never measured what it is for has no answer, and is no pass.

TIMES = {"throughput_duration": "1s", "throughput_sum": "1s"}


@pytest.mark.parametrize(
    "kind", ["soak", "latency", "back2back", "recovery", "reset", "wake_up", "churn", "broadcast"]
)
def test_without_a_throughput_to_refer_to_nothing_was_measured(kind: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "soak": {"duration": "10s"},
        "latency": {"duration": "2s", "tag_after": "1s"},
    }
    if kind == "churn":
        asked["churn"] = {"rules_per_second": ("100",), **TIMES}
    result = method(kind, **asked.get(kind, {})).run(FluidBench(LOADS.minimum - 1))
    outcome, reason = outcome_of(result, ())

    assert outcome is Outcome.INVALID
    assert reason.endswith("there is no throughput to refer to: no lower bound")
    assert all((one.value, one.text) == (None, "no answer") for one in result.figures)


def test_a_line_rate_without_loss_is_an_answer_on_its_buffer() -> None:
    result = method("back2back").run(FluidBench(LOADS.maximum))
    assert outcome_of(result, ())[0] is Outcome.PASS
    assert "not meaningful" in result.figures[0].reason


# Methods on simulated switches whose truth is known, over seeds: what they say is that truth.

SEEDS = range(12)
LOSSY = ("ideal", "soft-knee", "noisy", "random-loss", "asymmetric", "always-lossy", "inversion")
SHARES = {"ideal": 1.0, "noisy": 1.0, "duplicating": 1.0, "asymmetric": 0.7}
"""Of the capacity, what comes through of the worse direction."""
FOUR_SIGMAS = 0.04
"""So far the capacity of a noisy switch wobbles at most."""


@dataclass
class ModelBench(FluidBench):
    """A simulated switch behind the simulated generator, in one session as a case has it."""

    running: SimulatedSession | None = None
    parts: Parts | None = None

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        assert self.running is not None and self.parts is not None
        request = TrialRequest(load_fps, duration_ns)
        counts, happened = run_trial(
            self.running.run, request, options, self.parts, duration_ns // SHARE_BEFORE
        )
        way = counts.directions[0]
        trial = self._kept(way, load_fps, duration_ns, options, happened.event)
        self.made[-1] = trial.model_copy(update={"directions": counts.directions})
        return self.made[-1]


@contextmanager
def stand(case: CaseSpec, reference: int | None = None) -> Iterator[ModelBench]:
    """Deploy a case, to be measured by a method; `reference` is a throughput that is given."""
    assert isinstance(case.vswitch, SimulatedSwitchSpec)
    with session(case) as running:
        loads = replace(LOADS, reference=reference)
        parts = Parts(RunningModel(case.vswitch))
        yield ModelBench(0, loads=loads, running=running, parts=parts)


def drawn(seed: int, kind: str, **switch: Any) -> tuple[CaseSpec, int]:
    """Return a switch with a capacity that follows from the seed, and that capacity."""
    capacity = Random(seed).randint(2_000_000, 13_000_000)
    told = {"capacity": f"{capacity}fps", "behaviour": {"kind": kind}, **switch}
    return simulated_case(told, {"seed": seed + 1}), capacity


@pytest.mark.parametrize("kind", LOSSY)
def test_a_loss_curve_loses_above_the_truth_of_the_switch_and_not_below(kind: str) -> None:
    def check(seed: int) -> None:
        case, _ = drawn(seed, kind)
        truths = switch_of(case).true_capacity_fps(Offer(FrameSize(64)), Fraction(0), seed + 1)

        with stand(case) as bench:
            result = method("loss", step="5%").run(bench)

        ends = [truth.crossings[-1] for truth in truths]
        for load in result.loads:
            lost = Fraction(load.worst_loss_ratio) > 0
            if any(end.upper_fps is not None and load.load_fps >= end.upper_fps for end in ends):
                assert lost
            starts = [truth.crossings[0].lower_fps or 0 for truth in truths]
            if load.load_fps <= min(starts) and not any(truth.accidents for truth in truths):
                assert not lost
        lossless = result.figures[0]
        if lossless.value is not None:
            assert all(end.upper_fps is None or lossless.value < end.upper_fps for end in ends)
        elif not any(truth.accidents for truth in truths):
            least = round(LINE_RATE * 0.1)
            assert any((truth.crossings[0].lower_fps or 0) < least for truth in truths)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_loss_curve_of_a_sharp_capacity_is_exact() -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, "ideal")

        with stand(case) as bench:
            result = method("loss", step="5%").run(bench)

        for load in result.loads:
            assert Fraction(load.worst_loss_ratio) == max(0, 1 - Fraction(capacity, load.load_fps))
        steps = [round(LINE_RATE * (1 - Fraction(number, 20))) for number in range(20)]
        assert figures(result)["lossless_load"] == next(step for step in steps if step <= capacity)

    hold_each(SEEDS, check, "seed {}".format)


@pytest.mark.parametrize("kind", SHARES)
def test_the_maximum_forwarding_rate_is_what_the_switch_can_do(kind: str) -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, kind)

        with stand(case) as bench:
            found = figures(method("forwarding", duration="1s").run(bench))

        expected = capacity * SHARES[kind]
        off = FOUR_SIGMAS * expected if kind == "noisy" else 1
        assert found["mfr"] == pytest.approx(expected, abs=off)
        assert found["frmol"] == pytest.approx(expected, abs=off)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_reset_takes_as_long_as_the_model_says_by_both_methods() -> None:
    def check(seed: int) -> None:
        chance = Random(seed)
        takes = {name: chance.randint(1_000_000, 20 * SECOND) for name in ("restart", "kill")}
        told = {f"{name}_takes": f"{ns}ns" for name, ns in takes.items()}
        case, capacity = drawn(seed, "ideal", **told)
        asked = method("reset", throughput=f"{capacity}fps", duration="40s", repeats=2)

        with stand(case, capacity) as bench:
            found = figures(asked.run(bench))

        gap_ns = SECOND / capacity
        for name, ns in takes.items():
            assert found[f"{name}_time"] == pytest.approx(ns, abs=2 * gap_ns + 2)
            assert found[f"{name}_lost_time"] == pytest.approx(ns, abs=2 * gap_ns)
            assert found[f"{name}_difference"] == pytest.approx(0, abs=2 * gap_ns + 2)

    hold_each(SEEDS, check, "seed {}".format)


def test_a_switch_that_loses_frames_besides_shows_it_in_the_difference() -> None:
    def check(seed: int) -> None:
        case, capacity = drawn(seed, "always-lossy", restart_takes="2s")
        asked = method(
            "reset",
            throughput=f"{capacity // 2}fps",
            duration="40s",
            repeats=1,
            events=["restart-switch"],
        )

        with stand(case, capacity // 2) as bench:
            found = figures(asked.run(bench))

        assert found["restart_time"] == pytest.approx(2 * SECOND, rel=1e-3)
        assert found["restart_difference"] == pytest.approx(0.4 * SECOND, rel=0.06)  # 1 % of 40 s

    hold_each(SEEDS, check, "seed {}".format)


# The page on methods: it knows all of them.

PAGES = Path(__file__).parents[2] / "docs" / "methods"


def test_every_method_has_a_row_that_leads_to_its_page() -> None:
    rows = re.findall(r"^\| \[(.*?)\]\((.*?)\)", (PAGES / "README.md").read_text(), re.MULTILINE)
    named = {name.strip("`") for names, _ in rows for name in names.split(", ")}

    assert named == set(METHODS)
    none_wrong(
        f"docs/methods/README.md: {page}" for _, page in rows if not (PAGES / page).is_file()
    )


def test_every_page_begins_with_its_question_a_command_to_copy_and_what_it_answers() -> None:
    known = library().testcases()
    parts = (
        r"\*\*Question\.\*\* [^.]*?\?",
        r"^# vsperf run \S+",
        r"^\*\*Answers?\b",
        r"^\*\*How\.",
    )

    def wrong() -> Iterator[str]:
        for page in sorted(set(PAGES.glob("*.md")) - {PAGES / "README.md"}):
            text = page.read_text()
            found = [re.search(part, text, re.MULTILINE) for part in parts]
            places = [one.start() for one in found if one]
            if len(places) < len(parts) or places != sorted(places):
                yield f"{relative(page)}: no question, command, answers and how, in this order"
            for words in re.findall(r"^# vsperf run ([^\n#]+)", text, re.MULTILINE):
                names = takewhile(lambda word: not word.startswith("-"), words.split())
                unknown = (one for one in names if one not in known)
                yield from (f"{relative(page)}: no testcase {one}" for one in unknown)

    none_wrong(wrong())


def test_every_page_says_how_long_it_takes_and_what_it_cannot_tell() -> None:
    texts = {page: page.read_text() for page in sorted(PAGES.glob("*.md"))}
    assert len(texts) > 1
    none_wrong(
        f"{relative(page)}: nothing begins with {heading}"
        for page, text in texts.items()
        if page.name != "README.md"
        for heading in ("**What it cannot tell.**", "**Time.**", "**On a virtual machine")
        if heading not in text
    )
