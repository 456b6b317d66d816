"""Frames per second against frame size: what is a point, what is a line, what is a ceiling."""

from __future__ import annotations

import pytest
from figure_cases import RING, case
from record_samples import goal

from vsperf.output.figures.drawing import Drawing, Line, Look, Point, Points
from vsperf.output.figures.plot import Options, drawings
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.host import Calibration, Conditions
from vsperf.records.result import CleanResult, Limit, SearchResult
from vsperf.records.run import Outcome


def tput(size: str, lower: int | None, upper: int | None, **changes: object) -> CaseView:
    return case(size, result=SearchResult(goals=(goal(lower, upper),)), **changes)  # type: ignore[arg-type]


def both(lower: int, upper: int | None, **changes: object) -> tuple[CaseView, CaseView]:
    """Return two cases, since a single point is no drawing."""
    return tput("64B", lower, upper, **changes), tput("128B", lower, upper, **changes)


def drawn(*cases: CaseView, by: tuple[str, ...] = ()) -> Drawing:
    ((name, drawing),) = drawings(cases, ["throughput"], Options(by=by))
    assert name == "throughput"
    return drawing


def lines(drawing: Drawing, look: Look = Look.SERIES) -> dict[str, tuple[Point, ...]]:
    return {
        one.name: one.points for one in drawing.layers if isinstance(one, Line) and one.look is look
    }


def test_a_point_is_the_lower_bound_and_its_bar_the_interval() -> None:
    found = drawn(tput("128B", 7_000_000, 7_070_000), tput("64B", 8_000_000, 8_080_000))
    assert lines(found) == {
        "ovs-dpdk": (
            Point(64, 8_000_000, 8_000_000, 8_080_000),
            Point(128, 7_000_000, 7_000_000, 7_070_000),
        )
    }
    assert "highest load that passed" in found.caption


def test_the_axis_begins_at_zero_and_has_a_unit() -> None:
    (panel,) = drawn(*both(8_000_000, 8_080_000)).panels
    assert panel.y.from_zero
    assert panel.y.unit == "fps"


def test_cables_have_a_line_rate_and_virtual_links_have_none() -> None:
    cable = drawn(*both(8_000_000, 8_080_000))
    ((name, (point, _)),) = lines(cable, Look.CEILING).items()
    assert name == "line rate of 10 Gbit/s"
    assert point.y == pytest.approx(14_880_952.38)
    testbed = {"name": "local", "links": {"phy0": RING, "phy1": RING}}
    virtual = drawn(*both(8_000_000, 8_080_000, spec={"testbed": testbed}))
    assert lines(virtual, Look.CEILING) == {}


def test_the_cap_of_the_generator_is_a_ceiling_over_each_size_and_no_line_between() -> None:
    calibration = Calibration(
        frame_size=64, cap_fps=9_000_000, method="mirror", measured_at="", cpus=(1, 2)
    )
    around = Conditions(calibration=calibration)
    found = drawn(*both(8_000_000, 8_080_000, conditions=around))
    assert "what the generator does without a switch" not in lines(found, Look.CEILING)
    (cap,) = [one for one in found.layers if isinstance(one, Points)]
    assert cap.name == "what the generator does without a switch"
    assert cap.look is Look.CEILING
    assert cap.points == (Point(64, 9_000_000), Point(128, 9_000_000))


def test_what_is_not_to_be_believed_is_left_out_and_said() -> None:
    doubted = goal(9_000_000, 9_090_000, flags=(Flag.REFUTED,))
    found = drawn(
        tput("64B", 8_000_000, 8_080_000),
        tput("1518B", 800_000, 808_000),
        tput("128B", 9_000_000, 9_090_000, outcome=Outcome.INVALID),
        tput("256B", None, 9_000),
        case("512B", result=SearchResult(goals=(doubted,))),
        case("1024B", finished=False),
    )
    assert [point.x for point in lines(found)["ovs-dpdk"]] == [64, 1518]
    places = [tick.name for tick in found.panels[0].x.ticks]
    assert places == ["64", "128", "256", "512", "1024", "1518"], "no line leads over these"
    assert "Left out: 1 case (INVALID)." in found.caption
    assert "Left out: 1 case (no lower bound)." in found.caption
    assert "Left out: 1 case (not to be believed, by its flags)." in found.caption
    assert "Left out: 1 case (not begun)." in found.caption
    assert "n = 2 cases, 1 run" in found.caption


def test_what_clean_time_says_is_a_broken_line_of_the_same_colour_where_it_is_something_else() -> (
    None
):
    def clean(lower: int, upper: int | None) -> CleanResult:
        return CleanResult(
            share="3/4", lower_fps=lower, upper_fps=upper, limit=Limit.DUT, reason="lost"
        )

    def found(size: str, answer: CleanResult) -> CaseView:
        return case(size, result=SearchResult(goals=(goal(5, 6, clean=answer),)))

    drawing = drawn(found("64B", clean(8, 9)), found("128B", clean(5, 6)))
    assert lines(drawing)["ovs-dpdk, in clean time"] == (Point(64, 8, 8, 9), Point(128, 5, 5, 6))
    all_time, in_clean = (one for one in drawing.layers if one.look is Look.SERIES)
    assert isinstance(all_time, Line) and isinstance(in_clean, Line)
    assert (all_time.color, all_time.dash, in_clean.dash) == (in_clean.color, 0, 1)
    assert "Clean time is" in drawing.caption
    same = drawn(found("64B", clean(5, 6)), found("128B", clean(5, 6)))
    assert set(lines(same)) == {"ovs-dpdk"}
    assert "lean time" not in same.caption


def test_nothing_is_drawn_of_nothing() -> None:
    assert drawings([case(finished=False)], ["throughput"]) == []
    assert drawings([], ["throughput"]) == []


def test_a_single_point_is_a_number_and_no_drawing() -> None:
    assert drawings([tput("64B", 5, 6)], ["throughput"]) == []


def test_an_open_end_has_no_bar_and_is_said() -> None:
    found = drawn(tput("64B", 8_000_000, None), tput("128B", 7_000_000, 7_070_000))
    assert lines(found)["ovs-dpdk"][0] == Point(64, 8_000_000, 8_000_000, None)
    assert "1 of these is only known to be as high or higher." in found.caption


def test_lines_are_called_by_what_differs() -> None:
    other = {"vswitch": {"kind": "vpp"}}
    found = drawn(tput("64B", 8, 9), tput("64B", 10, 11, spec=other, run="2026-11-20-x-zzzz"))
    assert set(lines(found)) == {"ovs-dpdk", "vpp"}
    runs = drawn(tput("64B", 8, 9), tput("64B", 10, 11, run="2026-11-21-x-zzzz"))
    assert set(lines(runs)) == {"2026-11-20-phy2phy_tput-k7f3", "2026-11-21-x-zzzz"}


def test_repeats_are_one_point_with_its_range() -> None:
    found = drawn(*(tput("64B", fps, fps + 1, repeat=n) for n, fps in enumerate((5, 7, 6), 1)))
    assert lines(found)["ovs-dpdk"] == (Point(64, 6, 5, 7),)
    assert "medians of up to 3 repeats" in found.caption


def test_a_trait_that_is_named_decides_on_the_lines() -> None:
    found = drawn(
        tput("64B", 5, 6),
        tput("64B", 7, 8, run="2026-11-21-x-zzzz"),
        tput("64B", 9, 10, spec={"generator": {"kind": "trex"}}),
        by=("generator",),
    )
    assert lines(found)["tgen"] == (Point(64, 6, 5, 7),)
    assert set(lines(found)) == {"tgen", "trex"}


def test_simulated_numbers_say_so() -> None:
    found = drawn(*both(5, 6, simulated=True))
    assert found.simulated
    assert "SIMULATED" in found.caption
    assert all(one.simulated for one in found.layers if one.look is Look.SERIES)


def test_what_a_criterion_asks_for_stands_over_the_sizes_that_it_is_for() -> None:
    expect = [
        {"metric": "ndr", "min": "5Mfps", "frame_size": "64B"},
        {"metric": "ndr", "min": "50%", "frame_size": "128B"},
        {"metric": "pdr", "min": "9Mfps"},
        {"metric": "ndr", "max": "9Mfps"},
        {"metric": "no such thing", "min": 7},
    ]
    found = drawn(*both(4_000_000, 4_040_000, spec={"expect": expect}))
    (target,) = (one for one in found.layers if one.look is Look.TARGET)
    assert isinstance(target, Points)
    assert [(one.x, round(one.y)) for one in target.points] == [(64, 5_000_000), (128, 4_222_973)]
    assert not any(one.look is Look.TARGET for one in drawn(*both(1_000, 1_010)).layers)
