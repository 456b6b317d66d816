"""Runs put side by side: what is matched, what is refused, and what is said of it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from all_wrong import hold_each, relative
from compared_runs import HOST, curve, found, of, run
from record_samples import case_record, case_start, header, planned
from report_pages import Reader
from stored_runs import store

from vsperf.analysis.answers import Finding, more_is_better
from vsperf.analysis.comparison import Comparison, Row, compare
from vsperf.analysis.difference import Change, Difference, Means, Sample
from vsperf.analysis.environment import case_facts
from vsperf.analysis.sides import Side, baseline_side, side
from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode, UsageError
from vsperf.output.compare_data import comparison_data
from vsperf.output.compare_page import html_page, markdown, picture_of
from vsperf.output.compare_text import (
    MEANING,
    change_tables,
    change_text,
    environment_table,
    headline,
    notes,
    reservations,
    value_text,
)
from vsperf.output.figures.drawing import Points
from vsperf.output.table import Cell
from vsperf.quantities.unit import Unit
from vsperf.records.files.baselines import set_baseline
from vsperf.records.host import Conditions
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.run import Outcome

GOLDEN = Path(__file__).parents[1] / "golden" / "records"


class TestChanges:
    def test_the_greatest_change_comes_first_and_what_did_not_change_last(
        self, tmp_path: Path
    ) -> None:
        run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000], 3: [1000_000]})
        run(tmp_path, "bbbb", {1: [1000_100], 2: [1100_000], 3: [700_000]})
        rows = of(tmp_path, "aaaa", "bbbb").rows
        assert [row.label for row in rows] == [
            "phy2phy_tput-256B", "phy2phy_tput-128B", "phy2phy_tput-64B",
        ]  # fmt: skip
        assert [row.differences[0].change for row in rows if row.differences[0]] == [
            Change.DOWN, Change.UP, Change.NONE,
        ]  # fmt: skip

    def test_more_than_two_are_each_held_against_the_first(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]})
        run(tmp_path, "bbbb", {1: [1200_000]})
        run(tmp_path, "cccc", {1: [500_000]})
        (row,) = of(tmp_path, "aaaa", "bbbb", "cccc").rows
        assert [one.share for one in row.differences if one] == [
            pytest.approx(0.2), pytest.approx(-0.5),
        ]  # fmt: skip
        assert (row.worse(1), row.worse(2)) == (False, True)

    def test_words_of_a_name_say_which_way_is_better(self) -> None:
        for name in ("lossless_load", "ndr over draws", "through at 1000 fps", "rate_b"):
            assert more_is_better(name, Unit.FPS), name
        for name in ("loss_at_top", "loss at 1000 fps", "lost_b", "draw_b", "cycles_drift"):
            assert not more_is_better(name, Unit.RATIO), name

    def test_a_control_is_neither_better_nor_worse(self, tmp_path: Path) -> None:
        for name, value in (("aaaa", 1.0), ("bbbb", 0.9)):
            told = (
                Figure(name=each, unit=Unit.FACTOR, value=value, lower=value - 0.01, upper=value)
                for each in ("ratio_b", "control")
            )
            run(tmp_path, name, {1: [SearchResult(figures=tuple(told))]})
        (row,) = of(tmp_path, "aaaa", "bbbb").rows
        assert (row.name, row.worse(1)) == ("ratio_b", True)

    def test_what_programs_could_send_is_no_merit_of_a_switch(self, tmp_path: Path) -> None:
        for name, sent in (("aaaa", 9e9), ("bbbb", 1e9)):
            told = (
                Figure(name=each, unit=Unit.BPS, value=value, lower=value - 1, upper=value)
                for each, value in (("rate", 1e9), ("sent", sent))
            )
            run(tmp_path, name, {1: [SearchResult(figures=tuple(told))]})
        assert [row.name for row in of(tmp_path, "aaaa", "bbbb").rows] == ["rate"]

    def test_repeated_loss_curves_are_compared_load_by_load(self, tmp_path: Path) -> None:
        """What both sides offered is compared by ranks; a load of one side alone is told apart."""
        before = [curve({1000: f"{n}/1000", 900: "0", 800: "0"}, 900) for n in range(10, 15)]
        after = [
            curve({1000: f"{n}/1000", 900: "1/9", 800: "0", 700: "0"}, 800) for n in range(50, 55)
        ]
        run(tmp_path, "aaaa", {1: before})
        run(tmp_path, "bbbb", {1: after})
        rows = {row.name: row.differences[0] for row in of(tmp_path, "aaaa", "bbbb").rows}
        changes = {name: one.change for name, one in rows.items() if one is not None}
        assert changes["loss at 1000 fps"] is changes["loss at 900 fps"] is Change.UP
        assert changes["through at 1000 fps"] is Change.DOWN
        assert changes["loss at 800 fps"] is Change.NONE
        assert rows["loss at 700 fps"] is None

    def test_repeats_are_judged_by_their_ranks(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000 + n for n in range(5)]})
        run(tmp_path, "bbbb", {1: [1100_000 + n for n in range(5)]})
        (row,) = of(tmp_path, "aaaa", "bbbb").rows
        assert row.differences[0] is not None
        assert row.differences[0].means is Means.RANKS

    @pytest.mark.parametrize(
        ("count", "equal", "exact"), [(8, 2, False), (8, 1, True), (4, 2, True)]
    )
    def test_what_is_not_exact_is_not_called_so(
        self, count: int, equal: int, exact: bool, tmp_path: Path
    ) -> None:
        for name, least in (("aaaa", 1000_000), ("bbbb", 1100_000)):
            places = [(3 * n) % count for n in range(count)]
            run(tmp_path, name, {1: [least + 9 * (place // equal) for place in places]})
        found = of(tmp_path, "aaaa", "bbbb")
        said = any("went by the normal distribution" in one for one in reservations(found))
        assert said is not exact
        assert "exact" not in MEANING
        difference = found.rows[0].differences[0]
        assert difference is not None
        assert (difference.means, difference.exact) == (Means.RANKS, exact)

    def test_the_scatter_of_one_case_counts_for_others(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000, 1200_000], 2: [1000_000]})
        run(tmp_path, "bbbb", {1: [1100_000, 900_000], 2: [1100_000]})
        rows = {row.label: row.differences[0] for row in of(tmp_path, "aaaa", "bbbb").rows}
        single = rows["phy2phy_tput-128B"]
        assert single is not None
        assert (single.means, single.change) == (Means.SCATTER, Change.NONE)

    def test_runs_of_one_label_are_repeats(self, tmp_path: Path) -> None:
        for number in range(4):
            run(tmp_path, f"a{number}aa", {1: [1000_000 + number]}, labels={"rev": "old"})
            run(tmp_path, f"b{number}bb", {1: [1100_000 + number]}, labels={"rev": "new"})
        found_one = of(tmp_path, "rev=old", "rev=new")
        difference = found_one.rows[0].differences[0]
        assert difference is not None
        assert (difference.means, difference.change) == (Means.RANKS, Change.UP)
        assert [one.name for one in found_one.contrasts] == ["labels.rev"]

    @pytest.mark.parametrize("asked", ["rev=old", "tag:smoke"])
    def test_runs_come_in_the_order_in_which_they_began(self, asked: str, tmp_path: Path) -> None:
        """By names they would lie in any order, in which nobody sees that repeats depend."""
        letters = ["kkkk", "cccc", "yyyy", "aaaa", "pppp", "dddd"]
        for minute, name in enumerate(letters):
            began = f"2026-11-20T10:{minute:02}:00.000000"
            run(tmp_path, name, {1: [1000_000]}, labels={"rev": "old"}, started_at=began)
        found = side(tmp_path, asked)
        assert [one.run[-4:] for one in found.runs] == letters
        assert [one.run[-4:] for one in found.cases] == letters

    def test_a_tag_takes_the_testcases_that_carry_it(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]})
        run(tmp_path, "bbbb", {1: [1000_000]}, spec={"name": "phy2phy_tput", "tags": ["other"]})
        assert [one.run[-4:] for one in side(tmp_path, "tag:other").cases] == ["bbbb"]
        assert [one.run[-4:] for one in side(tmp_path, "tag:smoke").cases] == ["aaaa"]


class TestWhatDiffers:
    def test_environment_and_settings_are_told(self, tmp_path: Path) -> None:
        other = {"host": HOST["host"], "system": {"kernel": "6.12"}}
        run(tmp_path, "aaaa", {1: [1], 2: [1]}, spec={"vswitch": {"emc": True}})
        run(tmp_path, "bbbb", {1: [1], 2: [1]}, spec={"vswitch": {"emc": False}}, environment=other)
        kernel, emc = of(tmp_path, "aaaa", "bbbb").contrasts
        assert (kernel.name, kernel.values) == ("system.kernel", (("6.1",), ("6.12",)))
        assert (emc.name, emc.values) == ("vswitch.emc", (("true",), ("false",)))
        assert emc.cases == ("phy2phy_tput-64B", "phy2phy_tput-128B")

    def test_what_a_case_did_not_live_to_say_is_no_difference(self, tmp_path: Path) -> None:
        old, new = (Conditions(switch={"ovs_version": one}) for one in ("3.1.0", "3.5.0"))
        run(tmp_path, "aaaa", {1: [1, 1]}, around=old)
        run(tmp_path, "bbbb", {1: [1]})
        assert of(tmp_path, "aaaa", "bbbb").contrasts == ()
        run(tmp_path, "cccc", {1: [1]}, around=new)
        (version,) = of(tmp_path, "aaaa", "cccc").contrasts
        assert version.values == (("3.1.0",), ("3.5.0",))

    def test_people_read_a_short_digest_and_programs_the_whole(self, tmp_path: Path) -> None:
        old, new = ("0123456789abcdef" * 4, "fedcba9876543210" * 4)
        for name, digest in (("aaaa", old), ("bbbb", new)):
            run(tmp_path, name, {1: [1]}, around=Conditions(switch={"daemon_sha256": digest}))
        compared = of(tmp_path, "aaaa", "bbbb")
        assert environment_table(compared).texts[0][:3] == (
            "switch.daemon_sha256",
            "0123456789ab…",
            "fedcba987654…",
        )
        (data,) = comparison_data(compared)["environment"]
        assert data["values"] == [[old], [new]]

    def test_a_setting_is_told_though_a_fact_of_its_name_is_not(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1]}, spec={"vswitch": {"hugepages": True}})
        run(tmp_path, "bbbb", {1: [1]}, spec={"vswitch": {"hugepages": False}})
        assert [one.name for one in of(tmp_path, "aaaa", "bbbb").contrasts] == ["vswitch.hugepages"]

    @pytest.mark.parametrize(
        ("spec", "environment", "simulated", "what"),
        [
            ({"traffic": {"frame_size": "64B", "flows": "7"}}, HOST, True, "frames"),
            ({"topology": {"name": "pvp"}}, HOST, True, "topologies"),
            (None, {"host": {"cpu_model": "EPYC", "cpus": 2}}, False, "hosts"),
        ],
    )
    def test_what_has_nothing_to_do_with_each_other_is_refused(
        self,
        tmp_path: Path,
        spec: dict[str, Any] | None,
        environment: dict[str, Any],
        simulated: bool,
        what: str,
    ) -> None:
        before = {"topology": {"name": "p2p"}} if spec and "topology" in spec else {}
        run(tmp_path, "aaaa", {1: [1]}, spec=before or None, simulated=simulated)
        run(tmp_path, "bbbb", {1: [1]}, spec=spec, environment=environment, simulated=simulated)
        with pytest.raises(UsageError, match=f"differ in {what}"):
            of(tmp_path, "aaaa", "bbbb")
        anyway = of(tmp_path, "aaaa", "bbbb", anyway=True)
        assert anyway.obstacles
        assert any("not comparable" in note for note in notes(anyway))

    def test_a_model_is_the_same_on_every_machine(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1]})
        run(tmp_path, "bbbb", {1: [1]}, environment={"host": {"cpu_model": "EPYC", "cpus": 64}})
        assert of(tmp_path, "aaaa", "bbbb").obstacles == ()

    def test_model_and_reality_are_never_put_side_by_side(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1]}, simulated=True)
        run(tmp_path, "bbbb", {1: [1]}, simulated=False)
        with pytest.raises(UsageError, match="simulated and real"):
            of(tmp_path, "aaaa", "bbbb", anyway=True)

    def test_runs_without_a_common_case_are_refused(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1]})
        run(tmp_path, "bbbb", {2: [1]})
        with pytest.raises(UsageError, match="no case in common"):
            of(tmp_path, "aaaa", "bbbb")


class TestUnfinishedRuns:
    def test_what_has_no_number_is_a_gap_with_a_reason(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000], 3: [1000_000]})
        keys = [planned(number).key for number in (1, 2)]
        failed = case_record(keys[0], outcome=Outcome.ERROR, result=None, reason="it died")
        head = header("2026-11-20-phy2phy_tput-bbbb", environment=HOST)
        store(tmp_path, head.run, [head, case_start(keys[0]), failed, case_start(keys[1])])
        gaps = {gap.label: gap.why for gap in of(tmp_path, "aaaa", "bbbb").gaps}
        assert gaps == {
            "phy2phy_tput-64B": "ERROR: it died",
            "phy2phy_tput-128B": "interrupted",
            "phy2phy_tput-256B": "not planned",
        }

    def test_a_number_that_only_the_base_has_is_a_gap_though_others_are_told(
        self, tmp_path: Path
    ) -> None:
        """Else a gate would pass what nobody can tell, beside a number that did not change."""
        (goal,) = found(1000_000).goals
        other = goal.model_copy(update={"goal": "pdr"})
        none = {"lower_fps": None, "upper_fps": None, "reason": "nobody knows"}
        run(tmp_path, "aaaa", {1: [SearchResult(goals=(goal, other))]})
        run(tmp_path, "bbbb", {1: [SearchResult(goals=(goal.model_copy(update=none), other))]})
        compared = of(tmp_path, "aaaa", "bbbb")
        assert [(gap.side, gap.name, gap.why) for gap in compared.gaps] == [
            (1, "ndr", "nobody knows")
        ]
        line = "B has no number for ndr of phy2phy_tput-64B: nobody knows"
        assert line in list(notes(compared))
        gate = ("--fail-above", "3%", "--results", str(tmp_path))
        assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
        assert run_cli(["compare", "bbbb", "aaaa", *gate]) == ExitCode.OK

    def test_gaps_of_one_reason_are_one_line_with_their_count(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {number: [1000_000] for number in range(1, 8)})
        run(tmp_path, "bbbb", {1: [1000_000]})
        lines = [line for line in notes(of(tmp_path, "aaaa", "bbbb")) if "no number" in line]
        assert lines == [
            "B has no number for 6 cases: phy2phy_tput-128B, phy2phy_tput-256B, "
            "phy2phy_tput-512B and 3 more: not planned"
        ]

    def test_records_of_all_versions_can_be_compared_with_themselves(self) -> None:
        def check(folder: Path) -> None:
            same = compare([side(folder.parent, folder.name)] * 2)
            assert not any(row.changed for row in same.rows)
            assert same.contrasts == ()

        hold_each(sorted(GOLDEN.glob("2026-*")), check, relative)


class TestBaseline:
    def test_it_is_the_side_that_others_are_held_against(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]})
        run(tmp_path, "bbbb", {1: [1200_000]})
        set_baseline(tmp_path, "main", tmp_path / "2026-11-20-phy2phy_tput-aaaa")
        found_one = compare([baseline_side(tmp_path, "main"), side(tmp_path, "bbbb")])
        assert found_one.names == ("main", "2026-11-20-phy2phy_tput-bbbb")


class TestNotes:
    def test_single_runs_are_told_how_many_repeats_tell_something(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]}, simulated=False)
        run(tmp_path, "bbbb", {1: [1100_000]}, simulated=False)
        (note,) = notes(of(tmp_path, "aaaa", "bbbb"))
        assert "nothing was repeated" in note
        assert "this machine keeps no CPUs apart" in note
        assert "--repeat 4" in note

    def test_repeats_that_scatter_are_told_how_many_it_takes(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000, 1080_000, 950_000]})
        run(tmp_path, "bbbb", {1: [1010_000, 1090_000, 960_000]})
        (note,) = notes(of(tmp_path, "aaaa", "bbbb"))
        takes = re.search(r"to see a change of 3% takes (\d+) repeats", note)
        assert takes
        assert int(takes[1]) > 50


class TestGate:
    def test_only_what_is_surely_worse_and_by_more_counts(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000], 3: [1000_000]})
        run(tmp_path, "bbbb", {1: [900_000], 2: [980_000], 3: [1200_000]})
        found_one = of(tmp_path, "aaaa", "bbbb")
        assert [row.label for row in found_one.worsened(0.03)] == ["phy2phy_tput-64B"]
        assert found_one.worsened(0.2) == ()
        assert found_one.undecided(0.03) == found_one.undecided(0.2) == ()

    @pytest.mark.parametrize(
        ("share", "code"),
        [
            ("1.9%", ExitCode.CRITERION_MISSED),
            ("4%", ExitCode.INVALID_RESULT),
            ("6%", ExitCode.INVALID_RESULT),
            ("7%", ExitCode.OK),
        ],
    )
    def test_the_whole_interval_of_a_change_decides(
        self, share: str, code: ExitCode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Bounds of 1,000 and 1,020 kfps, then of 950 and 980: from -6.9 to -2 % on."""
        run(tmp_path, "aaaa", {1: [found(1000_000, 1020_000)]})
        run(tmp_path, "bbbb", {1: [found(950_000, 980_000)]})
        gate = ("--fail-above", share, "--results", str(tmp_path))
        assert run_cli(["compare", "aaaa", "bbbb", *gate]) == code
        said = " ".join("".join(capsys.readouterr()).split())
        told = f"too wide to tell whether it is worse by more than {share}: phy2phy_tput-64B ndr"
        assert (told in said) == (code is ExitCode.INVALID_RESULT)

    def test_lower_bounds_alone_tell_nobody_and_let_nothing_pass(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The generator was at its end on both sides; the second switch may be half as fast."""
        for name, lower in (("aaaa", 2_550_000), ("bbbb", 9_184)):
            (goal,) = found(lower).goals
            bound = goal.model_copy(update={"upper_fps": None, "limit": Limit.GENERATOR})
            run(tmp_path, name, {1: [SearchResult(goals=(bound,))]})
        gate = ("--fail-above", "3%", "--results", str(tmp_path))
        assert run_cli(["compare", "aaaa", "bbbb", *gate]) == ExitCode.INVALID_RESULT
        said = " ".join("".join(capsys.readouterr()).split())
        assert "CANNOT BE TOLD" in said
        assert "lower bounds alone on both sides nobody can tell whether it is worse" in said

    def test_what_may_have_changed_by_more_though_it_need_not_have_at_all_is_not_told(
        self, tmp_path: Path
    ) -> None:
        run(tmp_path, "aaaa", {1: [found(1000_000, 1100_000)]})
        run(tmp_path, "bbbb", {1: [found(990_000, 1090_000)]})
        (row,) = of(tmp_path, "aaaa", "bbbb").rows
        assert not row.changed
        assert (row.judged(0.03), row.judged(0.11)) == (None, False)

    @pytest.mark.parametrize(
        ("found_one", "judged"),
        [
            (Difference(Means.INTERVALS, Change.UP, None), True),
            (Difference(Means.INTERVALS, Change.NONE, None), False),
            (Difference(Means.NOTHING, Change.NONE, 0.5), False),
            (Difference(Means.RANKS, Change.UP, None, least=0.6), True),
            (Difference(Means.RANKS, Change.UP, None, least=0.4), None),
            (Difference(Means.RANKS, Change.NONE, None, most=0.4), False),
        ],
    )
    def test_a_change_without_an_interval_is_one_of_any_size(
        self, found_one: Difference, judged: bool | None
    ) -> None:
        """Of a loss, where there was none before."""
        row = Row("case", "loss", Unit.RATIO, (None, None), (found_one,), simulated=True)
        assert row.judged(0.5) is judged

    def test_of_one_deployment_it_may_be_what_that_drew(self) -> None:
        found_one = Difference(Means.INTERVALS, Change.UP, None)
        assert Row("case", "loss", Unit.RATIO, (None, None), (found_one,)).judged(0.5) is None


class Seen(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


class TestOutputs:
    HOSTILE = "<script>alert(1)</script> | [x](y) \x1b[31m"

    @pytest.fixture(name="hostile")
    def fixture_hostile(self, tmp_path: Path) -> Comparison:
        run(tmp_path, "aaaa", {1: [1000_000]}, labels={"note": self.HOSTILE})
        run(tmp_path, "bbbb", {1: [1200_000]}, labels={"note": "=1+1"})
        sides = [side(tmp_path, "aaaa"), side(tmp_path, "bbbb")]
        named = Side(self.HOSTILE, sides[0].runs, sides[0].cases)
        return compare([named, sides[1]])

    def test_a_page_shows_hostile_text_and_runs_none(self, hostile: Comparison) -> None:
        page = html_page(hostile)
        assert "script" not in Seen(page).tags
        assert "alert(1)" in Seen(page).text
        names = {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}
        assert set(re.findall(r"http[^\"]*", page)) <= names, "names, and nothing that is fetched"
        assert "SIMULATED" in page

    def test_markdown_keeps_hostile_text_in_its_cell(self, hostile: Comparison) -> None:
        text = markdown(hostile)
        assert "<script>" not in text
        assert "\x1b" not in text
        rows = [line for line in text.splitlines() if line.startswith("| labels.note")]
        assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5]
        assert "**SIMULATED" in text

    def test_data_are_json_without_infinities(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]})
        run(tmp_path, "bbbb", {1: [1200_000]})
        data = comparison_data(of(tmp_path, "aaaa", "bbbb"))
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["rows"][0]["changes"][0]["share"] == pytest.approx(0.2)

    @pytest.mark.parametrize(
        ("least", "most", "shown"),
        [
            (-0.042, 0.003, "~ [-4.20 … +0.30 %]"),
            (-0.9887, None, "~ [≥ -98.87 %]"),
            (None, 0.03, "~ [≤ +3.00 %]"),
            (None, None, "~"),
        ],
    )
    def test_an_interval_that_is_open_says_how_far_it_goes_where_it_ends(
        self, least: float | None, most: float | None, shown: str
    ) -> None:
        one = Difference(Means.INTERVALS, Change.NONE, None, least, most)
        assert change_text(one) == shown

    def test_what_did_not_change_is_left_out_on_demand(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
        run(tmp_path, "bbbb", {1: [1200_000], 2: [1000_000]})
        (table,) = change_tables(of(tmp_path, "aaaa", "bbbb"), only_changed=True)
        assert [row[0] for row in table.texts] == ["64B"]
        assert [row[4] for row in table.rows] == [
            Cell("+20.00 % better [+18.81 … +21.20 %]", "better")
        ]


def test_names_that_each_deployment_has_anew_are_no_difference() -> None:
    places = {"phy0": {"network": "vspa0b1c2-phy0", "mtu": 1500}}
    around = Conditions(switch={"places": places}, generator={})
    record = case_record("a case", conditions=around)
    assert case_facts(None, record) == {"switch.places.phy0.mtu": "1500"}


def test_a_headline_says_the_verdict_and_the_size(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000], 2: [980_000]})
    head = headline(of(tmp_path, "aaaa", "bbbb"))
    assert (head.word, head.tone) == ("WORSE", "bad")
    assert head.text.startswith("The most: 64B ndr -10.00 % [-10.90 … -9.10 %]. 2 of 2 numbers")


def test_a_page_parts_no_interval_of_its_headline(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000]})
    page = html_page(of(tmp_path, "aaaa", "bbbb"))
    assert '-10.00 % <span class="whole">[-10.90 … -9.10 %]</span>. 1 of 1 numbers' in page


def test_where_nothing_changed_it_says_how_far_it_can_have(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [1000_000]})
    head = headline(of(tmp_path, "aaaa", "bbbb"))
    assert head.word == "NO CHANGE"
    assert head.text.endswith("none changed by more than 1.00 % either way.")
    run(tmp_path, "cccc", {1: [1_000_010]})
    other = headline(of(tmp_path, "aaaa", "cccc"))
    assert other.text.endswith("none changed by more than 1.01 % either way."), "it is not 1.00"


def test_of_what_nothing_can_judge_no_change_is_not_said(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
    run(tmp_path, "bbbb", {1: [1000_000], 2: [1000_000]})
    known = of(tmp_path, "aaaa", "bbbb")
    assert "nobody can tell" not in headline(known).text
    first, second = known.rows
    doubtful = replace(second, differences=(Difference(Means.NOTHING, Change.NONE, 0.3),))
    some = replace(known, rows=(first, doubtful))
    assert headline(some).text.endswith(
        "Of 1 of them nobody can tell: there is nothing to judge by."
    )
    drawing = picture_of(some)
    assert drawing is not None
    assert "1 point has no bar: nothing tells whether that is more than chance." in drawing.caption
    left_out = picture_of(replace(known, rows=(first, replace(second, differences=(None,)))))
    assert left_out is not None
    assert left_out.caption.endswith("1 more is in the tables: the change is less, or no number.")


def test_a_page_and_a_merge_request_begin_with_it(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [1200_000]})
    found_one = of(tmp_path, "aaaa", "bbbb")
    assert markdown(found_one).startswith("## BETTER: ")
    reader = Reader()
    reader.feed(html_page(found_one))
    words = reader.words
    assert "BETTER The most: 64B ndr +20.00 %" in words
    assert "<code>vsperf run … --repeat" in html_page(found_one), "commands can be told from text"


def test_each_change_is_a_point_with_its_interval(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000], 2: [1000_000]})
    drawing = picture_of(of(tmp_path, "aaaa", "bbbb"))
    assert drawing is not None
    _, layer = drawing.panels[0].layers
    assert [tick.name for tick in drawing.panels[0].x.ticks] == ["64B ndr", "128B ndr"]
    assert isinstance(layer, Points)
    assert layer.points[0].y == pytest.approx(-0.1)
    assert layer.points[0].low == pytest.approx(-0.1089, abs=1e-4)
    assert drawing.simulated


def test_of_many_sides_as_many_are_drawn_as_can_be_told_apart(tmp_path: Path) -> None:
    names = [letter * 4 for letter in "abcdefghij"]
    for number, name in enumerate(names):
        run(tmp_path, name, {1: [1000_000 + 100_000 * number]})
    drawing = picture_of(of(tmp_path, *names))
    assert drawing is not None
    assert sum(isinstance(layer, Points) for layer in drawing.panels[0].layers) == 8
    assert drawing.caption.endswith("1 more side is not drawn.")


def test_where_no_change_is_a_number_there_is_none(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [found(1000_000, -1)]})
    run(tmp_path, "bbbb", {1: [found(1000_000, -1)]})
    found_one = of(tmp_path, "aaaa", "bbbb")
    open_ended = [replace(row, differences=(None,)) for row in found_one.rows]
    assert picture_of(replace(found_one, rows=tuple(open_ended))) is None


@pytest.mark.parametrize(
    ("low", "high", "text"), [(0.7, 0.9, "70% … 90%"), (0, 0.9, "≤ 90%"), (0.7, math.inf, "≥ 70%")]
)
def test_what_switches_in_turns_came_to_has_an_end_where_there_is_one(
    low: float, high: float, text: str
) -> None:
    assert value_text(Sample((Finding("ratio_b", Unit.FACTOR, 0.8, low, high),))) == text
