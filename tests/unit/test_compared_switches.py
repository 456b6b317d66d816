"""The switches of one run put side by side, and beside those of others."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from compared_runs import HOST, found, run
from record_samples import case_record, case_start, header, planned, run_end, trial_line
from stored_runs import store

from vsperf.analysis.comparison import compare
from vsperf.analysis.difference import Change, Means
from vsperf.analysis.sides import apart, side
from vsperf.cli.main import cli
from vsperf.errors import UsageError
from vsperf.output.figures.drawing import Look, Points
from vsperf.output.figures.groups import Traits, groups_of, traits_of
from vsperf.output.figures.plot import Options, drawings
from vsperf.quantities.unit import Unit
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.view import views
from vsperf.records.result import Figure, SearchResult
from vsperf.records.run import Line


@dataclass(frozen=True)
class Sampled:
    """What a plot keeps of a case, as far as lines are concerned."""

    traits: Traits


def two_switches(results: Path, letters: str = "aaaa") -> None:
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
    made = header(run_id, environment=HOST).model_copy(update={"cases": tuple(cases)})
    store(results, run_id, [made, *lines, run_end()])


def test_each_switch_of_a_run_is_a_side(tmp_path: Path) -> None:
    two_switches(tmp_path)
    sides = apart([side(tmp_path, "aaaa")], "vswitch")
    assert [one.name for one in sides] == ["ovs-dpdk", "vpp"]
    compared = compare(sides)
    assert {row.label for row in compared.rows} == {"phy2phy_tput-64B", "phy2phy_tput-128B"}
    for row in compared.rows:
        (difference,) = row.differences
        assert difference is not None
        assert (difference.change, difference.means) == (Change.UP, Means.RANKS)
        assert difference.share == pytest.approx(0.1, abs=0.01)


def test_another_switch_is_no_obstacle(tmp_path: Path) -> None:
    two_switches(tmp_path)
    assert compare(apart([side(tmp_path, "aaaa")], "vswitch")).obstacles == ()


def test_what_only_one_kind_has_is_no_difference_between_them(tmp_path: Path) -> None:
    two_switches(tmp_path)
    compared = compare(apart([side(tmp_path, "aaaa")], "vswitch"))
    assert [(one.name, one.values) for one in compared.contrasts] == [
        ("vswitch.kind", (("ovs-dpdk",), ("vpp",)))
    ]


def test_what_two_of_one_kind_differ_in_is_told_beside_another_kind(tmp_path: Path) -> None:
    switches = [
        {"kind": "ovs-dpdk", "root": None, "emc": True},
        {"kind": "ovs-dpdk", "root": "/srv/trees/next", "emc": True},
        {"kind": "linux-bridge", "ageing": "300s"},
    ]
    for letters, switch in zip(("aaaa", "bbbb", "cccc"), switches, strict=True):
        run(tmp_path, letters, {1: [1000]}, spec={"vswitch": switch})
    sides = [replace(side(tmp_path, one), by="vswitch") for one in ("aaaa", "bbbb", "cccc")]
    assert {one.name: one.values for one in compare(sides).contrasts} == {
        "vswitch.kind": (("ovs-dpdk",), ("ovs-dpdk",), ("linux-bridge",)),
        "vswitch.root": ((None,), ("/srv/trees/next",), (None,)),
    }


def test_a_side_can_be_one_switch_of_the_latest_run_or_of_another(tmp_path: Path) -> None:
    two_switches(tmp_path)
    (tmp_path / "latest").symlink_to("2026-11-20-phy2phy_tput-aaaa")
    first, second = (side(tmp_path, f"vswitch:{name}") for name in ("vpp", "ovs-dpdk@aaaa"))
    assert (first.name, second.name) == ("vpp", "ovs-dpdk")
    assert {row.worse(1) for row in compare([first, second]).rows} == {True}


def test_a_switch_that_was_not_measured_is_refused_with_those_that_were(tmp_path: Path) -> None:
    two_switches(tmp_path)
    with pytest.raises(UsageError, match="measured no vswitch 'bridge'") as caught:
        side(tmp_path, "vswitch:bridge@aaaa")
    assert "ovs-dpdk, vpp" in str(caught.value.problems[0].fix)


def test_a_run_of_one_switch_stands_beside_one_of_a_list(tmp_path: Path) -> None:
    two_switches(tmp_path)
    spec = {"vswitch": {"kind": "vpp", "flows": "port", "root": None, "workers": 1}}
    run(tmp_path, "bbbb", {1: [1_200_000], 2: [1_200_000]}, spec=spec)
    compared = compare([side(tmp_path, "vswitch:vpp@aaaa"), side(tmp_path, "bbbb")])
    assert {row.label for row in compared.rows} == {"phy2phy_tput-64B", "phy2phy_tput-128B"}


def test_a_run_of_several_is_no_side_beside_one_of_them(tmp_path: Path) -> None:
    two_switches(tmp_path)
    with pytest.raises(UsageError, match="measured several") as caught:
        compare([side(tmp_path, "vswitch:vpp@aaaa"), side(tmp_path, "aaaa")])
    assert "vswitch:ovs-dpdk@2026-11-20-phy2phy_tput-aaaa" in str(caught.value.problems[0].fix)


def test_switches_of_several_runs_are_taken_together(tmp_path: Path) -> None:
    two_switches(tmp_path)
    two_switches(tmp_path, "bbbb")
    sides = apart([side(tmp_path, "aaaa"), side(tmp_path, "bbbb")], "vswitch")
    assert [len(one.cases) for one in sides] == [20, 20]


def test_the_command_compares_the_switches_of_a_run(tmp_path: Path) -> None:
    two_switches(tmp_path)
    argv = ["compare", "aaaa", "--by", "vswitch", "--results", str(tmp_path), "--json"]
    shown = CliRunner().invoke(cli, argv, catch_exceptions=False)
    assert shown.exit_code == 0
    assert [one["name"] for one in json.loads(shown.output)["sides"]] == ["ovs-dpdk", "vpp"]


def test_one_switch_alone_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000]}, spec={"vswitch": {"kind": "sim"}})
    argv = ["compare", "aaaa", "--by", "vswitch", "--results", str(tmp_path)]
    with pytest.raises(UsageError, match="there is one vswitch"):
        CliRunner().invoke(cli, argv, catch_exceptions=False)


def test_the_ratios_of_one_run_are_those_of_its_switches(tmp_path: Path) -> None:
    two_switches(tmp_path)
    runs = find_runs(tmp_path, ["aaaa"])
    ((_, drawing),) = drawings((case for one in runs for case in views(one)), ["ratios"])
    assert drawing.title == "Change from the first switch, number by number"
    names = [layer.name for layer in drawing.panels[0].layers]
    assert names == ["no change", "vpp"]


def test_published_ratios_stand_beside_those_of_a_testcase_that_repeats_them(
    tmp_path: Path,
) -> None:
    """A paper had 5.5 times as much with DPDK, from guest to guest."""
    cases, lines = [], list[Line]()
    for name, rate in (("daemon", 1_000_000_000), ("dpdk", 2_000_000_000)):
        label = f"places_ovs_daemons-1518B-{name}"
        point = {"frame_size": "1518B", "vswitch": name}
        case = planned(7, key=label, id=label, label=label, point=point)
        spec = {**case.spec, "name": "places_ovs_daemons", "vswitch": {"kind": "ovs", "name": name}}
        cases.append(case.model_copy(update={"spec": spec}))
        figure = Figure(name="rate", unit=Unit.BPS, value=rate)
        lines += [case_start(label), case_record(label, result=SearchResult(figures=(figure,)))]
    run_id = "2026-11-20-places_ovs_daemons-aaaa"
    made = header(run_id, environment=HOST).model_copy(update={"cases": tuple(cases)})
    store(tmp_path, run_id, [made, *lines, run_end()])
    argv = ["compare", "aaaa", "--by", "vswitch", "--results", str(tmp_path)]
    shown = CliRunner().invoke(cli, argv, catch_exceptions=False)
    said = " ".join(shown.output.split())
    assert "rate 5.5 guest to guest, rate 3 guest to host" in said
    assert "Xeon D-1540" in said
    (one,) = find_runs(tmp_path, ["aaaa"])
    for beside, wanted in ((("ovs_dpdk_2016",), {5.5, 3.0}), ((), set())):
        ((_, drawing),) = drawings(views(one), ["ratios"], Options((), beside))
        layers = [layer for layer in drawing.layers if isinstance(layer, Points)]
        others = [layer for layer in layers if layer.look is Look.PUBLISHED]
        assert {point.y for layer in others for point in layer.points} == wanted
        assert ("Xeon D-1540" in drawing.caption) is bool(beside)


def test_lines_of_a_figure_are_called_by_the_switch(tmp_path: Path) -> None:
    two_switches(tmp_path)
    cases = [case for one in find_runs(tmp_path, ["aaaa"]) for case in views(one)]
    assert {dict(traits_of(case))["switch"] for case in cases} == {"ovs-dpdk", "vpp"}
    for by in ("switch", "vswitch"):
        samples = [Sampled(traits_of(case)) for case in cases]
        assert [one.name for one in groups_of(samples, by=[by])] == ["ovs-dpdk", "vpp"]
