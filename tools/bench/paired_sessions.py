"""Has real switches held against each other in many sessions, and counts how often that was right.

Each session is a run of `phy2phy_paired`. By itself a switch is held against the same one under
another name, and whatever is called different is wrong. With --rival, settings that make it slower,
what all rounds of all sessions come to is taken for the truth. Every second session names the two
in the other order, and each third one runs beside two busy loops. The switch `reference` can be
given any amount of work, so much that the generator is faster than both of them:
--switch 'kind: reference, work: 600' --rival 'work: 632'.

Sessions are kept in --folder, one for each question. Called once more, it goes on with those that
are missing, and prints the table of all. What stands behind -- goes to vsperf, such as
--set=trial.warm_up=0s for shorter rounds. The ratio is that of intervals that hold the truth to
all, by kind of session.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml
from common import Option, Ratio, carry_out, options, say
from paired_kept import Kept, Made, busily, kept_in, list_of

from vsperf.errors import ComponentError
from vsperf.records.signed_ranks import Middle, middle_of
from vsperf.records.turn_ratios import Compared, compared
from vsperf.records.turns import FIRST

EXAMPLE = """tools/bench/paired_sessions.py --folder build/ovs-a-a
  .venv/bin/python tools/bench/paired_sessions.py --folder build/ovs-a-b --busy 0 \\
      --rival 'flows: network' --rounds 16 --pairs 40 -- --set=search.control=false"""
COLUMNS = "sessions answers open control seen wrong hold middle ± s late"
RIVAL = "B"
LOOPS = 2
SOUGHT = 0.97
"""The ratio that is to be seen,"""
OFTEN = 0.95
"""in so many of all sessions."""
EFFICIENCY = 3 / math.pi
"""Of signed ranks, where rounds are scattered normally."""


@dataclass(frozen=True)
class Session:
    """One session, and what it says of the rival beside the switch, in whichever order."""

    kind: str
    """What tells it from other sessions."""
    seconds: float
    found: Compared | None
    """How the rival stands to the switch."""
    doubted: bool
    """Whether the control differs, so that nothing is believed."""

    @classmethod
    def of(cls, made: Made, *, busy: bool, turned: bool) -> Session:
        """Look at a session; `turned` is one in which the rival came first."""
        rival, switch = (FIRST, RIVAL) if turned else (RIVAL, FIRST)
        order = "rival first" if turned else "rival second"
        return cls(
            f"{'busy' if busy else 'alone'}, {order}",
            made.seconds,
            compared(made.rounds, rival, base=switch, terms=made.terms),
            made.control_differs,
        )


def main() -> None:
    """Make what is missing, and print a line per kind of session."""
    parser = options(
        __doc__,
        EXAMPLE,
        sessions=Option(100, 1, "in all"),
        rounds=Option(8, 6, "of each session"),
        pairs=Option(100, 20, "of turns in each round"),
        busy=Option(3, 0, "one session in so many runs beside two busy loops; none with 0"),
        rest=Option(0.0, 0.0, "seconds that these loops sleep after each second"),
        within=Option(120, 120, "seconds that a session may take"),
        folder=Option("build/paired-sessions", "", "where they are kept"),
    )
    parser.add_argument("--switch", default="kind: ovs-dpdk", help="its settings, as YAML")
    parser.add_argument("--rival", help="settings that a rival has beside those, or in their place")
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="arguments of vsperf run")
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Have the sessions, and say what all of them come to."""
    with kept_in(found.folder) as kept:
        sessions = list(had(found, kept))
    return tell(sessions, found.within, rival=found.rival is not None)


def had(found: argparse.Namespace, kept: Kept) -> Iterator[Session]:
    """Yield all sessions that do not fail, and make those that are missing."""
    for number in range(1, found.sessions + 1):
        busy = found.busy > 0 and number % found.busy == 0
        turned = number % 2 == 0
        name = f"{number:04}-{f'busy-{found.rest:g}' if busy else 'alone'}"
        beside = busily(LOOPS, found.rest) if busy else None
        made = kept.had(name, words_of(found, turned=turned), beside)
        if made is not None:
            one = Session.of(made, busy=busy, turned=turned)
            say(f"{number} {one.kind}: {text_of(one.found)}, {one.seconds:.0f} s")
            yield one


def changed(settings: str, others: str) -> str:
    """Return settings with others in their place, or beside them."""
    known, own = (yaml.safe_load(f"{{{text}}}") for text in (settings, others))
    return ", ".join(f"{name}: {json.dumps(value)}" for name, value in {**known, **own}.items())


def words_of(found: argparse.Namespace, *, turned: bool) -> tuple[str, ...]:
    """Return what a session asks of vsperf."""
    rival = changed(found.switch, found.rival) if found.rival else found.switch
    switches = [f"name: switch, {found.switch}", f"name: rival, {rival}"]
    return (
        "phy2phy_paired",
        list_of(switches[::-1] if turned else switches),
        f"--set=search.rounds={found.rounds}",
        f"--set=search.pairs={found.pairs}",
        *found.more,
    )


def tell(sessions: Sequence[Session], within_s: float, *, rival: bool) -> Ratio:
    """Print the table, and return which share of intervals holds the truth, by kind."""
    truth = whole(sessions) if rival else Middle(0.0, 0.0, 0.0)
    say(f"\n{'':<21}{''.join(f'{one:>9}' for one in COLUMNS.split())}")
    shares: list[float] = []
    for kind in sorted({one.kind for one in sessions}):
        of_kind = [one for one in sessions if one.kind == kind]
        held = line_of(kind, of_kind, truth.value, within_s, rival=rival)
        shares += [] if held is None else [held]
    line_of("all", sessions, truth.value, within_s, rival=rival)
    tell_rounds(sessions, truth, rival=rival)
    return Ratio.of("intervals that hold the truth to all", shares)


def line_of(
    kind: str, sessions: Sequence[Session], truth: float, within_s: float, *, rival: bool
) -> float | None:
    """Print a line, and return which share of intervals holds the truth; None without any."""
    answers = [one.found for one in sessions if one.found is not None and one.found.decided]
    believed = [one.found for one in sessions if one.found is not None and not one.doubted]
    seen = [found for found in believed if found.different]
    wrong = [found for found in seen if not (rival and found.less)]
    holds = [_low(found) <= truth <= _high(found) for found in answers]
    closed = [found for found in answers if None not in found.ends and found.ends[0]]
    widths = [(_high(found) - _low(found)) / 2 for found in closed]
    seconds = [one.seconds for one in sessions]
    cells = (
        f"{len(sessions)}",
        f"{len(answers)}",
        f"{len(answers) - len(closed)}",
        f"{sum(one.doubted for one in sessions)}",
        f"{len(seen)}",
        f"{len(wrong)}",
        f"{sum(holds)}",
        f"{_percent(whole(sessions).value)} %" if answers else "–",
        f"{100 * statistics.median(widths):.2f} %" if widths else "–",
        f"{statistics.median(seconds):.0f}" if seconds else "–",
        f"{sum(one > within_s for one in seconds)}",
    )
    say(f"{kind:<21}{''.join(f'{one:>9}' for one in cells)}")
    return statistics.mean(holds) if holds else None


def tell_rounds(sessions: Sequence[Session], truth: Middle, *, rival: bool) -> None:
    """Say what rounds come to, and how many of them a session needs to see what is sought."""
    found = whole(sessions) if not rival else truth
    apart = [
        statistics.variance([math.log(each.ratio) for each in one.found.rounds])
        for one in sessions
        if one.found is not None and len(one.found.rounds) > 1
    ]
    if not apart:
        return
    normal = statistics.NormalDist()
    deviations = normal.inv_cdf(0.975) + normal.inv_cdf(OFTEN)
    needed = (deviations / math.log(SOUGHT)) ** 2 * statistics.mean(apart) / EFFICIENCY
    say(
        f"all rounds: {100 * math.expm1(found.value):+.2f} % [{_percent(found.lower)}, "
        f"{_percent(found.upper)}]; they lie {100 * math.sqrt(statistics.mean(apart)):.1f} % apart "
        f"(standard deviation), so {1 - SOUGHT:.0%} is seen in {OFTEN:.0%} of sessions of some "
        f"{math.ceil(needed)} rounds"
    )


def whole(sessions: Sequence[Session]) -> Middle:
    """Return what all rounds of all sessions come to, as a logarithm."""
    every = [math.log(each.ratio) for one in sessions if one.found for each in one.found.rounds]
    if not every:
        raise ComponentError("no round of any session tells how the two stand to each other")
    return middle_of(every)


def text_of(found: Compared | None) -> str:
    """Write what a session found."""
    if found is None or not found.decided:
        return "no answer"
    return (
        f"{100 * (found.ratio - 1):+.1f} % [{_percent(_low(found))}, {_percent(_high(found))}]"
        f"{', different' if found.different else ''}"
    )


def _percent(logarithm: float | None) -> str:
    return "–" if logarithm is None else f"{100 * math.expm1(logarithm):+.1f}"


def _low(found: Compared) -> float:
    lower, _ = found.ends
    return math.log(lower) if lower else -math.inf


def _high(found: Compared) -> float:
    _, upper = found.ends
    return math.inf if upper is None else math.log(upper)


if __name__ == "__main__":
    main()
