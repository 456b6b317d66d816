"""Holds comparisons in turns against switches whose truth is known, over many sessions.

An interval is to hold the truth in 95 of 100 sessions, whatever machine and deployments do, and the
first switch is to differ from itself in no more than 5 of them. The ratio is that of intervals that
hold the truth to all, by model; beside it stand how wide they are and how often a change was seen.
With `--until decided`, sessions end at the look at which all is known, of at most `--rounds`.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass, field

from common import Option, Ratio, carry_out, options, say, wanted
from paired_models import MODELS, PairedModel, method, session

from vsperf.methods.paired import PairedTurns
from vsperf.records.turns import CONTROL, DECIDED, compared

EXAMPLE = "tools/bench/paired.py --sessions 40 --model draws"
CHANGE = 0.97
"""The rate of the rival, as a share of that of the first switch."""


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
        asked = method(rounds=found.rounds, pairs=found.pairs, until=found.until)
        held = hold(model, found.sessions, asked)
        shares.append(statistics.mean(held.holds))
        cells = (statistics.mean(one) for one in (held.holds, held.control, held.seen))
        first, second, third = (f"{100 * one:.1f}" for one in cells)
        width = 100 * statistics.median(held.widths)
        say(f"{model.name:<20}{first:>8}{second:>9}{third:>8}{held.wrong_way:>11}{width:>8.2f}")
    return Ratio.of("intervals that hold the truth to all", shares)


def hold(model: PairedModel, sessions: int, asked: PairedTurns) -> Held:
    """Have sessions on a model, each with other chance."""
    held, terms = Held(), asked.terms
    for seed in range(1, sessions + 1):
        bench = session(model, seed, CHANGE)
        asked.play(bench)
        rival, control = (compared(bench.rounds, one, terms=terms) for one in ("B", CONTROL))
        if rival is None or control is None or rival.lower is None or rival.upper is None:
            held.holds.append(False)
            continue
        held.holds.append(rival.lower <= CHANGE <= rival.upper)
        held.control.append(not control.different)
        held.seen.append(rival.different)
        held.wrong_way += rival.different and rival.ratio > 1
        held.widths.append((rival.upper / rival.lower) ** 0.5 - 1)
    return held


if __name__ == "__main__":
    main()
