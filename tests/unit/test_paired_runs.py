"""Runs in which switches take turns: from the command line to the record, and what is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from assertions import known
from click.testing import CliRunner, Result
from reread import of_runs
from simulated_cases import LEFT, leaving

from vsperf.cli import tables
from vsperf.cli.main import run_cli
from vsperf.cli.paired_view import compared_data, compared_table
from vsperf.deploy import together
from vsperf.deploy.together import StandingSide, Together, start_sides
from vsperf.engine import paired
from vsperf.errors import ComponentError, DiedError, ExitCode, NotReadyError
from vsperf.output.table import NOTHING
from vsperf.records.files.folders import resolve
from vsperf.records.files.view import CaseView, open_run
from vsperf.records.flags import Flag
from vsperf.records.meaning import DIED
from vsperf.records.run import LINE, RoundLine
from vsperf.records.turns import Role, Terms, answering
from vsperf.simulation.turns import SimulatedTurns

SHORT = ("--set", "search.rounds=6", "--set", "search.pairs=20", "--set", "trial.warm_up=0s")
OLD = "{kind: sim, name: old, capacity: 5Mpps}"
SLOWER = "{kind: sim, name: new, capacity: 4.5Mpps}"


def vsperf(*argv: str) -> Result:
    return CliRunner().invoke(_ends, list(argv), catch_exceptions=False)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _ends(words: tuple[str, ...]) -> None:
    """Exit with the code that vsperf has."""
    raise SystemExit(run_cli(list(words)))


def run(results: Path, *more: str, switches: str = f"{OLD}, {SLOWER}") -> Result:
    given = ("--set", f"vswitch=[{switches}]") if switches else ()
    where = ("--testbed", "sim", "--results", str(results), "--progress", "plain")
    return vsperf("run", "phy2phy_paired", *where, *SHORT, *given, *more)


def stored(results: Path) -> CaseView:
    (case,) = open_run(resolve(results, "latest")).cases()
    return case


def shown(results: Path, *more: str) -> str:
    return vsperf("show", "latest", "--results", str(results), *more).output


class TestRun:
    def test_a_comparison_is_one_case_with_an_answer(self, tmp_path: Path) -> None:
        done = run(tmp_path)
        assert done.exit_code == 0, done.output
        record = known(stored(tmp_path).record)
        assert record.result is not None
        found = {one.name: one for one in record.result.figures}
        assert found["ratio_b"].value == pytest.approx(0.9, abs=1e-3)
        assert found["control"].value == pytest.approx(1)
        said = shown(tmp_path)
        assert said.count("SIMULATED: these") == 1
        assert said.index("SIMULATED: these") < said.index("switches in turns")

    def test_each_round_is_recorded_with_all_its_turns(self, tmp_path: Path) -> None:
        run(tmp_path)
        rounds = tuple(stored(tmp_path).rounds)
        assert [one.index for one in rounds] == list(range(1, len(rounds) + 1))
        assert [side.name for side in rounds[0].sides] == ["old", "old once more", "new"]
        roles = [one.role for one in rounds]
        check = Role.CHECK
        assert roles[:6] == [check, Role.LOAD, check, Role.LOAD, check, Role.ANSWER]
        assert roles[6:] == [check, Role.ANSWER] * 5
        assert roles.count(Role.ANSWER) == 6
        assert [one.deployment for one in answering(rounds)] == [1, 2, 3, 4, 5, 6]
        assert all(len(one.passes) == 24 for one in answering(rounds))

    def test_turns_of_the_warm_up_are_recorded_and_do_not_count(self, tmp_path: Path) -> None:
        """Of 100 ms, and 36 of a turn of each of three: three passes, and 24 behind them."""
        run(tmp_path, "--set", "trial.warm_up=100ms")
        rounds = tuple(stored(tmp_path).rounds)
        assert {len(one.turns.side) for one in answering(rounds)} == {3 * (3 + 24)}
        assert {len(one.passes) for one in answering(rounds)} == {24}
        assert {one.warm_passes for one in rounds if one.role is not Role.ANSWER} == {0}
        assert not any(against for *_, against in of_runs([resolve(tmp_path, "latest")]))

    def test_everything_is_made_anew_so_that_the_draw_is_another_one(self, tmp_path: Path) -> None:
        run(tmp_path, switches="{kind: sim, name: a, draw: 3%}, {kind: sim, name: b, draw: 3%}")
        record = known(stored(tmp_path).record)
        assert record.result is not None
        draw = next(one for one in record.result.figures if one.name == "draw_b")
        assert draw.value is not None
        assert 0.01 < draw.value < 0.15

    def test_who_starts_first_is_another_one_each_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first has the choice of memory; in half of the rounds each time, that is no bias."""
        asked: list[bool] = []

        def noted(*given: Any, last_first: bool) -> Any:
            asked.append(last_first)
            return start_sides(*given, last_first=last_first)

        monkeypatch.setattr(paired, "start_sides", noted)
        run(tmp_path)
        assert asked == [False, True] * 3

    @pytest.mark.parametrize(("last_first", "order"), [(False, "ABC"), (True, "CBA")])
    def test_in_whatever_order_they_start_they_have_their_places(
        self, last_first: bool, order: str
    ) -> None:
        started: list[str] = []
        nowhere: Any = None

        def plan(letter: str) -> Any:
            @contextmanager
            def start(*_: object) -> Iterator[str]:
                started.append(letter)
                yield letter

            alone = SimpleNamespace(spec=None)
            driver = SimpleNamespace(start=start)
            plan: dict[str, Any] = dict.fromkeys(("switch", "placement", "vnf"))
            return SimpleNamespace(side=alone, driver=driver, **plan)

        plans = [plan(letter) for letter in "ABC"]
        with ExitStack() as stack:
            sides = start_sides(plans, lambda: nullcontext(nowhere), stack, last_first=last_first)
        assert started == list(order)
        assert [str(side.switch) for side in sides] == list("ABC")

    def test_a_run_can_be_repeated_to_the_bit(self, tmp_path: Path) -> None:
        found = []
        for name in ("one", "other"):
            run(tmp_path / name, "--set", "generator.host={noise: 1%}")
            found.append([round_.turns for round_ in stored(tmp_path / name).rounds])
        assert found[0] == found[1]

    def test_a_switch_alone_is_held_against_itself(self, tmp_path: Path) -> None:
        done = run(tmp_path, switches="")
        assert done.exit_code == 0, done.output
        assert "the same, as it has to be" in shown(tmp_path)


class TestCriteria:
    def test_a_rival_that_is_slower_by_more_fails_the_run(self, tmp_path: Path) -> None:
        done = run(tmp_path, "--fail-above", "3%")
        assert done.exit_code == 1
        assert "ratio_b ≥ 97%: found 90%" in done.output

    def test_one_that_is_slower_by_less_passes(self, tmp_path: Path) -> None:
        assert run(tmp_path, "--fail-above", "15%").exit_code == 0

    def test_what_cannot_be_told_is_no_verdict(self, tmp_path: Path) -> None:
        draws = "{kind: sim, name: a, draw: 9%}, {kind: sim, name: b, draw: 9%}"
        done = run(tmp_path, "--fail-above", "1%", switches=draws)
        assert done.exit_code == 5
        assert "the interval is too wide to tell" in done.output

    @pytest.mark.parametrize(("share", "code"), [("3%", 1), ("9.9%", 5), ("10.1%", 5), ("16%", 0)])
    def test_a_criterion_is_decided_where_the_whole_interval_lies_on_one_side_of_it(
        self, share: str, code: int, tmp_path: Path
    ) -> None:
        """A rival at 90 % of the first, known to some percent."""
        done = run(tmp_path, "--fail-above", share, "--set", "generator.host={noise: 8%}")
        assert done.exit_code == code, done.output
        if code == 5:
            assert "and more `search.rounds` narrow that): the interval is too wide" in done.output

    def test_a_first_switch_that_was_not_overloaded_lets_no_rival_pass(
        self, tmp_path: Path
    ) -> None:
        """It may be faster by more than was seen, so a rival may be slower by more than that."""
        switches = "{kind: sim, name: a, capacity: 5Mpps}, {kind: sim, name: b, capacity: 3.9Mpps}"
        short = ("--set", "generator.max_rate=4Mpps", "--set", "search.control=false")
        done = run(tmp_path / "one", "--fail-above", "5%", *short, switches=switches)
        assert done.exit_code == 5, done.output
        assert "97.5% (0 … 97.5%" in done.output
        done = run(tmp_path / "other", "--fail-above", "2%", *short, switches=switches)
        assert done.exit_code == 1, done.output

    def test_where_the_control_has_no_answer_nothing_is_believed(self, tmp_path: Path) -> None:
        """Both of the first are as fast as the generator, and the rival is slower than that."""
        switches = "{kind: sim, name: a, capacity: 5Mpps}, {kind: sim, name: b, capacity: 3Mpps}"
        done = run(tmp_path, "--set", "generator.max_rate=4Mpps", switches=switches)
        assert done.exit_code == 5, done.output
        text = " ".join(shown(tmp_path).split())
        assert "not to be believed: A′ is A once more, and has no answer" in text
        assert "slower" not in text.partition("so it is")[2].partition("to A:")[0]
        document = json.loads(shown(tmp_path, "a", "--json"))
        assert "has no answer" in document["doubted"]["rate"]
        control, first_draw = (
            next(
                one
                for one in known(known(stored(tmp_path).record).result).figures
                if one.name == name
            )
            for name in ("control", "draw_a")
        )
        assert control.value is first_draw.value is None

    def test_a_ratio_is_held_to_what_that_of_the_baseline_may_have_been(
        self, tmp_path: Path
    ) -> None:
        where = ("--results", str(tmp_path))
        noise = ("--set", "generator.host={noise: 8%}")
        run(tmp_path, *noise)
        (ratio, *_) = known(known(stored(tmp_path).record).result).figures
        vsperf("baseline", "set", "main", resolve(tmp_path, "latest").name, *where)
        asked = "expect=[{metric: ratio_b, baseline: main, drop: 1%}]"
        held = run(tmp_path, *noise, "--set", asked)
        assert held.exit_code == 0, held.output
        (criterion,) = stored(tmp_path).planned.spec["expect"]
        assert float(criterion["held_to"]) == pytest.approx(0.99 * known(ratio.lower), abs=2e-6)
        assert known(ratio.lower) < known(ratio.value) - 0.001

    def test_a_ratio_that_may_be_anything_below_a_bound_is_no_baseline(
        self, tmp_path: Path
    ) -> None:
        where = ("--results", str(tmp_path))
        short = ("--set", "generator.max_rate=4Mpps", "--set", "search.control=false")
        run(
            tmp_path, *short, switches="{kind: sim, name: a}, {kind: sim, name: b, capacity: 3Mpps}"
        )
        vsperf("baseline", "set", "main", resolve(tmp_path, "latest").name, *where)
        asked = ("--set", "expect=[{metric: ratio_b, baseline: main, drop: 3%}]")
        done = run(
            tmp_path, *short, *asked,
            switches="{kind: sim, name: a}, {kind: sim, name: b, capacity: 3Mpps}",
        )  # fmt: skip
        assert done.exit_code == 2, done.output
        assert "sets no lower end for ratio_b" in " ".join(done.output.split())

    @pytest.mark.parametrize(("share", "kind"), [("3%", "failure"), ("9.9%", "error"), ("16%", "")])
    def test_a_pipeline_finds_it_in_junit(self, share: str, kind: str, tmp_path: Path) -> None:
        run(tmp_path, "--fail-above", share, "--set", "generator.host={noise: 8%}")
        page = tmp_path / "junit.xml"
        done = vsperf("export", "junit", "latest", "--results", str(tmp_path), "-o", str(page))
        assert done.exit_code == 0, done.output
        text = page.read_text()
        assert {one for one in ("failure", "error") if f"<{one} " in text} == {kind} - {""}
        assert ("ratio_b ≥ 97%" in text) is (kind == "failure")

    def test_the_criterion_is_part_of_the_record(self, tmp_path: Path) -> None:
        run(tmp_path, "--fail-above", "3%")
        assert stored(tmp_path).planned.spec["expect"][0]["metric"] == "ratio_b"

    def test_a_testcase_can_ask_for_it_itself(self, tmp_path: Path) -> None:
        done = run(tmp_path, "--set", "expect=[{metric: ratio_b, min: 97%}]")
        assert done.exit_code == 1

    def test_without_rivals_there_is_nothing_to_be_slower(self, tmp_path: Path) -> None:
        done = run(tmp_path, "--fail-above", "3%", switches="")
        assert done.exit_code == 2
        assert "no case has one" in done.output


class TestShown:
    def test_a_run_says_who_is_slower_by_how_much_and_how_sure_that_is(
        self, tmp_path: Path
    ) -> None:
        run(tmp_path)
        text = shown(tmp_path)
        assert "switches in turns" in text
        row = next(line.split() for line in text.splitlines() if line.startswith("B "))
        assert row[1] == "new"
        assert "-10.00%" in row
        assert "slower" in row

    def test_of_a_switch_that_was_not_overloaded_the_table_knows_no_more_than_the_answer(
        self, tmp_path: Path
    ) -> None:
        switches = "{kind: sim, name: a, capacity: 5Mpps}, {kind: sim, name: b, capacity: 3.9Mpps}"
        short = ("--set", "generator.max_rate=4Mpps", "--set", "search.control=false")
        run(tmp_path, *short, switches=switches)
        lines = shown(tmp_path).splitlines()
        first, rival = (
            next(line for line in lines if line.startswith(letter)) for letter in ("A ", "B ")
        )
        assert "≥ 4.000 Mfps" in first
        assert "≤ -2.50%" in rival
        record = known(stored(tmp_path).record)
        assert record.result is not None
        ratio = record.result.figures[0]
        (case,) = json.loads(shown(tmp_path, "--json"))["cases"]
        told = case["compared"][1]
        assert (told["lower"], told["upper"]) == (ratio.lower, ratio.upper)
        assert ratio.lower == 0

    def test_two_that_brought_all_through_have_no_ratio_however_few_rounds_there_are(
        self, tmp_path: Path
    ) -> None:
        switches = "{kind: sim, name: a, capacity: 5Mpps}, {kind: sim, name: b, capacity: 5Mpps}"
        short = ("--set", "generator.max_rate=4Mpps", "--set", "search.control=false")
        run(tmp_path, *short, switches=switches)
        case = stored(tmp_path)
        rounds, terms = tuple(case.rounds), Terms.of(case.asked.section("search"))
        for made in (rounds, answering(rounds)[:1]):
            table = compared_table(made, case.record, terms)
            (to_a,) = (n for n, one in enumerate(table.columns) if one.name == "to A")
            assert table.texts[1][to_a] == NOTHING
        few = compared_data(replace(case, rounds=answering(rounds)[:1]))
        assert (few["compared"][1]["ratio"], few["compared"][1]["brought_all"]) == (None, True)

    def test_at_80_columns_rows_are_named_twice_and_each_rate_keeps_its_unit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(tmp_path)
        monkeypatch.setattr(tables, "PLAIN_WIDTH", 80)
        lines = [line.rstrip() for line in shown(tmp_path).splitlines()]
        first = lines.index(next(line for line in lines if "so it is" in line))
        (end,) = (number for number, line in enumerate(lines) if line.startswith("to A: "))
        table = [line.split("  ") for line in lines[first:end]]
        assert [row[0] for row in table].count("B") == 2
        assert sum("Mfps" in line for line in lines[first:end]) == 3
        assert max(map(len, lines[first:end])) <= 80

    def test_rivals_are_held_against_each_other_as_well(self, tmp_path: Path) -> None:
        third = "{kind: sim, name: slowest, capacity: 4Mpps}"
        run(tmp_path, switches=f"{OLD}, {SLOWER}, {third}")
        (row,) = (line for line in shown(tmp_path).splitlines() if "B (new)" in line)
        told = row.split()
        assert told[:5] == ["C", "slowest", "B", "(new)", "-11.11%"]
        assert told[-1] == "slower"
        (case,) = json.loads(shown(tmp_path, "--json"))["cases"]
        (pair,) = case["rivals"]
        assert (pair["side"], pair["beside"]) == ("C", "B")
        assert pair["ratio"] == pytest.approx(8 / 9, abs=1e-3)

    def test_of_a_single_rival_there_is_no_such_table(self, tmp_path: Path) -> None:
        run(tmp_path)
        assert "beside" not in shown(tmp_path).partition("to A: ")[0]

    def test_who_would_take_them_apart_is_told_where_they_are_compared(
        self, tmp_path: Path
    ) -> None:
        run(tmp_path)
        done = vsperf("compare", "latest", "--by", "vswitch", "--results", str(tmp_path))
        assert done.exit_code == 2
        said = " ".join(done.output.split())
        assert "take turns within a case are compared by `vsperf show RUN`" in said

    def test_of_two_sessions_ratios_alone_are_held_against_each_other(self, tmp_path: Path) -> None:
        """What a switch came to by itself is of its moment: here the machine is half as fast."""
        halves = (
            "{kind: sim, name: old, capacity: 2.5Mpps}, {kind: sim, name: new, capacity: 2.25Mpps}"
        )
        run(tmp_path)
        first = resolve(tmp_path, "latest").name
        where = ("--results", str(tmp_path))
        vsperf("baseline", "set", "main", first, *where)
        asked = "expect=[{metric: rate_b, baseline: main, drop: 3%}]"
        held = run(tmp_path, "--set", asked, switches=halves)
        assert held.exit_code == ExitCode.INVALID_RESULT
        assert "no other session is held against it" in " ".join(held.output.split())
        done = vsperf("compare", first, "latest", "--fail-above", "3%", "--anyway", *where)
        assert done.exit_code == ExitCode.OK
        assert "ratio b" in done.output
        assert "rate b" not in done.output
        assert "rate b" not in vsperf("trend", "phy2phy_paired", *where).output

    def test_a_case_shows_its_rounds(self, tmp_path: Path) -> None:
        run(tmp_path)
        text = shown(tmp_path, "old")
        assert text.count(" answer ") == 6
        assert "A′ +0.0%, B -10.0%" in text

    def test_as_data_each_round_says_what_it_says(self, tmp_path: Path) -> None:
        run(tmp_path)
        document: dict[str, Any] = json.loads(shown(tmp_path, "--json"))
        (case,) = document["cases"]
        first, control, rival = case["compared"]
        assert (first["side"], control["side"], rival["side"]) == ("A", "A′", "B")
        assert rival["ratio"] == pytest.approx(0.9, abs=1e-3)
        assert [one["pairs"] for one in rival["by_round"]] == [24] * 6
        assert (rival["generator"]["turns"], rival["generator"]["missed_frames"]) == (144, 0)
        one: dict[str, Any] = json.loads(shown(tmp_path, "old", "--json"))
        assert len(one["all_rounds"][5]["turns"]["side"]) == 72

    def test_the_progress_tells_of_each_round(self, tmp_path: Path) -> None:
        assert run(tmp_path).output.count("A′ +0.0%, B -10.0%") == 6


class TestStored:
    def test_rounds_are_read_as_they_were_written(self, tmp_path: Path) -> None:
        run(tmp_path)
        whole = (resolve(tmp_path, "latest") / "records.jsonl").read_text().splitlines()
        lines = [one for one in map(LINE.validate_json, whole) if isinstance(one, RoundLine)]
        found = stored(tmp_path).rounds
        assert list(found) == [line.round for line in lines]
        assert len(found) == len(lines) > 0

    def test_all_that_is_printed_follows_from_stored_turns(self, tmp_path: Path) -> None:
        run(tmp_path, "--set", "generator.host={noise: 2%, gaps: 2%}")
        told = list(of_runs([resolve(tmp_path, "latest")]))
        assert {"rounds", "ratio_b", "control"} <= {name for _, name, _ in told}
        assert not any(against for *_, against in told)

    def test_what_was_made_before_a_case_began_anew_counts_no_more(self, tmp_path: Path) -> None:
        run(tmp_path)
        rounds = tuple(stored(tmp_path).rounds)
        broken_off = [one.model_copy(update={"deployment": 9}) for one in rounds[:7]]
        assert answering([*broken_off, *rounds]) == answering(rounds)


class TestDecided:
    def test_the_plan_tells_when_it_may_end(self, tmp_path: Path) -> None:
        switches = ("--set", f"vswitch=[{OLD}, {SLOWER}]", "--testbed", "sim")
        asked = ("--set", "search.until=decided", "--set", "search.rounds=32")
        text = vsperf("plan", "phy2phy_paired", *switches, *asked).output
        assert "after 8, 16, 24 or 32 rounds, as soon as all is decided" in text

    @pytest.mark.parametrize(("share", "rounds", "code"), [("3%", 8, 1), ("10%", 16, 5)])
    def test_it_ends_early_where_the_criterion_is_decided(
        self, share: str, rounds: int, code: int, tmp_path: Path
    ) -> None:
        """A rival at 90 % of the first is slower for sure after 8 rounds."""
        asked = ("--set", "search.until=decided", "--set", "search.rounds=16")
        noise = ("--set", "generator.host={noise: 4%}")
        done = run(tmp_path, *asked, *noise, "--fail-above", share)
        assert done.exit_code == code, done.output
        assert len(answering(tuple(stored(tmp_path).rounds))) == rounds

    def test_a_run_that_ended_early_shows_the_interval_of_its_look(self, tmp_path: Path) -> None:
        asked = ("--set", "search.until=decided", "--set", "search.rounds=32")
        done = run(tmp_path, *asked, "--set", "generator.host={noise: 4%}")
        assert done.exit_code == 0, done.output
        assert len(answering(tuple(stored(tmp_path).rounds))) == 8
        (case,) = json.loads(shown(tmp_path, "--json"))["cases"]
        record = known(stored(tmp_path).record)
        assert record.result is not None
        ratio = record.result.figures[0]
        rival = case["compared"][2]
        assert rival["level"] == pytest.approx(0.9875)
        assert (rival["lower"], rival["upper"]) == (ratio.lower, ratio.upper)


def parts(generator: str | None, *switches: str | None) -> Together:
    """Return what stands, by what each part says of its failure."""

    def side(letter: str, why: str | None) -> StandingSide:
        plan: Any = SimpleNamespace(side=SimpleNamespace(letter=letter, name=f"switch {letter}"))
        switch: Any = SimpleNamespace(failure=lambda: why, processes=lambda: (ord(letter),))
        nowhere: Any = None
        return StandingSide(plan, switch, nowhere)

    session: Any = SimpleNamespace(failure=lambda: generator)
    return Together(tuple(map(side, "AB", switches)), session)


def dying(*, after: int, again: bool = False, error: Exception | None = None) -> Any:
    """Return turns in which a part dies behind so many rounds that answer, once or each time."""
    made, count = SimulatedTurns.run, 0

    def turns(self: SimulatedTurns, order: Any, *asked: Any) -> list[Any]:
        nonlocal count
        if len(order) == 3 * 24:
            count += 1
            if count == after + 1:
                count = 0 if again else count
                raise error or DiedError("a part died")
        return made(self, order, *asked)

    return turns


class TestFailures:
    @pytest.mark.parametrize(
        ("generator", "first", "said"),
        [
            ("tgen was killed", None, "tgen was killed"),
            ("tgen was killed", "was killed", "A (switch A): was killed"),
            (None, None, "B (switch B): is stopped"),
            (None, "was killed", "A (switch A): was killed"),
        ],
    )
    def test_who_stands_still_since_the_generator_was_killed_is_not_to_blame(
        self, generator: str | None, first: str | None, said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(together, "is_stopped", lambda pid: pid == ord("B"))
        assert parts(generator, first, "is stopped").failure() == said

    def test_vnfs_are_held_still_with_their_switch_and_to_blame_before_it(self) -> None:
        (alone, _), vnfs = parts(None, "is lost", None).sides, ["vm1 was killed"]
        behind: Any = SimpleNamespace(failure=lambda: vnfs[0], processes=lambda: (7, 8))
        side = replace(alone, vnfs=behind)
        assert side.processes == (ord("A"), 7, 8)
        assert side.failure() == "vm1 was killed"
        vnfs[0] = ""
        assert side.failure() == "is lost"

    @pytest.mark.parametrize("whole", [6, 7])
    def test_a_part_that_dies_late_takes_no_round_back(
        self, whole: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It dies in the round behind those, of eight."""
        monkeypatch.setattr(SimulatedTurns, "run", dying(after=whole))
        done = run(tmp_path, "--set", "search.rounds=8")
        assert done.exit_code == 0, done.output
        case = stored(tmp_path)
        assert case.record is not None
        assert case.record.result is not None
        assert len(answering(case.rounds)) == whole
        assert case.record.trials == len(tuple(case.rounds))
        spread = known(case.record.result.figures[0].spread)
        assert spread.runs == whole
        assert Flag.FEWER_REPEATS in case.record.flags
        assert case.record.warnings[-1] == (
            f"fewer repeats than asked: {whole} rounds were made, and no more: a part died"
        )
        told = list(of_runs([resolve(tmp_path, "latest")]))
        assert told
        assert not any(against for *_, against in told)

    @pytest.mark.parametrize(("whole", "rounds"), [(5, 8), (7, 32)])
    def test_with_too_few_rounds_the_case_is_measured_anew_and_then_an_error(
        self, whole: int, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At looks of 32 rounds, intervals take eight."""
        monkeypatch.setattr(SimulatedTurns, "run", dying(after=whole, again=True))
        until = ("--set", "search.until=decided") if rounds == 32 else ()
        done = run(tmp_path, "--set", f"search.rounds={rounds}", *until)
        assert done.exit_code == 4, done.output
        case = stored(tmp_path)
        record = known(case.record)
        assert record.result is None
        made = tuple(case.rounds)
        assert 0 < case.died < len(made)
        assert (made[case.died].index, record.trials) == (1, len(made))
        assert shown(tmp_path, "old").count(DIED) == case.died
        assert record.reason == "a part died"
        assert record.warnings == ("measured anew on a fresh deployment: a part died",)

    @pytest.mark.parametrize(
        ("lacking", "said", "code"),
        [
            (NotReadyError("too few hugepages"), "too few hugepages", 3),
            (OSError(28, "No space left"), "the system refused: No space left", 4),
        ],
        ids=["hugepages", "room"],
    )
    @pytest.mark.parametrize("whole", [5, 7])
    def test_a_machine_that_is_not_ready_for_one_more_round_takes_none_back(
        self,
        whole: int,
        lacking: Exception,
        said: str,
        code: int,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """For the last one, say; or even for an answer."""
        monkeypatch.setattr(SimulatedTurns, "run", dying(after=whole, error=lacking))
        done = run(tmp_path, "--set", "search.rounds=8")
        assert done.exit_code == (0 if whole == 7 else code), done.output
        assert (f"7 rounds were made, and no more: {said}" in done.output) is (whole == 7)

    @pytest.mark.parametrize("whose", [1, 2])
    def test_what_is_left_of_a_case_that_failed_is_told_as_well(
        self, whose: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the generator's place, or of that of the first switch."""

        def fails(self: SimulatedTurns, *asked: Any) -> list[Any]:
            raise ComponentError("the generator lost a port")

        monkeypatch.setattr(SimulatedTurns, "run", fails)
        leaving(monkeypatch, whose)
        done = run(tmp_path)
        assert done.exit_code == 6, done.output
        record = known(stored(tmp_path).record)
        assert record.reason == (
            f"something of a run is left on this machine: {LEFT}; and before that: "
            "the generator lost a port; to mend it: mend what stands in the way, then: vsperf clean"
        )

    def test_what_a_deployment_leaves_takes_no_round_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the generator, and then of three sides in each of eight rounds: in the seventh."""
        leaving(monkeypatch, 1 + 6 * 3 + 1)
        done = run(tmp_path, "--set", "search.rounds=8")
        assert done.exit_code == 6, done.output
        case = stored(tmp_path)
        assert case.record is not None
        assert case.record.result is not None
        assert len(answering(case.rounds)) == 7
        assert Flag.FEWER_REPEATS in case.record.flags
        told = "\n".join(case.record.warnings)
        assert f"after all was measured: something of a run is left on this machine: {LEFT}" in told

    def test_a_generator_that_fails_ends_the_case(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(self: SimulatedTurns, *asked: Any) -> list[Any]:
            raise ComponentError("the generator lost a port")

        monkeypatch.setattr(SimulatedTurns, "run", fails)
        done = run(tmp_path)
        assert done.exit_code == 4
        assert "the generator lost a port" in done.output
