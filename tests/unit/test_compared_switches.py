"""The switches of one run put side by side, and beside those of others; and its generators."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from compared_runs import HOST, found, run
from record_samples import (
    TIME,
    case_record,
    case_start,
    header,
    lossy_load,
    planned,
    run_end,
    trial,
    trial_line,
)
from series_samples import header as series_header
from stored_runs import store

from vsperf.analysis.comparison import compare
from vsperf.analysis.difference import Change, Means
from vsperf.analysis.generators import GeneratorRow
from vsperf.analysis.sides import apart, side
from vsperf.cli.main import cli
from vsperf.errors import UsageError
from vsperf.output.compare_text import notes
from vsperf.output.figures.drawing import Look, Points
from vsperf.output.figures.groups import Traits, groups_of, traits_of
from vsperf.output.figures.plot import Options, drawings
from vsperf.quantities.unit import Unit
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.series import SeriesFile
from vsperf.records.files.view import views
from vsperf.records.flags import Flag
from vsperf.records.histogram import encode
from vsperf.records.host import Calibration, Conditions
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.run import Line, TrialLine
from vsperf.records.series import Note, OwnTrial, Quantity, Sample
from vsperf.records.trial import Purpose, Trial


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
    with pytest.raises(UsageError, match=r"by vswitch\.emc$") as strange:  # nor taken for repeats
        groups_of(samples, by=["vswitch.emc"])
    assert "there are: switch, " in str(strange.value.problems[0].fix)


# Generators of one run side by side: what each did on the same switch, or why nobody knows.

RUN = "2026-11-20-generators_compare-aaaa"
REPEATS = 4
SETTINGS = {
    "tgen": {"kind": "tgen", "workers": 1},
    "tgen-two": {"kind": "tgen", "workers": 2},
    "testpmd": {"kind": "testpmd", "mode": "flowgen"},
}


def flooded(rate: int) -> SearchResult:
    """What a generator without a pace answers: no goal, one load."""
    load = lossy_load("1/10", load_fps=9_000_000, throughput_fps=rate, limit=Limit.GENERATOR)
    return SearchResult(loads=(load,))


def latency(index: int, load_fps: int, median_ns: int) -> Trial:
    """Return a trial with latencies; its generator takes 250 ms beside its traffic."""
    plain = trial(index, load_fps=load_fps, purpose=Purpose.LATENCY, elapsed_ns=1_250_000_000)
    text = encode([median_ns, median_ns, 10 * median_ns])
    ways = tuple(way.model_copy(update={"latency_histogram": text}) for way in plain.directions)
    return plain.model_copy(update={"directions": ways})


def trials_of(name: str) -> list[Trial]:
    if name == "testpmd":
        return [trial(1, flags=(Flag.UNPACED, Flag.UNCHECKED), elapsed_ns=1_100_000_000)]
    invalid = trial(1, load_fps=2, flags=(Flag.OVERSENT,), elapsed_ns=9_000_000_000)
    return [
        invalid,
        trial(2, lost=100_000, elapsed_ns=1_250_000_000),
        trial(3, lost=400_000, elapsed_ns=1_250_000_000),
        latency(4, 900_000, 8000),
        latency(5, 100_000, 2000),
    ]


def conditions(name: str) -> Conditions | None:
    """Return what was found before a case: a cap only where the generator was calibrated."""
    if name == "testpmd":
        return None
    calibration = Calibration(
        frame_size=64,
        cap_fps=8_000_000,
        method="a mirror",
        measured_at=TIME,
        cpus=(0, 1) if name == "tgen" else (0, 2, 1),
    )
    return Conditions(calibration=calibration)


def a_run(results: Path, *names: str, repeats: int = REPEATS) -> None:
    """Store a run of some generators in turns; what they find differs by their place."""
    cases, lines = [], list[Line]()
    for repeat in range(1, repeats + 1):
        for place, name in enumerate(names):
            label = f"generators_compare-64B-{name}"
            key = label if repeat == 1 else f"{label}.{repeat}"
            point = {"frame_size": "64B", "generator": name}
            case = planned(1, repeat=repeat, key=key, id=label, label=label, point=point)
            spec = {**case.spec, "generator": SETTINGS[name]}
            cases.append(case.model_copy(update={"spec": spec}))
            rate = 1_000_000 * (place + 1) + 1000 * repeat
            result = flooded(rate) if name == "testpmd" else found(rate)
            lines.append(case_start(key))
            lines += [TrialLine(case=key, trial=one) for one in trials_of(name)]
            lines.append(case_record(key, result=result, conditions=conditions(name)))
    made = header(RUN, environment=HOST).model_copy(update={"cases": tuple(cases)})
    store(results, RUN, [made, *lines, run_end()])


def monitored(results: Path, name: str, gaps: Sequence[int | None]) -> None:
    """Add what a pacing monitor saw of each repeat: such a gap one way, and shorter ones back."""
    for repeat, gap in enumerate(gaps, start=1):
        label = f"generators_compare-64B-{name}"
        head = series_header("pacing").model_copy(
            update={
                "case": label if repeat == 1 else f"{label}.{repeat}",
                "quantities": (Quantity(name="gap_off_p99_ns", unit="ns"),),
            }
        )
        file = SeriesFile.begin(results / RUN, head)
        file.append(OwnTrial(trial=trial(1)))
        for of, off in (("there", gap), ("back", 50)):
            values = {"seen_frames": 7}
            if off is not None:
                values |= {"rate_off_ppm": -1000, "gap_off_p50_ns": 20, "gap_off_p99_ns": off}
            file.append(Sample(trial=1, at_ns=1, of=of, values=values))
        if gap is None:
            file.append(Note(trial=1, text="it had no room"))


def rows(
    results: Path,
    *names: str,
    repeats: int = REPEATS,
    monitor: Mapping[str, Sequence[int | None]] | None = None,
) -> dict[str, GeneratorRow]:
    a_run(results, *names, repeats=repeats)
    for name, gaps in (monitor or {}).items():
        monitored(results, name, gaps)
    compared = compare(apart([side(results, "aaaa")], "generator"))
    return {row.generator: row for row in compared.generators}


def command(results: Path, *more: str, by: str = "generator") -> Result:
    argv = ["compare", "aaaa", "--by", by, "--results", str(results), *more]
    return CliRunner().invoke(cli, argv, catch_exceptions=False)


class TestTheRowOfAGenerator:
    def test_holds_the_most_that_came_through_with_every_frame_looked_at(
        self, tmp_path: Path
    ) -> None:
        row = rows(tmp_path, "tgen", "testpmd")["tgen"]
        assert row.repeats == REPEATS
        assert row.checked_fps == pytest.approx(1_000_000)

    def test_holds_the_rate_without_loss_and_how_far_repeats_lie_apart(
        self, tmp_path: Path
    ) -> None:
        row = rows(tmp_path, "tgen", "testpmd")["tgen"]
        assert row.loss_free is not None
        assert row.loss_free.values == (1_001_000, 1_002_000, 1_003_000, 1_004_000)
        assert row.scatter == pytest.approx(0.00129, abs=0.0001)
        assert row.limits == (Limit.DUT,)

    def test_takes_the_floor_from_the_lightest_load(self, tmp_path: Path) -> None:
        assert rows(tmp_path, "tgen", "testpmd")["tgen"].floor_ns == pytest.approx(2000, rel=0.001)

    def test_counts_time_beside_traffic_of_believed_trials_only(self, tmp_path: Path) -> None:
        found = rows(tmp_path, "tgen", "testpmd")
        assert found["tgen"].beside_ns == 250_000_000
        assert found["testpmd"].beside_ns == 100_000_000

    def test_shares_the_cap_out_among_the_generators_cpus(self, tmp_path: Path) -> None:
        found = rows(tmp_path, "tgen", "tgen-two")
        assert found["tgen"].per_cpu_fps == 8_000_000
        assert found["tgen-two"].per_cpu_fps == 4_000_000

    def test_holds_the_median_of_what_a_monitor_saw(self, tmp_path: Path) -> None:
        row = rows(tmp_path, "tgen", "testpmd", monitor={"tgen": (300, 100, 200, 900)})["tgen"]
        assert row.pace == {
            "repeats": 4,
            "rate_off_ppm": -1000,
            "gap_off_p50_ns": 20,
            "gap_off_p99_ns": 250,
            "seen_frames": 7,
        }

    def test_goes_by_the_less_even_direction(self, tmp_path: Path) -> None:
        row = rows(tmp_path, "tgen", "testpmd", repeats=1, monitor={"tgen": (300,)})["tgen"]
        assert row.pace is not None and row.pace["gap_off_p99_ns"] == 300

    def test_says_what_the_monitor_said_where_it_saw_not_all(self, tmp_path: Path) -> None:
        found = rows(tmp_path, "tgen", "testpmd", repeats=1, monitor={"tgen": (None,)})
        assert found["tgen"].pace is None
        assert found["tgen"].missing["pacing"] == "it had no room"

    def test_says_why_a_number_is_missing(self, tmp_path: Path) -> None:
        row = rows(tmp_path, "tgen", "testpmd")["testpmd"]
        assert (row.checked_fps, row.loss_free, row.floor_ns, row.per_cpu_fps) == (None,) * 4
        assert row.missing == {
            "checked": "it does not look at each frame",
            "loss_free": "the method searches none",
            "floor": "no latency was measured",
            "pacing": "no pacing monitor was asked: --set collect=pacing",
            "per_cpu": "it was not calibrated without a switch",
            "scatter": "its number is only known to be as high or higher",
        }
        assert row.reservations == (Flag.UNPACED, Flag.UNCHECKED)

    def test_has_no_repeatability_without_repeats(self, tmp_path: Path) -> None:
        row = rows(tmp_path, "tgen", "testpmd", repeats=1)["tgen"]
        assert row.scatter is None
        assert row.missing["scatter"] == "it was not repeated"

    def test_of_one_that_was_never_run_says_so_everywhere(self, tmp_path: Path) -> None:
        case = planned(1, point={"frame_size": "64B", "generator": "tgen"})
        cases = [
            case.model_copy(
                update={
                    "key": name,
                    "id": name,
                    "label": f"generators_compare-64B-{name}",
                    "point": {"frame_size": "64B", "generator": name},
                    "spec": {**case.spec, "generator": SETTINGS[name]},
                }
            )
            for name in ("tgen", "testpmd")
        ]
        run_id = "2026-11-20-generators_compare-aaaa"
        made = header(run_id, environment=HOST).model_copy(update={"cases": tuple(cases)})
        store(tmp_path, run_id, [made])
        for row in compare(apart([side(tmp_path, "aaaa")], "generator")).generators:
            assert set(row.missing.values()) == {"not run"}
            assert len(row.missing) == 7


def test_generators_that_offered_what_they_can_are_compared_by_the_load_asked_for(
    tmp_path: Path,
) -> None:
    flood_of(tmp_path, {"tgen": 7_000_000, "testpmd": 9_000_000}, repeats=2)
    made = compare(apart([side(tmp_path, RUN)], "generator"))
    assert [row.name for row in made.rows] == ["through at 100%", "loss at 100%"]
    assert all(sample for row in made.rows for sample in row.samples)
    told = [line for line in notes(made) if "as much of that as it can" in line]
    assert len(told) == 1


def test_generators_that_offered_the_same_are_compared_by_what_that_was(tmp_path: Path) -> None:
    flood_of(tmp_path, {"tgen": 7_000_000, "testpmd": 7_000_000}, repeats=1)
    made = compare(apart([side(tmp_path, RUN)], "generator"))
    assert {row.name for row in made.rows} == {"through at 7000000 fps", "loss at 7000000 fps"}
    assert not [line for line in notes(made) if "as much of that as it can" in line]


def test_repeats_of_a_number_that_is_zero_are_not_said_to_be_none(tmp_path: Path) -> None:
    flood_of(tmp_path, {"tgen": 7_000_000, "testpmd": 9_000_000}, repeats=2, lost="0")
    found = list(notes(compare(apart([side(tmp_path, RUN)], "generator"))))
    assert not [line for line in found if "nothing was repeated" in line]
    assert [line for line in found if "no share of a number that is 0" in line]


def flood_of(results: Path, loads: Mapping[str, int], *, repeats: int, lost: str = "1/10") -> None:
    """Store a run in which each generator was asked for all, and offered what it can."""
    a_run(results, *loads, repeats=repeats)
    path = results / RUN / "records.jsonl"
    lines = []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        for case in line.get("cases", []):
            case["spec"]["search"] = {"kind": "fixed", "loads": ["100%"]}
        if line["type"] == "case":
            name = line["case"].removeprefix("generators_compare-64B-").partition(".")[0]
            load = (
                flooded(loads[name] // 2)
                .loads[0]
                .model_copy(update={"load_fps": loads[name], "worst_loss_ratio": lost})
            )
            line["result"] = SearchResult(loads=(load,)).model_dump(mode="json")
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n")


def test_each_empty_cell_is_told_below_the_tables_once(tmp_path: Path) -> None:
    a_run(tmp_path, "tgen", "testpmd")
    said = list(notes(compare(apart([side(tmp_path, "aaaa")], "generator"))))
    assert "testpmd has no checked: it does not look at each frame" in said
    assert "testpmd has no loss-free: the method searches none" in said
    assert len([line for line in said if line.startswith("testpmd, unpaced: ")]) == 1


def test_the_command_shows_the_table_in_every_format(tmp_path: Path) -> None:
    a_run(tmp_path, "tgen", "testpmd")
    for form in ("table", "md", "html"):
        shown = command(tmp_path, "--format", form).output
        assert "generators side by side, cases of generators" in shown
        assert "testpmd has no floor: no latency was measured" in shown
    first, second = json.loads(command(tmp_path, "--json").output)["generators"]
    assert (first["generator"], first["beside_ns"]) == ("tgen", 250_000_000)
    assert (second["checked_fps"], second["missing"]["checked"]) == (
        None,
        "it does not look at each frame",
    )


def test_the_pace_is_shown_as_the_mean_rate_and_the_gaps(tmp_path: Path) -> None:
    a_run(tmp_path, "tgen", "testpmd", repeats=1)
    monitored(tmp_path, "tgen", (3000,))
    assert "-0.10%, 20 ns … 3.000 µs" in command(tmp_path, "--format", "md").output
    first, second = json.loads(command(tmp_path, "--json").output)["generators"]
    assert (first["pace"]["gap_off_p99_ns"], second["pace"]) == (3000, None)


def test_a_monitor_that_tells_less_in_one_trial_is_shown_by_what_it_told_in_all(
    tmp_path: Path,
) -> None:
    a_run(tmp_path, "tgen", "testpmd", repeats=1)
    head = series_header("pacing").model_copy(
        update={
            "case": "generators_compare-64B-tgen",
            "quantities": (Quantity(name="gap_off_p99_ns", unit="ns"),),
        }
    )
    file = SeriesFile.begin(tmp_path / RUN, head)
    for number, names in ((1, ("gap_off_p50_ns", "gap_off_p99_ns")), (2, ("gap_off_p99_ns",))):
        file.append(OwnTrial(trial=trial(number)))
        values = dict.fromkeys(names, 3000)
        file.append(Sample(trial=number, at_ns=1, of="there", values={**values}))
    shown = command(tmp_path, "--format", "md")
    assert shown.exit_code == 0
    assert "| 3.000 µs |" in shown.output


def test_other_comparisons_have_no_such_table(tmp_path: Path) -> None:
    a_run(tmp_path, "tgen", "testpmd")
    compared = compare([side(tmp_path, "aaaa"), side(tmp_path, "aaaa")])
    assert compared.generators == ()
