"""Figures and curves: nothing without a reason, shown and judged whatever method they are of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from printed_text import printed
from record_samples import case_record, given_load, goal_result, planned, view_of
from simulated_cases import simulated_case

from vsperf.analysis.answers import answers, findings_of, headlines
from vsperf.analysis.summary import CaseRow
from vsperf.cli.tables import print_summary
from vsperf.engine.criteria import check_all, flags_of, outcome_of
from vsperf.output.case_tables import figures_table, load_columns
from vsperf.output.report.numbers import numbers_of
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Axis,
    CleanResult,
    Curve,
    Draw,
    Draws,
    Figure,
    Limit,
    RegimeResult,
    SearchResult,
    Spread,
    View,
    amount,
)
from vsperf.records.run import Outcome

BACK2BACK = {"kind": "back2back", "throughput_duration": "1s", "throughput_sum": "1s"}


def burst(value: float | None = 26_700, **changes: Any) -> Figure:
    settings: dict[str, Any] = {
        "name": "burst",
        "unit": Unit.FRAMES,
        "value": value,
        "limit": Limit.DUT,
        "reason": "the switch lost frames",
        **changes,
    }
    return Figure(**settings)


def judged(figure: Figure, **criterion: str) -> tuple[bool | None, str]:
    case = simulated_case(search=BACK2BACK, expect=[{"metric": figure.name, **criterion}])
    (check,) = check_all(case, SearchResult(figures=(figure,)), ())
    return check.met, check.found


def test_a_figure_without_a_value_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="no value and no reason"):
        Figure(name="burst", unit=Unit.FRAMES, value=None)


def test_a_point_of_a_curve_has_a_value_for_each_column() -> None:
    axis = Axis(name="load", unit=Unit.FPS)
    with pytest.raises(ValueError, match="not one value for each column"):
        Curve(name="loss", x=axis, columns=(axis,), points=((1.0,),))
    with pytest.raises(ValueError, match="has no place"):
        Curve(name="loss", x=axis, columns=(axis,), points=((None, 1.0),))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (26_700, Unit.FRAMES, "26,700 frames"),
        (384_000, Unit.NANOSECONDS, "384.0 µs"),
        (-2_000, Unit.NANOSECONDS, "-2.000 µs"),
        (5_610_000, Unit.FPS, "5.610 Mfps"),
        (0.005, Unit.RATIO, "0.5%"),
        (0, Unit.RATIO, "0"),
        (1e-7, Unit.RATIO, "1e-05%"),
        (79_489, Unit.PER_SECOND, "79,489/s"),
        (2.5, Unit.COUNT, "2.5"),
    ],
)
def test_numbers_are_written_in_their_unit(value: float, unit: Unit, text: str) -> None:
    assert amount(value, unit) == text


def test_a_figure_that_only_has_a_lower_end_says_at_least() -> None:
    assert burst(5, lower=5.0).text == "≥ 5 frames"
    assert burst(5, lower=5.0, upper=6.0).text == "5 frames"


def test_repeats_are_told_with_their_ends() -> None:
    spread = Spread(runs=5, minimum=26_600, maximum=26_800, deviation=70.7)
    assert (
        burst(spread=spread).spread_text == "26,600 frames … 26,800 frames, s = 70.7 frames, 5 runs"
    )
    assert burst(spread=Spread(runs=3, minimum=1, maximum=1)).spread_text == "the same in 3 runs"
    assert burst(spread=Spread(runs=1, minimum=1, maximum=1)).spread_text == ""


@pytest.mark.parametrize(
    ("criterion", "met"),
    [
        ({"min": "20k"}, True),
        ({"min": "30k"}, False),
        ({"max": "30k"}, True),
        ({"max": "1"}, False),
    ],
)
def test_a_criterion_on_a_figure_is_in_its_unit(criterion: dict[str, str], met: int) -> None:
    assert judged(burst(), **criterion) == (bool(met), "26,700 frames")


def test_what_was_not_found_meets_nothing_and_misses_nothing() -> None:
    assert judged(burst(None, reason="not meaningful"), min="20k") == (None, "not meaningful")


def test_a_figure_that_something_else_limited_does_not_fail_the_switch() -> None:
    met, found = judged(burst(limit=Limit.HOST), min="30k")
    assert met is None
    assert found == "26,700 frames, limited by host: what the switch can do nobody can tell"


@pytest.mark.parametrize(
    ("limit", "asked", "met"),
    [
        (Limit.GENERATOR, {"max": "30k"}, None),
        (Limit.GENERATOR, {"max": "20k"}, False),
        (Limit.SETTING, {"min": "20k"}, True),
        (Limit.SETTING, {"min": "30k"}, None),
    ],
)
def test_a_figure_that_is_a_lower_bound_can_only_miss_a_maximum_and_meet_a_minimum(
    limit: Limit, asked: dict[str, str], met: bool | None
) -> None:
    assert judged(burst(lower=26_700, limit=limit), **asked)[0] == met


def test_an_interval_that_holds_the_criterion_is_too_wide_to_tell() -> None:
    met, found = judged(burst(100, lower=90.0, upper=110.0), min="100")
    assert met is None
    assert "too wide" in found


@pytest.mark.parametrize(
    ("criterion", "why"),
    [
        ({"metric": "burst", "min": "5s"}, "is not a count"),
        ({"metric": "buffer_time", "max": "10k"}, "is not a duration"),
        ({"metric": "throughput", "max": "5Mfps"}, "takes `min`, not `max`"),
        ({"metric": "brust", "min": "5"}, "this case has throughput, burst"),
        ({"metric": "burst", "max_loss": "0"}, "takes `min` or `max`, not `max_loss`"),
        ({"metric": "burst", "min": "some"}, "is no bound"),
    ],
)
def test_a_criterion_that_does_not_fit_its_figure_is_refused(
    criterion: dict[str, str], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        simulated_case(search=BACK2BACK, expect=[criterion])


def test_a_figure_that_cannot_be_believed_makes_the_case_invalid() -> None:
    result = SearchResult(figures=(burst(None, limit=Limit.UNKNOWN, reason="at the longest"),))
    assert outcome_of(result, ()) == (Outcome.INVALID, "burst: at the longest")


def test_flags_of_figures_are_flags_of_the_case() -> None:
    result = SearchResult(figures=(burst(flags=(Flag.SPORADIC_LOSS,)),))
    assert flags_of(result, ()) == (Flag.SPORADIC_LOSS,)


def test_a_doubt_falls_on_every_answer() -> None:
    result = SearchResult(figures=(burst(),)).doubted(Flag.RX_EXCEEDS_TX, "counted wrong")
    (figure,) = result.figures
    assert (figure.limit, figure.reason) == (Limit.UNKNOWN, "counted wrong")
    assert result.flags == (Flag.RX_EXCEEDS_TX,)
    assert figure.text == "invalid (26,700 frames)"


def test_nothing_is_shown_as_a_number_of_which_all_is_in_doubt() -> None:
    """Neither of loads that were given, nor of clean time, a regime, or further deployments."""
    none = CleanResult(share="1/2", lower_fps=9, upper_fps=10, limit=Limit.DUT, reason="it lost")
    near = RegimeResult(
        **none.model_dump(), regime=Regime.NEAR, least_ns=1, most_ns=2, clean=None
    )  # fmt: skip
    draws = Draws(
        asked=2,
        view=View.ALL,
        made=tuple(
            Draw(deployment=n, lower_fps=n, upper_fps=9, limit=Limit.DUT, reason="") for n in (1, 2)
        ),
    )
    goal = goal_result().model_copy(update={"clean": none, "regimes": (near,), "draws": draws})
    load = given_load(1000, limit=Limit.SETTING)
    axis = Axis(name="load", unit=Unit.FPS)
    curve = Curve(name="loss", x=axis, columns=(), points=((1.0,),), at="1 s")
    result = SearchResult(goals=(goal,), loads=(load,), curves=(curve,))
    found = result.doubted(Flag.RX_EXCEEDS_TX, "counted wrong")

    assert answers(found.goals[0]) == ["invalid"]
    assert [one.reason for one in (found.goals[0].clean, *found.goals[0].regimes) if one] == [
        *("counted wrong",) * 2
    ]
    assert headlines(found) == ["ndr invalid", "1.000 kfps: invalid"]
    assert not list(findings_of(found, curve=True))
    shown = [[str(column.cell(row(found))) for column in load_columns([row(found)])]]
    assert shown == [["1.000 kfps", "invalid", "invalid"]]
    (number,) = numbers_of(row(found), [])[1:]
    assert (number.value, [fact.name for fact in number.facts]) == ("invalid", ["limit"])
    assert found.curves[0].at == "1 s; invalid: rx-exceeds-tx"
    assert found.flags[0] is Flag.RX_EXCEEDS_TX


def test_a_load_that_is_in_doubt_meets_no_criterion() -> None:
    load = given_load(limit=Limit.SETTING)
    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "1%"}])
    sure = SearchResult(loads=(load,))
    assert [
        check.met
        for one in (sure, sure.doubted(Flag.RX_EXCEEDS_TX, "counted wrong"))
        for check in check_all(wanted, one, ())
    ] == [True, None]


def test_a_time_that_is_too_long_by_less_than_its_digits_show_is_told_with_all_of_them() -> None:
    late = burst(50_004, name="implied_buffer_time", unit=Unit.NANOSECONDS)
    assert judged(late, max="50us") == (False, "50,004 ns")
    assert judged(burst(51_000, name="implied_buffer_time", unit=Unit.NANOSECONDS), max="50us") == (
        *(False, "51.00 µs"),
    )


def row(result: SearchResult) -> CaseRow:
    links = {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}}
    spec = {
        "name": "phy2phy_back2back",
        "traffic": {"frame_size": "64B"},
        "topology": {"paths": [["phy0", "phy1"]]},
        "testbed": {"name": "sim", "links": links},
    }
    case = planned(spec=spec, label="phy2phy_back2back-64B")
    return CaseRow(view_of(case, case_record(case.key, result=result)))


def test_figures_and_curves_are_shown_whatever_method_they_are_of() -> None:
    curve = Curve(
        name="throughput_beside_changes",
        x=Axis(name="wanted", unit=Unit.PER_SECOND),
        columns=(Axis(name="passed", unit=Unit.FPS), Axis(name="share", unit=Unit.RATIO)),
        points=((0, 8e6, 1), (1000, None, None)),
    )
    result = SearchResult(figures=(burst(at="bursts at 14.88 Mfps"),), curves=(curve,))
    text = printed(print_summary, [row(result)], simulated=False, width=160)
    assert "26,700 frames  bursts at 14.88 Mfps; the switch lost frames" in text
    assert "phy2phy_back2back-64B: throughput beside changes" in text
    assert "1,000/s           –      –" in text
    assert headlines(result) == ["burst 26,700 frames"]


def test_what_all_figures_of_a_case_were_measured_at_is_told_with_the_first_one() -> None:
    at = ("tcp stream by iperf3 3.12, both ends on CPU 0", "udp echo, both ends on CPU 0", "")
    figures = tuple(
        Figure(name=f"p{number}", unit=Unit.COUNT, value=1, at=where, reason="so it is")
        for number, where in enumerate(at)
    )
    table = figures_table([row(SearchResult(figures=figures))])
    assert table is not None
    assert [cells[-1] for cells in table.texts] == [
        "tcp stream by iperf3 3.12, both ends on CPU 0; so it is",
        "udp echo; so it is",
        "so it is",
    ]


def test_figures_are_plain_data_in_json() -> None:
    found = json.loads(json.dumps(row(SearchResult(figures=(burst(),))).as_json()))
    (figure,) = found["figures"]
    assert (figure["name"], figure["unit"], figure["value"]) == ("burst", "frames", 26_700)
    assert found["curves"] == []


@pytest.mark.parametrize(
    ("limit", "unit", "met"),
    [
        (Limit.GENERATOR, Unit.FRAMES, None),
        (Limit.HOST, Unit.RATIO, None),
        (Limit.DUT, Unit.FRAMES, False),
        (Limit.VNF, Unit.NANOSECONDS, False),
    ],
)
def test_loss_of_somebody_else_does_not_fail_the_switch(
    limit: Limit, unit: Unit, met: bool | None
) -> None:
    names = {Unit.FRAMES: "lost", Unit.RATIO: "loss_ratio", Unit.NANOSECONDS: "reboot_time"}
    figure = Figure(name=names[unit], unit=unit, value=0.5, limit=limit, reason="x")
    kind = "reset" if unit is Unit.NANOSECONDS else "soak"
    events = {"events": ["reboot-vnfs"]} if kind == "reset" else {}
    search = {**BACK2BACK, "kind": kind, "duration": "1m", **events}
    case = simulated_case(search=search, expect=[{"metric": figure.name, "max": "0"}])
    (check,) = check_all(case, SearchResult(figures=(figure,)), ())
    assert check.met is met
