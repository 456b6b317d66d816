"""Holds every search against switches whose truth is known, over many seeds.

Each answer is one of four: it holds the truth; it is wrong and something was said against it (a
flag, a limit that is not the switch's, no result); it is right if what the run says that it assumes
is so, which no trial at its bounds speaks against; or it is wrong in silence. The last is what must
not happen. The ratio is that of silent answers to all. Beside it each answer is read again from its
trials alone, by the code of `reread`, and those are told that the trials do not come to.

What was found in a world is kept by the state of the checkout, so the same command goes on where
one was ended. With --kept the table is that of what is known, and nothing is searched.
"""

from __future__ import annotations

import argparse
import enum
import hashlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml
from common import Option, Ratio, carry_out, options, say
from coverage_models import LINE_RATE, MODELS, WAYS, Course, Model, far, now, shares
from coverage_world import World, carried, met, threads
from reread import answers
from reread_verdicts import Around, goals_of_case

import vsperf
from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.engine.criteria import flags_of
from vsperf.engine.doubts import believed
from vsperf.engine.measurer import MeasuredBench, Measurer
from vsperf.engine.watch import Seen, Watch
from vsperf.errors import ComponentError, InvalidTrialError
from vsperf.methods.base import probe_on
from vsperf.methods.mlr import MlrSearch
from vsperf.methods.rfc2544 import Rfc2544Search
from vsperf.methods.throughput import Throughput
from vsperf.methods.tst009 import Tst009Search
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag, Severity
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Assumption,
    GoalResult,
    Limit,
    RegimeResult,
    SearchResult,
    assumed,
    at_bounds,
)
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Trial, TrialCounts
from vsperf.search.base import Budget, Loads, Probe
from vsperf.search.classify import DurationRule
from vsperf.search.clean import PARTIAL
from vsperf.search.confirm import Confirmed
from vsperf.search.tst009 import VerificationRule
from vsperf.search.verdict import Question

EXAMPLE = "tools/bench/coverage.py --seeds 20 --search quick --model ideal"
FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"
GOALS = {"ndr": {"loss_ratio": "0"}, "pdr": {"loss_ratio": "0.5%"}}
RANGE = {"min_load": "9001fps", "max_load": "100%", "goals": GOALS}
METHODS: dict[str, type[Throughput]] = {
    "mlr": MlrSearch,
    "rfc2544": Rfc2544Search,
    "tst009": Tst009Search,
}
PRESETS = Path(__file__).resolve().parents[2] / "conf" / "presets"


def of_preset(name: str) -> dict[str, Any]:
    """Return what a preset asks of its search, on top of what it extends."""
    found = yaml.safe_load((PRESETS / f"{name}.yaml").read_text())
    base = found["preset"].get("extends")
    return {**(of_preset(base) if base else {}), **found["search"]}


SEARCHES: dict[str, dict[str, Any]] = {
    "quick": of_preset("quick"),
    "standard": of_preset("standard"),
    "rfc2544": {"kind": "rfc2544", "duration": "10s", "resolution": "0.5%"},
    "tst009": {
        "kind": "tst009", "duration": "10s", "step": "0.5%", "max_repeats": 3,
        "loss_threshold": 5000,
    },
}  # fmt: skip
POLICY = TrialPolicy.model_validate(
    {
        "warm_up": "0s", "learning": False, "settle": "0s", "drain": "100ms", "pause": "0s",
        "retries": 2, "offered_tolerance": "0.5%", "stretch_tolerance": "0.1%",
    }
)  # fmt: skip
CLOSE = 1.001
"""What a bound may be off the truth by: a fifth of the narrowest interval."""
TELLING = (Flag.SPORADIC_LOSS,)
"""Notes that say of a bound that it is not that of overload."""
MANY, APART_NS = 1000, 97_300_000_000
"""Trials of a long run that tell what is true of a capacity that changes, and their distance."""
CAP = 11_000_000
"""Of the generator, in frames per second."""


LOADS = {
    kind: Loads(
        9001, CAP, LINE_RATE, step=CAP // 200 if kind == "tst009" else None, generator_cap=CAP
    )
    for kind in METHODS
}
"""What each method may offer."""


class Answer(enum.StrEnum):
    """How an answer stands to the truth: it holds it, or is wrong, with a word on it or without."""

    HOLDS = "holds"
    SAID = "said"
    ASSUMED = "assumed"
    SILENT = "silent"


@dataclass
class Bench:
    """A model in the place of generator and switch."""

    model: Model
    world: World
    grown: SwitchCounters | None = None
    began_ns: list[int] = field(default_factory=list)
    """When each trial began."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        self.began_ns.append(self.world.now_ns)
        counts, self.grown = self.model.trial(self.world, request.load_fps, request.duration_ns)
        return counts

    def failure(self) -> None:
        """Never fail."""

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        """Return how far the CPUs are from each other, if the model tells."""
        return self.model.round_trip_ns(self.world)

    def let_pass(self, ns: int) -> None:
        """Let time pass in which nothing is sent."""
        self.world.now_ns += ns

    def facts(self) -> dict[str, Any]:
        return {}

    def probe(self, budget: Budget | None = None) -> tuple[Measurer, Probe]:
        """Return what makes trials, with the switch's growth beside each, and a search's probe."""
        paid = budget or Budget()
        measurer = Measurer(self, GrowthWatch(self), POLICY, paid, len(WAYS))
        return measurer, probe_on(MeasuredBench(measurer, LOADS["mlr"]))


class GrowthWatch(Watch):
    """Takes the growth of the counters from the model."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(None, bench, cpus=(0, 1))
        self.bench = bench

    def end(self) -> Seen:
        """Return what the switch counted in the trial that ended, and where the CPUs were."""
        told = threads(self.bench.world)
        return replace(super().end(), switch=self.bench.grown, threads=told)


def main() -> None:
    """Print a line per model and search."""
    parser = options(
        __doc__,
        EXAMPLE,
        seeds=Option(100, 3, "worlds of each model"),
        first=Option(0, 0, "the first of them, for a process that takes others"),
    )
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS])
    parser.add_argument("--search", action="append", choices=list(SEARCHES))
    parser.add_argument("--kept", action="store_true", help="search nothing: print what is known")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it is kept")
    carry_out(parser, measure)


NAMES = 2 + max(len(one.name) for one in MODELS)
"""Width of the column of models."""
Cell = tuple[str, str]
"""The names of a model and of a search."""


def measure(found: argparse.Namespace) -> Ratio:
    """Hold the wanted searches against the wanted models."""
    models = [one for one in MODELS if not found.model or one.name in found.model]
    names = found.search or list(SEARCHES)
    kept = Kept(found.folder / f"coverage-{state()}.jsonl")
    known, cells = kept.read(), {(one.name, name): Held() for one in models for name in names}
    for seed in range(found.first, found.seeds):
        for model, name in itertools.product(models, names):
            world = known.get((model.name, name, seed))
            if world is None and not found.kept:
                world = hold(model, SEARCHES[name], [seed])
                kept.add(model.name, name, seed, world)
            if world is not None:
                cells[model.name, name].add(world)
                for text in world.against:
                    say(f"{model.name}, {name}, seed {seed}, {text}")
        if not found.kept:
            say(f"seed {seed}: {told(cells)}")
    return table(cells)


def table(cells: Mapping[Cell, Held]) -> Ratio:
    """Print a line for each model and search, and what they come to together."""
    parts = "".join(f"{part:<36}" for part in ("as it was measured", "in clean time", "by regime"))
    say(f"{'':<{NAMES + 11}}{parts}")
    columns = "    ".join(["".join(f"{one:>8}" for one in Answer)] * 3)
    efforts = f"{'trials':>8}{'s':>8}{'held':>7}{'alone':>7}"
    say(f"{'model':<{NAMES}}{'search':<10}{columns}{efforts}{'differ':>8}{'worlds':>8}")
    silent: dict[Cell, float] = {}
    for (model, name), held in cells.items():
        if not held.worlds:
            continue
        stands = "    ".join(map(hundredths, (held.raw, held.clean, held.by_regime)))
        waits = f"{100 * held.held_ns / held.ns:>6.0f}%" if held.held_ns else f"{'–':>7}"
        means = f"{held.trials / held.worlds:>8.0f}{held.ns / held.worlds / NANOSECONDS:>8.0f}"
        effort = f"{means}{waits}{held.alone / held.worlds:>7.0f}"
        say(f"{model:<{NAMES}}{name:<10}{stands}{effort}{held.differ:>8}{held.worlds:>8}")
        silent[model, name] = held.every[Answer.SILENT] / held.every.total()
    say(told(cells))
    if silent and (worst := max(silent, key=lambda cell: silent[cell])):
        say(f"at most {silent[worst]:.1%} of a cell are silent, of {len(silent)} cells")
    return Ratio.of("silent answers to all", list(silent.values()))


def told(cells: Mapping[Cell, Held]) -> str:
    """Say what all cells come to."""
    whole = Held()
    for one in cells.values():
        whole.add(one)
    found = ", ".join(f"{whole.every[one]:,} {one}" for one in Answer)
    again = f"{whole.differ:,} of {whole.answers:,} answers differ from their trials"
    return f"{whole.worlds:,} searches: {found}; {again}"


def state() -> str:
    """Name what decides on what is found: Python, presets, and all code but the command line."""
    found = hashlib.sha256(sys.version.encode())
    house, here = Path(vsperf.__file__).parent, Path(__file__).parent
    for path in sorted(
        {*house.rglob("*.py"), *here.rglob("*.py"), *here.rglob("*.json"), *PRESETS.glob("*.yaml")}
    ):
        if house / "cli" not in path.parents:
            found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was found at this state of the checkout, world by world: no kill loses more than one."""

    file: Path

    def read(self) -> dict[tuple[str, str, int], Held]:
        """Return what is known; a torn line counts for nothing."""
        found: dict[tuple[str, str, int], Held] = {}
        for line in self.file.read_text().splitlines() if self.file.exists() else ():
            with suppress(ValueError, KeyError, TypeError):
                one = json.loads(line)
                told: dict[str, Any] = one["found"]
                told |= {name: Counter(told[name]) for name in COUNTED}
                found[one["model"], one["search"], one["seed"]] = Held(**told)
        return found

    def add(self, model: str, search: str, seed: int, world: Held) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        one = {"model": model, "search": search, "seed": seed, "found": vars(world)}
        with self.file.open("a") as file:
            file.write(f"\n{json.dumps(one)}")  # so that it stands apart from a torn one


def hundredths(answers: Counter[Answer]) -> str:
    """Write how many of a hundred answers are of each kind; dashes where there are none."""
    whole = answers.total()
    return "".join(
        f"{100 * answers[one] / whole:>8.1f}" if whole else f"{'–':>8}" for one in Answer
    )


COUNTED = ("raw", "clean", "by_regime")


@dataclass
class Held:
    """How the answers of a search to a model stand, and what it took, over some worlds."""

    worlds: int = 0
    raw: Counter[Answer] = field(default_factory=Counter)
    clean: Counter[Answer] = field(default_factory=Counter)
    by_regime: Counter[Answer] = field(default_factory=Counter)
    trials: int = 0
    ns: int = 0
    held_ns: int = 0
    """For so long trials were held back."""
    alone: int = 0
    """Trials of the method alone, with neither clean time nor a closing pair."""
    answers: int = 0
    """That were read again from their trials, and verdicts on them,"""
    differ: int = 0
    """and those of them that the trials do not come to;"""
    against: list[str] = field(default_factory=list)
    """in words."""

    @property
    def every(self) -> Counter[Answer]:
        """How all answers stand."""
        return self.raw + self.clean + self.by_regime

    def add(self, other: Held) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def hold(model: Model, search: dict[str, Any], seeds: Sequence[int]) -> Held:
    """Let a search find what is true of a model in each of its worlds."""
    held = Held()
    for seed in seeds:
        held.add(_in_a_world(model, search, seed))
    return held


def _in_a_world(model: Model, search: dict[str, Any], seed: int) -> Held:
    spec = METHODS[search["kind"]].model_validate({**RANGE, **search})
    loads, world = LOADS[spec.kind], World(seed)
    bench, confirmed = Bench(model, world), spec.confirmed(loads)
    measurer, probe = bench.probe()
    held = Held(worlds=1)
    try:
        result = confirmed.run(probe)
        judge(bench, confirmed, believed(result, measurer.trials), measurer.trials, held)
        settings = spec.model_dump(mode="json")
        for name, against in of_a_model(settings, result, measurer.trials):
            held.answers += 1
            held.differ += bool(against)
            held.against += [f"{name}: {text}" for text in against]
    except (InvalidTrialError, ComponentError):
        held.raw[Answer.SAID] += len(GOALS)
    held.trials, held.ns = len(measurer.trials), world.now_ns
    held.held_ns = sum(one.held.ns for one in measurer.trials if one.held is not None)
    held.alone = alone(spec, loads, model, seed)
    return held


def of_a_model(
    search: Mapping[str, Any], result: SearchResult, trials: Sequence[Trial]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the answers of a search that found a model, and the verdicts on them, read again."""
    yield from answers(search, trials, result)
    yield from goals_of_case(search, trials, result, Around(CAP, LINE_RATE, switched=True))


def searched(
    search: str, model: Model, seed: int, budget: Budget | None = None
) -> tuple[dict[str, Any], SearchResult, list[Trial]] | None:
    """Return the settings of a search, what it says of a model, and its trials; None if nothing."""
    spec = METHODS[SEARCHES[search]["kind"]].model_validate({**RANGE, **SEARCHES[search]})
    measurer, probe = Bench(model, World(seed)).probe(budget)
    try:
        result = spec.confirmed(LOADS[spec.kind]).run(probe)
    except (InvalidTrialError, ComponentError):
        return None
    return spec.model_dump(mode="json"), result, measurer.trials


def alone(spec: Throughput, loads: Loads, model: Model, seed: int) -> int:
    """Return how many trials the method needs when nothing is done after it."""
    measurer, probe = Bench(model, World(seed)).probe()
    with suppress(InvalidTrialError, ComponentError):
        spec.search(loads).run(probe)
    return len(measurer.trials)


def judge(
    bench: Bench,
    confirmed: Confirmed,
    result: SearchResult,
    trials: Sequence[Trial],
    held: Held,
) -> None:
    """Say how the answers to each goal stand to the truth."""
    doubts = any(
        flag.severity is not Severity.NOTE
        for flag in flags_of(result.model_copy(update={"goals": ()}), trials)
    )
    model = bench.model
    for goal in result.goals:
        question = confirmed.questions[goal.goal]
        asked = Asked(bench, question, confirmed.duration_ns, trials, doubts)
        held.raw[_answer(model, goal, asked)] += 1
        if goal.clean is not None and goal.clean.limit is not None:
            clean = goal.model_copy(
                update={
                    "lower_fps": goal.clean.lower_fps,
                    "upper_fps": goal.clean.upper_fps,
                    "limit": goal.clean.limit,
                    "flags": goal.clean.flags,
                }
            )
            blamed = replace(model, limit="dut") if model.limit == "host" else model
            held.clean[_answer(blamed, clean, asked)] += 1
        for one in goal.regimes:
            there = in_a_regime(model, one)
            if one.limit is not None:
                partial = one.model_dump(include=PARTIAL)
                held.by_regime[_answer(there, goal.model_copy(update=partial), asked)] += 1
            else:
                held.by_regime[Answer.SAID] += 1


def in_a_regime(model: Model, told: RegimeResult) -> Model:
    """Return the model as it is in one regime: steady, slower while far, and without stalls."""
    truth = now(far if told.regime is Regime.FAR else lambda world: 1.0)
    return replace(model, course=None, truth=truth, limit="dut")


@dataclass(frozen=True)
class Asked:
    """What a goal was asked of, and what was said of all of it."""

    bench: Bench
    question: Question
    duration_ns: int
    """Of a full-length trial."""
    trials: Sequence[Trial]
    doubts: bool

    @property
    def exceed_ratio(self) -> Fraction:
        """Share of the time that may fail."""
        rule = self.question.rule
        return rule.exceed_ratio if isinstance(rule, DurationRule) else Fraction(0)

    def truth(self, course: Course) -> tuple[float, float]:
        """Return what is true in the long run: the highest load that meets the goal in it."""
        world, rule, ns = self.bench.world, self.question.rule, self.duration_ns
        there = [shares(course, world, one * APART_NS, ns, ns // 10) for one in range(MANY)]
        losses = [rule.loss_ratio]
        if isinstance(rule, VerificationRule):  # so much is tried again, and may pass then
            losses.append(losses[0] + Fraction(rule.loss_threshold, 20 * world.capacity))
        low, high = (
            met(((carried(one, loss), ns) for one in there), self.exceed_ratio)
            for loss in (losses[0], losses[-1])
        )
        return low * world.capacity, high * world.capacity

    def in_its_time(self, course: Course, goal: GoalResult) -> tuple[float, float]:
        """Return what is true of the time of trials at the bounds of an answer, as far as they go.

        Of one that lost frames it is seen how many came through, so it stands for a capacity that
        is the mean of its time; of one that lost none, only that there was enough.
        """
        world, rule = self.bench.world, self.question.rule
        shown = []
        for at_ns, trial in zip(self.bench.began_ns, self.trials, strict=True):
            if trial.load_fps not in (goal.lower_fps, goal.upper_fps) or not trial.valid:
                continue
            there = shares(course, world, at_ns, trial.duration_ns)
            through = float(trial.load_fps * (1 - trial.switch_loss_ratio) / (1 - rule.loss_ratio))
            whole = carried(there, rule.loss_ratio) * world.capacity
            shown.append((through if trial.lost_frames else whole, trial.duration_ns))
        return (met(shown, self.exceed_ratio),) * 2

    def assumed(self, model: Model, goal: GoalResult) -> tuple[float, float] | None:
        """Return what is true of an answer if what the run says that it assumes is so."""
        made = at_bounds(goal, self.trials)
        told = assumed(made)
        if model.course is not None and Assumption.STEADY in told:
            return self.in_its_time(model.course, goal)
        unseen = {Assumption.NO_BUFFER: model.timed, Assumption.NO_COPIES: model.numbered}
        if model.seeming is not None and any(one in told and not unseen[one] for one in unseen):
            low, high = model.seeming(self.bench.world, min(one.duration_ns for one in made))
            return low, high / float(1 - self.question.rule.loss_ratio)
        return None


def _answer(model: Model, goal: GoalResult, asked: Asked) -> Answer:
    world, loss = asked.bench.world, 1 - Fraction(goal.loss_ratio)
    exact = model.lossless if not Fraction(goal.loss_ratio) else None
    low, high = (exact or model.truth)(world)
    if model.limit == "uncounted" and Fraction(goal.loss_ratio):
        low = high = world.capacity  # a goal that allows the loss has the capacity as its truth
    truth = low, high / float(loss)
    if model.course is not None:
        truth = asked.truth(model.course)
    blamed = {"dut": Limit.DUT, "host": Limit.HOST, "uncounted": Limit.UNCOUNTED}[model.limit]
    rightly = goal.limit is blamed or Fraction(goal.loss_ratio) > 0 or model.limit == "host"
    if _holds(goal, truth) and rightly:
        return Answer.HOLDS
    said = (
        asked.doubts
        or goal.limit not in (Limit.DUT, Limit.LINK)
        or any(flag in TELLING or flag.severity is not Severity.NOTE for flag in goal.flags)
    )
    if said:
        return Answer.SAID
    assumed = asked.assumed(model, goal)
    return Answer.ASSUMED if assumed is not None and _holds(goal, assumed) else Answer.SILENT


def _holds(goal: GoalResult, truth: tuple[float, float]) -> bool:
    low, high = truth
    return (goal.lower_fps or 0) <= high * CLOSE + 1 and (
        goal.upper_fps is None or goal.upper_fps * CLOSE >= low - 1
    )


if __name__ == "__main__":
    main()
