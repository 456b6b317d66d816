"""How tests are run: which tier and shard, what has passed before, and which are run again."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from machine_away import Watch, Watcher
from tiers import (
    Memory,
    Shard,
    by_module,
    digest_of,
    is_everyday,
    is_quick,
    is_real,
    remember_scaffolding,
    shards_of,
    touches_the_machine,
    unit_of,
)

AGAIN = 2
"""How often at most a test is run again, and only where the machine was away."""
LONG_S = 15.0
"""An everyday test of the real machine that takes longer has to say why it is worth it."""
EVIDENCE = "machine"
TIERS: dict[str, tuple[Callable[[pytest.Item], bool], str]] = {
    "quick": (is_quick, "that take longer (make test)"),
    "everyday": (is_everyday, "of the thorough tier (make test-all)"),
    "all": (lambda _: True, ""),
}
"""Which tests a tier has, and what is said of the others."""
PLACES = 10


def add_options(parser: pytest.Parser) -> None:
    """Add the options of `make test` and `make test-all`."""
    group = parser.getgroup("tiers of tests")
    group.addoption("--tier", choices=list(TIERS), default="all", help="which tests (default: all)")
    group.addoption(
        "--disturbable", action="store_true", help="only what touches machine, processes or clocks"
    )
    group.addoption("--shard", type=Shard.parse, metavar="3/8", help="a part of the tests")
    group.addoption(
        "--remaining", action="store_true", help="only what has not passed yet at this commit"
    )


class Selection:
    """Chooses tests by tier, shard and memory, and tells what was not chosen."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_of_tier, self.of_other_tiers = TIERS[config.option.tier]
        self.shard: Shard | None = config.option.shard
        # Workers are told what has passed, so that all of them choose alike.
        told = getattr(config, "workerinput", {})
        self.memory = Memory.of_this_checkout() if not told else Memory(None)
        passed = told.get("passed") or (self.memory.passed() if not told else {})
        self.passed: dict[str, float] = passed if config.option.remaining else {}
        self.left_out: Counter[str] = Counter()
        self.all = 0
        self.all_passed = 0
        """Of all tests that there are, how many have passed before this run."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed"] = self.passed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.all = len(items)
        self.all_passed = sum(item.nodeid in self.passed for item in items)
        shards: dict[str, int] = {}
        if self.shard:
            units: dict[str, bool] = {}
            for item in items:
                units[unit_of(item)] = units.get(unit_of(item), False) or is_real(item)
            shards = shards_of(units, self.shard.count)
        kept: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            reason = self._reason_against(item, shards)
            (left_out if reason else kept).append(item)
            if reason:
                self.left_out[reason] += 1
        items[:] = kept
        self.config.hook.pytest_deselected(items=left_out)

    def _reason_against(self, item: pytest.Item, shards: dict[str, int]) -> str | None:
        if not self.is_of_tier(item):
            return self.of_other_tiers
        if self.config.option.disturbable and not touches_the_machine(item):
            return "that no machine can disturb"
        if self.shard and shards[unit_of(item)] != self.shard.number:
            return f"of other shards than {self.shard}"
        return "passed before at this commit" if item.nodeid in self.passed else None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["chosen"] = (dict(self.left_out), self.all, self.all_passed)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # All workers choose alike, so one speaks for all; one that crashed does not.
        if chosen := getattr(node, "workeroutput", {}).get("chosen"):
            left_out, self.all, self.all_passed = chosen
            self.left_out = Counter(left_out)


class Outcomes:
    """Remembers what passed, and says at the end where the time went."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.spoiled: set[str] = set()
        self.passed = 0
        self.unexplained: dict[str, float] = {}
        self.counts = False
        """Whether a test has counted something that is told at the end, with all before it."""
        self.scaffolding: defaultdict[str, set[str]] = defaultdict(set)
        """The tests of each state of what they test, by its digest."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        # What a worker knows of its tests reaches the other end with their reports.
        outcome = yield
        report = outcome.get_result()
        everyday = item.get_closest_marker("everyday")
        report.unexplained = everyday is not None and is_real(item) and not everyday.args
        scaffolding = item.get_closest_marker("scaffolding")
        report.scaffolding = digest_of(scaffolding.args) if scaffolding else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":  # of an attempt: what an earlier one came to is over
            self.seconds[report.nodeid] = 0.0
            self.spoiled.discard(report.nodeid)
        self.seconds[report.nodeid] += report.duration
        if getattr(report, "unexplained", False) and report.when == "call":
            # Its own time: set-up may have waited until the machine was free.
            self.unexplained[report.nodeid] = report.duration
        if digest := getattr(report, "scaffolding", ""):
            self.scaffolding[digest].add(report.nodeid)
        told = report.user_properties if report.when == "call" else []
        # By record_property(NAME, NUMBER).
        if figures := {name: number for name, number in told if isinstance(number, int)}:
            self.selection.memory.count(report.nodeid, figures)
            self.counts = True
        if report.outcome != "passed":  # one that will be run again is taken down first
            self.spoiled.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self.spoiled:
            self.passed += 1
            self.selection.memory.add(report.nodeid, self.seconds[report.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode
    ) -> None:
        write = terminalreporter.line
        if left_out := self.selection.left_out:
            terminalreporter.section("not chosen")
            for reason, count in left_out.most_common():
                write(f"{count:6} {reason}")
        modules = by_module(self.seconds)
        if len(modules) > 1:
            terminalreporter.section("where the time went")
            for module, seconds in list(modules.items())[:PLACES]:
                write(f"{seconds:6.0f} s {module}")
        self._say_what_is_long(write)
        again = terminalreporter.getreports("rerun")
        if again:
            terminalreporter.section(f"{len(again)} again: machine away")
            for report in again:
                evidence = dict(report.sections).get(EVIDENCE, "")
                write(f"{report.nodeid}: {evidence}; {_first_words(report)}")

        remaining = terminalreporter.config.option.remaining
        if (remaining or self.counts) and (counted := self.selection.memory.counted()):
            terminalreporter.section("counted at this commit")
            for name, number in sorted(counted.items()):
                write(f"{number:12,} {name}")
        if remaining:
            self._say_what_is_left(terminalreporter)
        if self._is_whole(terminalreporter.config, exitstatus):
            for digest, tests in self.scaffolding.items():
                if not tests & self.spoiled:
                    remember_scaffolding(digest)

    def _is_whole(self, config: pytest.Config, exitstatus: pytest.ExitCode) -> bool:
        """Whether nobody has asked for a part, nor cut it off: part of the tests proves little."""
        option = config.option
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or option.maxfail:
            return False
        by_name = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
        return not (
            by_name or option.keyword or option.markexpr or option.shard or option.disturbable
        )

    def _say_what_is_left(self, terminalreporter: pytest.TerminalReporter) -> None:
        passed = self.selection.all_passed + self.passed
        if not self.selection.all:  # cut off before a worker told how many there are
            terminalreporter.section("at this commit")
            terminalreporter.line(f"{passed} tests have passed; this run was cut off")
            return
        failed = _tests_in(terminalreporter, "failed", "error")
        absent = _tests_in(terminalreporter, "skipped")
        left = self.selection.all - passed - failed - absent
        terminalreporter.section("at this commit")
        terminalreporter.line(
            f"{passed} of {self.selection.all} tests have passed; of this run {failed} failed and "
            f"{absent} cannot run here; {left} are left (make test-all)"
        )

    def _say_what_is_long(self, write: Callable[[str], None]) -> None:
        for test, seconds in self.unexplained.items():
            if seconds > LONG_S:
                write(f"! {test} took {seconds:.0f} s: an everyday test says why it is worth it")


def _tests_in(terminalreporter: pytest.TerminalReporter, *outcomes: str) -> int:
    """Return how many tests ended so: one that failed in its call and behind it has two reports."""
    reports = (report for outcome in outcomes for report in terminalreporter.getreports(outcome))
    return len({report.nodeid for report in reports})


def _first_words(report: pytest.TestReport) -> str:
    """Return what a test that was run again had failed with: what is forgiven is to be known."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return "" if crash is None else crash.message.partition("\n")[0]


class Again:
    """Has a test run again that failed while the machine was provably away, and no other."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.began_s = 0.0
        self.found: list[str] = []

    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            if touches_the_machine(item):
                item.add_marker(pytest.mark.flaky(reruns=AGAIN, condition=self._was_away))

    def pytest_runtest_logstart(self) -> None:
        self.began_s = time.monotonic()
        self.found = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        outcome = yield
        report = outcome.get_result()
        if report.failed and touches_the_machine(item):
            # What is told is what it is judged by.
            self.found = self.watch.evidence(self.began_s, time.monotonic())
            report.sections.append((EVIDENCE, "; ".join(self.found) or "was not away"))

    def _was_away(self, error: BaseException | None) -> bool:
        return error is not None and bool(self.found)


def install(config: pytest.Config) -> None:
    """Add all of this to a run; the program that watches the machine is started once for it."""
    selection = Selection(config)
    config.pluginmanager.register(selection)
    config.pluginmanager.register(Outcomes(selection))
    if config.option.collectonly:
        return
    if not hasattr(config, "workerinput"):
        config.add_cleanup(Watcher().end)
    watch = Watch.of_this_run()
    if watch is not None:
        config.pluginmanager.register(Again(watch))
