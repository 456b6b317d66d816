"""Holds comparisons in turns against switches whose truth is known, over many sessions.

An interval is to hold the truth in 95 of 100 sessions, whatever machine and deployments do, and the
first switch is to differ from itself in no more than 5 of them. The ratio is that of intervals that
hold the truth to all, by model; beside it stand how wide they are and how often a change was seen.
With `--until decided`, sessions end at the look at which all is known, of `--rounds` at most. With
`--metric`, switches are held against each other by latency at 60 % of what the first one can, or by
loss at 110 % of that. The truth is what a machine without any scatter shows then; where the machine
changes by much there is none of latencies, so ask that of `noise`, `draws`, `slow-after-a-rest`.
With `--keep`, sessions are noted in a folder, and those that are there are not had once more.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from common import Option, Ratio, carry_out, options, say
from paired_models import FASTEST_FPS, MODELS, ModelTurns, PairedModel, method, session

from vsperf.methods.paired import PairedTurns
from vsperf.records.turn_ratios import compared
from vsperf.records.turns import CONTROL, DECIDED, Metric

EXAMPLE = "tools/bench/paired.py --sessions 40 --model draws"
CHANGE = 0.97
"""The rate of the rival, as a share of that of the first switch."""
LOADS = {Metric.LATENCY: 0.6, Metric.P99: 0.6, Metric.LOSS: 1.1}
"""Of what the first switch can; rates are those under an overload."""


WELL = (0.93, 0.97)
"""So many intervals at 95 % may hold the truth; those of looks hold it more often."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a session ended."""

    holds: bool = False
    control: bool | None = None
    """Whether the control holds that a switch is itself; None where there is no answer."""
    seen: bool | None = None
    wrong_way: bool = False
    width: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """How the sessions on one model ended."""

    outcomes: tuple[Outcome, ...]

    @property
    def holds(self) -> list[bool]:
        """Whether each holds the truth; one without an answer does not."""
        return [one.holds for one in self.outcomes]

    @property
    def control(self) -> list[bool]:
        """Whether a switch is itself, of those with an answer."""
        return [one.control for one in self.outcomes if one.control is not None]

    @property
    def seen(self) -> list[bool]:
        """Whether the change was seen, likewise."""
        return [one.seen for one in self.outcomes if one.seen is not None]

    @property
    def widths(self) -> list[float]:
        """Half the width of each interval, likewise."""
        return [one.width for one in self.outcomes if one.width is not None]

    @property
    def wrong_way(self) -> int:
        """How many say of the slower one that it is faster."""
        return sum(one.wrong_way for one in self.outcomes)


def main() -> None:
    """Print a line per model."""
    parser = options(
        __doc__,
        EXAMPLE,
        sessions=Option(400, 4, "of each model"),
        rounds=Option(8, 6, "of each session"),
        pairs=Option(100, 20, "of turns in each round"),
    )
    about = "whether looks end a session"
    parser.add_argument("--until", choices=["rounds", DECIDED], default="rounds", help=about)
    names = [one.value for one in Metric]
    parser.add_argument("--metric", choices=names, default="rate", help="what is compared")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions are noted")
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS])
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Have sessions on the wanted models."""
    say(f"{'model':<20}{'holds':>8}{'control':>9}{'seen':>8}{'wrong way':>11}{'± %':>8}")
    shares: dict[str, float] = {}
    for model in MODELS:
        if found.model and model.name not in found.model:
            continue
        asked = asked_for(
            Metric(found.metric), rounds=found.rounds, pairs=found.pairs, until=found.until
        )
        held = hold(model, found.sessions, asked, found.keep)
        shares[model.name] = statistics.mean(held.holds)
        cells = (statistics.mean(one) for one in (held.holds, held.control, held.seen))
        first, second, third = (f"{100 * one:.1f}" for one in cells)
        width = 100 * statistics.median(held.widths)
        say(f"{model.name:<20}{first:>8}{second:>9}{third:>8}{held.wrong_way:>11}{width:>8.2f}")
    least, most = WELL
    off = [name for name, share in shares.items() if not least <= share <= most]
    if off and found.until != DECIDED:
        say(f"outside of {least:.0%} to {most:.0%}: {', '.join(off)}")
    return Ratio.of("intervals that hold the truth to all", list(shares.values()))


def asked_for(metric: Metric, **settings: Any) -> PairedTurns:
    """Return the method for what is compared."""
    if metric is Metric.RATE:
        return method(**settings)
    return method(**settings, load=f"{load_of(metric)}fps", metric=metric.value)


def load_of(metric: Metric) -> int:
    """Return the load for what is compared."""
    return round(LOADS[metric] * FASTEST_FPS)


def bench_of(model: PairedModel, seed: int, metric: Metric) -> ModelTurns:
    """Return a bench for a session."""
    bench = session(model, seed, CHANGE)
    if metric is not Metric.RATE:
        bench.loads = replace(bench.loads, fixed=(load_of(metric),))
    return bench


def truth_of(asked: PairedTurns) -> float:
    """Return what a machine shows on which nothing scatters."""
    metric = asked.terms.metric
    if metric is Metric.RATE:
        return CHANGE
    bench = bench_of(PairedModel("quiet"), 1, metric)
    asked.play(bench)
    found = compared(bench.rounds, "B", terms=asked.terms, metric=metric)
    if found is None:
        raise AssertionError("turns without a gap always tell")
    return found.ratio


def hold(model: PairedModel, sessions: int, asked: PairedTurns, keep: Path | None = None) -> Held:
    """Have sessions on a model, each with other chance; those that were noted are had already."""
    noted = None if keep is None else keep / f"{model.name}.jsonl"
    words = asked.model_dump_json()
    found = dict(_read(noted, words)) if noted is not None and noted.exists() else {}
    truth = truth_of(asked)
    for seed in range(1, sessions + 1):
        if seed in found:
            continue
        found[seed] = outcome_of(model, seed, asked, truth)
        if noted is not None:
            noted.parent.mkdir(parents=True, exist_ok=True)
            line = {"asked": words, "seed": seed, "outcome": asdict(found[seed])}
            with noted.open("a") as file:
                file.write(f"{json.dumps(line)}\n")
    return Held(tuple(found[seed] for seed in range(1, sessions + 1)))


def _read(noted: Path, words: str) -> Iterator[tuple[int, Outcome]]:
    """Yield the sessions that were asked in the same way, by their seeds."""
    for text in noted.read_text().splitlines():
        with suppress(ValueError):  # whoever was killed left half a line
            line = json.loads(text)
            if line["asked"] == words:
                yield line["seed"], Outcome(**line["outcome"])


def outcome_of(model: PairedModel, seed: int, asked: PairedTurns, truth: float) -> Outcome:
    """Have a session."""
    metric, terms = asked.terms.metric, asked.terms
    bench = bench_of(model, seed, metric)
    asked.play(bench)
    rival, control = (
        compared(bench.rounds, one, terms=terms, metric=metric) for one in ("B", CONTROL)
    )
    if rival is None or control is None or rival.lower is None or rival.upper is None:
        return Outcome()
    return Outcome(
        holds=rival.lower <= truth <= rival.upper,
        control=not control.different,
        seen=rival.different,
        wrong_way=rival.different and not rival.worse,
        width=(rival.upper / rival.lower) ** 0.5 - 1,
    )


if __name__ == "__main__":
    main()
