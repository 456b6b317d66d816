"""Runs a testcase several times, and counts in how many pairs of runs the answers agree.

A run says where one more deployment of the switch lies, case by case: what one deployment draws is
in that. Two runs agree on a case where these intervals meet; those of one regime are held against
others of the same. Beside it stands in how many pairs the intervals of the deployments themselves
meet. The switch is asked on two deployments, as `make run` does.

Runs are kept in --folder. Called once more, it makes those that are missing or failed, and prints
the table of all. What stands behind -- goes to vsperf. The ratio is that of pairs that agree to
all, by case.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from common import Option, Ratio, carry_out, options, say
from paired_kept import Kept, kept_in

from vsperf.analysis.answers import alone_in, parted
from vsperf.analysis.deployments import Apart, deployments_of
from vsperf.analysis.summary import CaseRow
from vsperf.quantities.human import human_fps, human_interval, human_seconds
from vsperf.records.files.view import RunView

EXAMPLE = "tools/bench/runs_agree.py --folder build/make-run -- --budget 7m --wait 2m"
SHORT = (
    "--testbed=sim",
    "--set=vswitch.draw=2%",
    "--set=traffic.frame_size=[64B, 68B, 72B, 76B, 80B]",
)

Span = tuple[float, float]
Case = tuple[str, str]
"""A case, and the regime that its answer is from; nothing where all runs met one."""


def main() -> None:
    """Make the runs that are missing, and print where each has its answers."""
    parser = options(
        __doc__,
        EXAMPLE,
        runs=Option(5, 3, "in all"),
        testcase=Option("phy2phy_tput", "phy2phy_tput", "what is run"),
        folder=Option("build/runs-agree", "", "where they are kept"),
    )
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="arguments of vsperf run")
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Hold each run against each."""
    with kept_in(found.folder, "run") as kept:
        views = list(had(found, kept))
        rows = [[CaseRow.of(case) for case in view.cases()] for view in views]
    drawn, plain = places_of(rows)
    shares = []
    say(f"\n{'':<14}{'pairs':>6}{'agree':>6}{'plain':>6}  one more deployment, by run")
    for (case, regime), spans in sorted(drawn.items()):
        pairs = list(combinations(spans, 2))
        agree, also = (sum(map(meet, of)) for of in (pairs, combinations(plain[case, regime], 2)))
        shares += [agree / len(pairs)] if pairs else []
        told = ", ".join(human_interval(*span, human_fps) for span in spans)
        say(f"{f'{case} {regime}':<14}{len(pairs):>6}{agree:>6}{also:>6}  {told}")
    return Ratio.of("runs that agree to all pairs", shares)


def had(found: argparse.Namespace, kept: Kept) -> Iterator[RunView]:
    """Yield all runs that do not fail, and make those that are missing."""
    for number in range(1, found.runs + 1):
        model = (*SHORT, f"--set=generator.seed={number}") if found.short else ()
        words = (found.testcase, "--set=search.draws=2", *model, *found.more)
        if (made := kept.run(f"run-{number}", words)) is not None:
            view, seconds = made
            say(f"run-{number}: {human_seconds(seconds)}")
            yield view


def places_of(
    runs: Sequence[Sequence[CaseRow]],
) -> tuple[dict[Case, list[Span]], dict[Case, list[Span]]]:
    """Return where one more lies and where the deployments themselves do, by case and run."""
    boundary = parted(row.result for rows in runs for row in rows)
    drawn, plain = defaultdict[Case, list[Span]](list), defaultdict[Case, list[Span]](list)
    for rows in runs:
        cases = deployments_of(rows)
        apart = Apart.of(case.ends for case in cases)
        for case in cases if apart else ():
            regime = case.regime or alone_in(case.row.result, boundary)
            if apart and (there := apart.one_more(case.ends)):
                key = (case.case, str(regime or ""))
                lowers, uppers = zip(*case.ends, strict=True)
                drawn[key].append(there)
                plain[key].append((min(lowers), max(uppers)))
    return drawn, plain


def meet(spans: tuple[Span, Span]) -> bool:
    """Whether two intervals have a rate in common."""
    (low, high), (other_low, other_high) = spans
    return low <= other_high and other_low <= high


if __name__ == "__main__":
    main()
