"""Holds several switches against each other, each against each, by frame size and number of flows.

Each size and number of flows is a run of `phy2phy_paired`, in which all switches stand at the same
time. Of each pair it is told by how much the second forwards more or less than the first, where
that is sure; else, as ±, within which share both are alike. `load` says that both brought all
through that the generator can offer, `?` that nothing is known, and `!` that the first switch
differed from itself, which it does by chance in one of twenty cells: then that is made once more.

What is made is kept in --folder. Called once more, it goes on with what is missing; --times 2 makes
all of it a second time, on another day as well, and verdicts that differ are listed. A switch of
the kernel comes last. The ratio is that of pairs that are decided, or alike within a share, to all;
each time of the table is a round.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from common import Option, Ratio, carry_out, options, say
from paired_kept import Kept, Made, kept_in, list_of

from vsperf.quantities.human import human_fps, human_interval, human_seconds
from vsperf.records.turn_ratios import Compared, compared, values_of
from vsperf.records.turns import CONTROL, Named, carried

EXAMPLE = """tools/bench/paired_table.py --folder build/five-switches --pairs 50 \\
      --switch 'name: ovs-3.1, kind: ovs-dpdk' \\
      --switch 'name: ovs-3.5, kind: ovs-dpdk, root: /srv/trees/trixie' \\
      --switch 'kind: vpp' --switch 'kind: testpmd' --switch 'kind: linux-bridge, ports: pair'"""
USUAL = ("kind: ovs-dpdk", "kind: testpmd")
WIDTH = 11


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a pair."""

    word: str
    """slower, faster or alike; nothing where that is not decided."""
    text: str

    @classmethod
    def of(cls, found: Compared | None, *, doubted: bool) -> Verdict:
        if found is None or not found.bounded:
            return cls("", "?")
        if found.of_the_load:
            return cls("", "load")
        if doubted:
            return cls("", "!")
        if found.different:
            more = "≥ " if found.carried else "≤ " if found.base_carried else ""
            return cls("slower" if found.less else "faster", f"{more}{found.ratio - 1:+.1%}")
        lower, upper = found.ends
        if not lower or upper is None:
            return cls("", "?")
        return cls("alike", f"±{max(1 - lower, upper - 1):.1%}")


@dataclass(frozen=True)
class Cell:
    """All switches at one frame size and number of flows."""

    name: str
    seconds: float
    sides: tuple[Named, ...]
    rates: Mapping[str, str]
    """By letter, per direction, for people."""
    verdicts: Mapping[tuple[str, str], Verdict]
    """By the letters of a pair."""

    @classmethod
    def of(cls, name: str, made: Made) -> Cell:
        sides = made.rounds[0].sides if made.rounds else ()
        kept = tuple(side for side in sides if side.letter != CONTROL)
        return cls(
            name,
            made.seconds,
            kept,
            {side.letter: rate_of(made, side.letter) for side in kept},
            {
                (one.letter, other.letter): Verdict.of(
                    compared(made.rounds, other.letter, base=one.letter, terms=made.terms),
                    doubted=made.control_differs,
                )
                for one, other in itertools.combinations(kept, 2)
            },
        )


def rate_of(made: Made, letter: str) -> str:
    """Write what a switch forwards; of one that brought all through it is known to be no less."""
    found = values_of(made.rounds, letter)
    if not found:
        return "–"
    more = made.terms.overload and any(carried(one, letter) for one in made.rounds)
    text = human_interval(statistics.median(found), None, human_fps)
    return text.removesuffix("fps") if more else text.removeprefix("≥ ").removesuffix("fps")


def main() -> None:
    """Make what is missing, and print a table for each time."""
    parser = options(
        __doc__,
        EXAMPLE,
        sizes=Option("64,512,1518", "64", "of frames, in bytes"),
        flows=Option("1,10k,1M", "1", "per direction"),
        rounds=Option(8, 6, "of each comparison"),
        pairs=Option(100, 20, "of turns in each round"),
        times=Option(1, 1, "that the table is made"),
        folder=Option("build/paired-table", "", "where it is kept"),
    )
    about = "its settings, as YAML; repeatable, the first is held against itself, too"
    parser.add_argument("--switch", action="append", help=about)
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="arguments of vsperf run")
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Make the table as often as is wanted."""
    with kept_in(found.folder) as kept:
        times = [cells_of(found, kept, time) for time in range(1, found.times + 1)]
    for number, cells in enumerate(times, start=1):
        tell(number, cells)
    for one, other in itertools.combinations(enumerate(times, start=1), 2):
        tell_differing(*one, *other)
    shares = [
        statistics.mean(bool(one.word) for cell in cells for one in cell.verdicts.values())
        for cells in times
        if any(cell.verdicts for cell in cells)
    ]
    return Ratio.of("pairs decided or alike to all", shares)


def cells_of(found: argparse.Namespace, kept: Kept, time: int) -> list[Cell]:
    """Return all cells of a time, and make those that are missing."""
    cells = []
    for flows, size in itertools.product(found.flows.split(","), found.sizes.split(",")):
        name = f"{size}B {flows}"
        words = (
            "phy2phy_paired",
            list_of(found.switch or USUAL),
            f"--set=traffic.frame_size={size}B",
            f"--set=traffic.flows={flows}",
            f"--set=search.rounds={found.rounds}",
            f"--set=search.pairs={found.pairs}",
            *found.more,
        )
        if (made := made_for(kept, f"{time}-{size}-{flows}", words)) is not None:
            cells.append(Cell.of(name, made))
    return cells


def made_for(kept: Kept, name: str, words: Sequence[str]) -> Made | None:
    """Return a comparison; one whose control differs is made once more, and that one counts."""
    made = kept.had(name, words)
    if made is None or not made.control_differs:
        return made
    again = kept.had(f"{name}-again", words)
    return made if again is None else replace(again, seconds=made.seconds + again.seconds)


def tell(number: int, cells: Sequence[Cell]) -> None:
    """Print what each switch forwards, and how each stands to each."""
    names = {side.letter: side.name for cell in cells for side in cell.sides}
    took = human_seconds(sum(cell.seconds for cell in cells))
    heads = "".join(f"{cell.name:>{WIDTH}}" for cell in cells)
    say(f"\n{f'time {number}, {took}':<28}{heads}")
    for letter, name in names.items():
        texts = (cell.rates.get(letter, "–") for cell in cells)
        say(f"{name:<28}{''.join(f'{text:>{WIDTH}}' for text in texts)}")
    for one, other in itertools.combinations(names, 2):
        found = (cell.verdicts.get((one, other)) for cell in cells)
        texts = ("–" if verdict is None else verdict.text for verdict in found)
        row = f"{names[other]} to {names[one]}"
        say(f"{row:<28}{''.join(f'{text:>{WIDTH}}' for text in texts)}")


def tell_differing(
    number: int, cells: Sequence[Cell], other_number: int, others: Sequence[Cell]
) -> None:
    """Print the verdicts in which two times differ."""
    by_name = {cell.name: cell for cell in others}
    same, lines = 0, list[str]()
    for cell in cells:
        names = {side.letter: side.name for side in cell.sides}
        for pair, verdict in cell.verdicts.items():
            other = by_name[cell.name].verdicts.get(pair) if cell.name in by_name else None
            if other is None:
                continue
            same += verdict.word == other.word
            if verdict.word != other.word:
                row = f"{cell.name}: {names[pair[1]]} to {names[pair[0]]}"
                lines.append(f"  {row}: {verdict.text}, then {other.text}")
    say(f"\ntimes {number} and {other_number}: {same} verdicts are the same, {len(lines)} differ")
    for line in lines:
        say(line)


if __name__ == "__main__":
    main()
