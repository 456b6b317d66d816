"""Holds comparisons in turns against switches whose truth is known, over many sessions.

An interval is to hold the truth in 95 of 100 sessions, whatever machine and deployments do, and the
first switch is to differ from itself in no more than 5 of them. The ratio is that of intervals that
hold the truth to all, by model; beside it stand how wide they are and how often a change was seen.
With `--until decided`, sessions end at the look at which all is known, of at most `--rounds`. With
`--metric`, switches are held against each other by latency at 60 % of what the first one can, or by
loss at 110 % of that. The truth is what a machine without any scatter shows then; where the machine
changes by much there is none of latencies, so ask that of `noise`, `draws`, `slow-after-a-rest`.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass, field, replace
from typing import Any

from common import Option, Ratio, carry_out, options, say, wanted
from paired_models import FASTEST_FPS, MODELS, ModelTurns, PairedModel, method, session

from vsperf.methods.paired import PairedTurns
from vsperf.records.turn_ratios import compared
from vsperf.records.turns import CONTROL, DECIDED, Metric

EXAMPLE = "tools/bench/paired.py --sessions 40 --model draws"
CHANGE = 0.97
"""The rate of the rival, as a share of that of the first switch."""
LOADS = {Metric.LATENCY: 0.6, Metric.P99: 0.6, Metric.LOSS: 1.1}
"""Of what the first switch can; rates are those under an overload."""


@dataclass
class Held:
    """How the sessions on one model ended."""

    holds: list[bool] = field(default_factory=list)
    control: list[bool] = field(default_factory=list)
    """Whether the control holds that a switch is itself."""
    seen: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    wrong_way: int = 0


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
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS])
    found = wanted(parser)
    carry_out(lambda: measure(found))


def measure(found: argparse.Namespace) -> Ratio:
    """Have sessions on the wanted models."""
    say(f"{'model':<20}{'holds':>8}{'control':>9}{'seen':>8}{'wrong way':>11}{'± %':>8}")
    shares = []
    for model in MODELS:
        if found.model and model.name not in found.model:
            continue
        asked = asked_for(
            Metric(found.metric), rounds=found.rounds, pairs=found.pairs, until=found.until
        )
        held = hold(model, found.sessions, asked)
        shares.append(statistics.mean(held.holds))
        cells = (statistics.mean(one) for one in (held.holds, held.control, held.seen))
        first, second, third = (f"{100 * one:.1f}" for one in cells)
        width = 100 * statistics.median(held.widths)
        say(f"{model.name:<20}{first:>8}{second:>9}{third:>8}{held.wrong_way:>11}{width:>8.2f}")
    return Ratio.of("intervals that hold the truth to all", shares)


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


def hold(model: PairedModel, sessions: int, asked: PairedTurns) -> Held:
    """Have sessions on a model, each with other chance."""
    held, terms = Held(), asked.terms
    truth, metric = truth_of(asked), asked.terms.metric
    for seed in range(1, sessions + 1):
        bench = bench_of(model, seed, metric)
        asked.play(bench)
        rival, control = (
            compared(bench.rounds, one, terms=terms, metric=metric) for one in ("B", CONTROL)
        )
        if rival is None or control is None or rival.lower is None or rival.upper is None:
            held.holds.append(False)
            continue
        held.holds.append(rival.lower <= truth <= rival.upper)
        held.control.append(not control.different)
        held.seen.append(rival.different)
        held.wrong_way += rival.different and not rival.worse
        held.widths.append((rival.upper / rival.lower) ** 0.5 - 1)
    return held


if __name__ == "__main__":
    main()
