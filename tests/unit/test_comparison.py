"""Runs put side by side: what is matched, what is refused, and what is said of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from click.testing import CliRunner
from record_samples import case_record, case_start, header, planned, run_end, trial_line
from stored_runs import store

from vsperf.cli.main import cli
from vsperf.errors import UsageError
from vsperf.figures.catalog import drawings
from vsperf.figures.groups import Traits, groups_of, traits_of
from vsperf.record.limit import Limit
from vsperf.record.result import GoalResult, SearchResult
from vsperf.record.run import Line, Outcome, RunHeader
from vsperf.results.compare_data import comparison_data
from vsperf.results.compare_page import html_page, markdown
from vsperf.results.compare_text import change_grids, notes
from vsperf.results.comparison import Comparison, compare
from vsperf.results.sides import Side, apart, baseline_side, side
from vsperf.stats.difference import Change, Means
from vsperf.store.baselines import set_baseline
from vsperf.store.view import find_runs, views

MACHINE = {"machine": {"cpu_model": "Xeon", "cpus": 2}, "system": {"kernel": "6.1"}}
GOLDEN = Path(__file__).parents[1] / "golden" / "records"


def found(lower: int, upper: int | None = None) -> SearchResult:
    goal = GoalResult(
        goal="ndr",
        loss_ratio="0",
        lower_fps=lower,
        upper_fps=lower + lower // 100 if upper is None else upper,
        throughput_fps=lower,
        limit=Limit.DUT,
        reason="loss grew with load",
    )
    return SearchResult(goals=(goal,))


def run(
    results: Path,
    name: str,
    rates: dict[int, list[int]],
    spec: dict[str, Any] | None = None,
    **head: Any,
) -> str:
    """Store a run: for each case its number and what its repeats found."""
    run_id = f"2026-11-20-phy2phy_tput-{name}"
    cases, lines = [], list[Line]()
    for number, repeats in rates.items():
        for repeat, rate in enumerate(repeats, start=1):
            case = planned(number, repeat=repeat)
            changed = {**case.spec, **(spec or {})}
            ident = case.id if spec is None else f"{case.id}-{crc32(json.dumps(spec).encode()):x}"
            key = ident if repeat == 1 else f"{ident}.{repeat}"
            cases.append(case.model_copy(update={"key": key, "id": ident, "spec": changed}))
            lines += [case_start(key), trial_line(key), case_record(key, result=found(rate))]
    values = {"environment": MACHINE, **head}
    made: RunHeader = header(run_id, **values).model_copy(update={"cases": tuple(cases)})
    store(results, run_id, [made, *lines, run_end()])
    return name


def of(results: Path, *names: str, **how: Any) -> Comparison:
    return compare([side(results, name) for name in names], **how)


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

    def test_repeats_are_judged_by_their_ranks(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000 + n for n in range(5)]})
        run(tmp_path, "bbbb", {1: [1100_000 + n for n in range(5)]})
        (row,) = of(tmp_path, "aaaa", "bbbb").rows
        assert row.differences[0] is not None
        assert row.differences[0].means is Means.RANKS

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

    def test_a_tag_takes_the_testcases_that_carry_it(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000]})
        run(tmp_path, "bbbb", {1: [1000_000]}, spec={"name": "phy2phy_tput", "tags": ["other"]})
        assert [one.run[-4:] for one in side(tmp_path, "tag:other").cases] == ["bbbb"]
        assert [one.run[-4:] for one in side(tmp_path, "tag:smoke").cases] == ["aaaa"]


class TestSwitches:
    """One run of several switches ends in a comparison of them."""

    def run(self, results: Path, letters: str = "aaaa") -> None:
        """Store a run of two switches in turns, five times: the second one is faster."""
        cases, lines = [], list[Line]()
        for repeat in range(1, 6):
            for number, size in ((1, "64B"), (2, "128B")):
                for name, kind, rate in (("ovs-dpdk", "ovs-dpdk", 1000), ("vpp", "vpp", 1100)):
                    label = f"phy2phy_tput-{size}-{name}"
                    own = {"emc": True} if kind == "ovs-dpdk" else {"workers": 1}
                    key = label if repeat == 1 else f"{label}.{repeat}"
                    case = planned(
                        number,
                        repeat=repeat,
                        key=key,
                        id=label,
                        label=label,
                        point={"frame_size": size, "vswitch": name},
                    )
                    switch = {"kind": kind, "flows": "port", "root": None, **own}
                    cases.append(case.model_copy(update={"spec": {**case.spec, "vswitch": switch}}))
                    record = case_record(key, result=found(1000 * rate + repeat))
                    lines += [case_start(key), trial_line(key), record]
        run_id = f"2026-11-20-phy2phy_tput-{letters}"
        made = header(run_id, environment=MACHINE).model_copy(update={"cases": tuple(cases)})
        store(results, run_id, [made, *lines, run_end()])

    def test_each_switch_of_a_run_is_a_side(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        sides = apart([side(tmp_path, "aaaa")], "vswitch")
        assert [one.name for one in sides] == ["ovs-dpdk", "vpp"]
        compared = compare(sides)
        assert {row.label for row in compared.rows} == {"phy2phy_tput-64B", "phy2phy_tput-128B"}
        for row in compared.rows:
            (difference,) = row.differences
            assert difference is not None
            assert (difference.change, difference.means) == (Change.UP, Means.RANKS)
            assert difference.share == pytest.approx(0.1, abs=0.01)

    def test_another_switch_is_no_obstacle(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        assert compare(apart([side(tmp_path, "aaaa")], "vswitch")).obstacles == ()

    def test_what_only_one_kind_has_is_no_difference_between_them(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        compared = compare(apart([side(tmp_path, "aaaa")], "vswitch"))
        assert [(one.name, one.values) for one in compared.contrasts] == [
            ("vswitch.kind", (("ovs-dpdk",), ("vpp",)))
        ]

    def test_a_side_can_be_one_switch_of_the_latest_run_or_of_another(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        (tmp_path / "latest").symlink_to("2026-11-20-phy2phy_tput-aaaa")
        first, second = (side(tmp_path, f"vswitch:{name}") for name in ("vpp", "ovs-dpdk@aaaa"))
        assert (first.name, second.name) == ("vpp", "ovs-dpdk")
        assert {row.worse(1) for row in compare([first, second]).rows} == {True}

    def test_a_switch_that_was_not_measured_is_refused_with_those_that_were(
        self, tmp_path: Path
    ) -> None:
        self.run(tmp_path)
        with pytest.raises(UsageError, match="measured no vswitch 'bridge'") as caught:
            side(tmp_path, "vswitch:bridge@aaaa")
        assert "ovs-dpdk, vpp" in str(caught.value.problems[0].fix)

    def test_a_run_of_one_switch_stands_beside_one_of_a_list(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        spec = {"vswitch": {"kind": "vpp", "flows": "port", "root": None, "workers": 1}}
        run(tmp_path, "bbbb", {1: [1_200_000], 2: [1_200_000]}, spec=spec)
        compared = compare([side(tmp_path, "vswitch:vpp@aaaa"), side(tmp_path, "bbbb")])
        assert {row.label for row in compared.rows} == {"phy2phy_tput-64B", "phy2phy_tput-128B"}

    def test_a_run_of_several_is_no_side_beside_one_of_them(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        with pytest.raises(UsageError, match="measured several") as caught:
            compare([side(tmp_path, "vswitch:vpp@aaaa"), side(tmp_path, "aaaa")])
        assert "vswitch:ovs-dpdk@2026-11-20-phy2phy_tput-aaaa" in str(caught.value.problems[0].fix)

    def test_switches_of_several_runs_are_taken_together(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        self.run(tmp_path, "bbbb")
        sides = apart([side(tmp_path, "aaaa"), side(tmp_path, "bbbb")], "vswitch")
        assert [len(one.cases) for one in sides] == [20, 20]

    def test_the_command_compares_the_switches_of_a_run(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        argv = ["compare", "aaaa", "--by", "vswitch", "--results", str(tmp_path), "--json"]
        shown = CliRunner().invoke(cli, argv, catch_exceptions=False)
        assert shown.exit_code == 0
        assert [one["name"] for one in json.loads(shown.output)["sides"]] == ["ovs-dpdk", "vpp"]

    def test_one_switch_alone_has_nothing_to_be_compared_with(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000]}, spec={"vswitch": {"kind": "sim"}})
        argv = ["compare", "aaaa", "--by", "vswitch", "--results", str(tmp_path)]
        with pytest.raises(UsageError, match="there is one vswitch"):
            CliRunner().invoke(cli, argv, catch_exceptions=False)

    def test_the_ratios_of_one_run_are_those_of_its_switches(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        runs = find_runs(tmp_path, ["aaaa"])
        ((_, drawing),) = drawings((case for one in runs for case in views(one)), ["ratios"])
        assert drawing.title == "Change from the first switch, number by number"
        names = [layer.name for layer in drawing.panels[0].layers]
        assert names == ["no change", "vpp"]

    def test_lines_of_a_figure_are_called_by_the_switch(self, tmp_path: Path) -> None:
        self.run(tmp_path)
        cases = [case for one in find_runs(tmp_path, ["aaaa"]) for case in views(one)]
        assert {dict(traits_of(case))["switch"] for case in cases} == {"ovs-dpdk", "vpp"}
        for by in ("switch", "vswitch"):
            samples = [Sampled(traits_of(case)) for case in cases]
            assert [one.name for one in groups_of(samples, by=[by])] == ["ovs-dpdk", "vpp"]


@dataclass(frozen=True)
class Sampled:
    """What a plot keeps of a case, as far as lines are concerned."""

    traits: Traits


class TestWhatDiffers:
    def test_environment_and_settings_are_told(self, tmp_path: Path) -> None:
        other = {"machine": MACHINE["machine"], "system": {"kernel": "6.12"}}
        run(tmp_path, "aaaa", {1: [1], 2: [1]}, spec={"vswitch": {"emc": True}})
        run(tmp_path, "bbbb", {1: [1], 2: [1]}, spec={"vswitch": {"emc": False}}, environment=other)
        kernel, emc = of(tmp_path, "aaaa", "bbbb").contrasts
        assert (kernel.name, kernel.values) == ("system.kernel", (("6.1",), ("6.12",)))
        assert (emc.name, emc.values) == ("vswitch.emc", (("True",), ("False",)))
        assert emc.cases == ("phy2phy_tput-64B", "phy2phy_tput-128B")

    def test_a_setting_is_told_though_a_fact_of_its_name_is_not(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1]}, spec={"vswitch": {"hugepages": True}})
        run(tmp_path, "bbbb", {1: [1]}, spec={"vswitch": {"hugepages": False}})
        assert [one.name for one in of(tmp_path, "aaaa", "bbbb").contrasts] == ["vswitch.hugepages"]

    @pytest.mark.parametrize(
        ("spec", "environment", "simulated", "what"),
        [
            ({"traffic": {"frame_size": "64B", "flows": "7"}}, MACHINE, True, "frames"),
            ({"topology": {"name": "pvp"}}, MACHINE, True, "topologies"),
            (None, {"machine": {"cpu_model": "EPYC", "cpus": 2}}, False, "machines"),
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
        run(tmp_path, "bbbb", {1: [1]}, environment={"machine": {"cpu_model": "EPYC", "cpus": 64}})
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
        head = header("2026-11-20-phy2phy_tput-bbbb", environment=MACHINE)
        store(tmp_path, head.run, [head, case_start(keys[0]), failed, case_start(keys[1])])
        gaps = {gap.label: gap.why for gap in of(tmp_path, "aaaa", "bbbb").gaps}
        assert gaps == {
            "phy2phy_tput-64B": "ERROR: it died",
            "phy2phy_tput-128B": "interrupted",
            "phy2phy_tput-256B": "not planned",
        }

    @pytest.mark.parametrize("folder", sorted(GOLDEN.glob("version-*/*")), ids=lambda p: p.name)
    def test_records_of_all_versions_can_be_compared_with_themselves(self, folder: Path) -> None:
        same = compare([side(folder.parent, folder.name)] * 2)
        assert not any(row.changed for row in same.rows)
        assert same.contrasts == ()


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
        assert "http" not in page
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

    def test_what_did_not_change_is_left_out_on_demand(self, tmp_path: Path) -> None:
        run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000]})
        run(tmp_path, "bbbb", {1: [1200_000], 2: [1000_000]})
        (grid,) = change_grids(of(tmp_path, "aaaa", "bbbb"), only_changed=True)
        assert [row[0] for row in grid.rows] == ["64B"]
        assert grid.marks == ("better",)
