"""Ratios between runs and in turns, and trends, as drawings: compared by their numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from figure_world import turns_case
from paired_models import PairedModel
from record_samples import case_record, goal, header, planned
from test_draws import draw

from vsperf.output.figures import ratios, trend, turns
from vsperf.output.figures.drawing import Drawing, Line, Look, Points, Spans
from vsperf.output.figures.plot import Options, Plot
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.result import Draws, Figure, SearchResult, View
from vsperf.records.run import Outcome


def case(run: str, rate: int, *, repeat: int = 1, **changes: Any) -> CaseView:
    spec = changes.pop("spec", {})
    one = planned(changes.pop("number", 1), repeat=repeat)
    one = one.model_copy(update={"spec": {**one.spec, **spec}})
    head = header(run, cases=0, **{"simulated": False, **changes})
    result = SearchResult(goals=(goal(rate, rate + rate // 100),))
    return CaseView(Path("nowhere"), head, one, record=case_record(one.key, result=result))


NEAR, FAR = (70, 125), (380, 500)


def met(one: CaseView, round_trips_ns: tuple[int, int]) -> CaseView:
    """Return a case whose trials were all made in one regime."""
    assert one.record is not None
    assert one.record.result is not None
    result = one.record.result.model_copy(update={"round_trips_ns": round_trips_ns})
    return replace(one, record=one.record.model_copy(update={"result": result}))


def with_draws(one: CaseView, *rates: int) -> CaseView:
    """Return a case that was asked on several deployments, the first of which is its own."""
    record = known(one.record)
    (found,) = known(record.result).goals
    made = tuple(draw(number, rate, rate + 10_000) for number, rate in enumerate(rates, start=1))
    draws = Draws(asked=len(made), view=View.ALL, made=made)
    result = SearchResult(goals=(found.model_copy(update={"draws": draws}),))
    return replace(one, record=record.model_copy(update={"result": result}))


def drawn(plot: Plot, cases: list[CaseView]) -> Drawing | None:
    samples = [sample for one in cases for sample in plot.gather(one)]
    return plot.draw(samples, Options()) if samples else None


def points(drawing: Drawing | None, name: str) -> list[Any]:
    assert drawing is not None
    layers = [one for one in drawing.layers if isinstance(one, Points | Line) and one.name == name]
    return [(point.x, point.y) for layer in layers for point in layer.points]


class TestRatios:
    def test_others_are_shares_of_the_first(self) -> None:
        drawing = drawn(ratios.PLOT, [case("a", 1000_000), case("b", 900_000), case("c", 1100_000)])
        assert points(drawing, "b") == [(0, pytest.approx(0.9))]
        assert points(drawing, "c") == [(0, pytest.approx(1.1))]
        assert points(drawing, "no change") == [(0, 1)]

    def test_the_axis_says_what_no_change_is(self) -> None:
        drawing = known(drawn(ratios.PLOT, [case("a", 1000_000), case("b", 1750_000)]))
        assert drawing.panels[0].y.label == "share of the first run, 100 % = same"
        assert "`vsperf compare` calls +75 % is 175 %" in drawing.caption

    def test_where_bounds_alone_are_there_what_has_them_side_by_side_is_named(self) -> None:
        assert "`vsperf compare RUN RUN` has them side by side" in ratios.PLOT.needs
        assert "vsperf plot intervals" not in ratios.PLOT.needs

    def test_why_a_case_has_none_is_known(self) -> None:
        whole = case("a", 1000_000)
        assert ratios.PLOT.missing(whole) == ""
        record = known(whole.record)
        busy = record.model_copy(update={"flags": (Flag.TOO_BUSY,)})
        assert ratios.PLOT.missing(replace(whole, record=busy)) == "too busy to tell"
        invalid = record.model_copy(update={"outcome": Outcome.INVALID, "result": None})
        assert ratios.PLOT.missing(replace(whole, record=invalid)) == "INVALID"
        assert ratios.PLOT.missing(replace(whole, record=None)).startswith("not ")

    def test_a_machine_that_was_too_busy_has_no_ratio(self) -> None:
        first, other = case("a", 1000_000), case("b", 9_000)
        assert other.record is not None
        busy = other.record.model_copy(update={"flags": (Flag.TOO_BUSY,)})
        assert drawn(ratios.PLOT, [first, replace(other, record=busy)]) is None

    def test_runs_with_the_same_labels_are_repeats(self) -> None:
        old = [case(f"o{n}", 1000_000 + n, labels={"rev": "old"}) for n in range(5)]
        new = [case(f"n{n}", 1200_000 + n, labels={"rev": "new"}) for n in range(5)]
        drawing = drawn(ratios.PLOT, [*old, *new])
        assert points(drawing, "rev=new") == [(0, pytest.approx(1.2, abs=0.001))]

    def test_bars_reach_to_the_ends_of_the_interval_by_ranks(self) -> None:
        """Of five against five, chance leaves out 2 of the 25 ratios at each end in 5 % at most.

        Each number is known to 1 %, and may be off to either side.
        """
        were, are = (1000, 1040, 1010, 1030, 1020), (1180, 1150, 1210, 1190, 1160)
        old = [case(f"o{n}", rate * 1000, labels={"rev": "old"}) for n, rate in enumerate(were)]
        new = [case(f"n{n}", rate * 1000, labels={"rev": "new"}) for n, rate in enumerate(are)]
        drawing = known(drawn(ratios.PLOT, [*old, *new]))
        points = (one for one in drawing.layers if isinstance(one, Points))
        (bar,) = (point for one in points if one.name == "rev=new" for point in one.points)
        every = sorted(after / before for after in are for before in were)
        assert bar.low == pytest.approx(every[2] / 1.01, rel=1e-3)
        assert bar.high == pytest.approx(every[-3] * 1.01, rel=1e-3)
        assert bar.y == pytest.approx(every[12], rel=1e-3)

    def test_what_has_nothing_to_do_with_each_other_is_left_out(self) -> None:
        other = {"traffic": {"frame_size": "64B", "flows": "7"}}
        assert drawn(ratios.PLOT, [case("a", 1000_000), case("b", 900_000, spec=other)]) is None
        both = [case("a", 1000_000), case("b", 900_000), case("c", 900_000, spec=other)]
        drawing = known(drawn(ratios.PLOT, both))
        assert "left out" in drawing.caption
        assert not points(drawing, "c")

    def test_a_model_is_not_put_beside_a_switch(self) -> None:
        assert drawn(ratios.PLOT, [case("a", 1), case("b", 1, simulated=True)]) is None

    def test_a_number_that_the_first_run_lacks_is_held_against_the_next(self) -> None:
        cases = [case("a", 9), *(case(n, rate, number=2) for n, rate in (("b", 1000), ("c", 500)))]
        drawing = drawn(ratios.PLOT, cases)
        assert points(drawing, "c") == [(0, pytest.approx(0.5))]

    def test_what_was_near_is_held_against_nothing_that_was_far(self) -> None:
        near, far = met(case("a", 1000_000), NEAR), met(case("b", 700_000), FAR)
        assert drawn(ratios.PLOT, [near, far]) is None
        other = met(case("c", 900_000), NEAR)
        drawing = drawn(ratios.PLOT, [near, far, other])
        assert points(drawing, "c") == [(0, pytest.approx(0.9))]
        assert not points(drawing, "b")

    def test_what_is_known_over_deployments_is_drawn_by_these_alone(self) -> None:
        """As it is compared: what one of them came to is one draw."""
        same = [with_draws(case(name, 1000_000), 1000_000, 1020_000) for name in ("a", "b")]
        drawing = known(drawn(ratios.PLOT, same))
        assert [tick.name for tick in drawing.panels[0].x.ticks] == ["64B ndr over draws"]
        (bar,) = (x for one in drawing.layers if isinstance(one, Points) for x in one.points)
        assert known(bar.low) < 0.98, "by how far they lie apart, and not by bounds of searches"
        near, far = (met(one, span) for one, span in zip(same, (NEAR, FAR), strict=True))
        assert drawn(ratios.PLOT, [near, far]) is None

    def test_one_run_has_no_ratio(self) -> None:
        assert drawn(ratios.PLOT, [case("a", 1)]) is None
        assert drawn(ratios.PLOT, []) is None


class TestTrend:
    def days(self, rates: list[int], **changes: Any) -> list[CaseView]:
        return [
            case(f"r{day:02}", rate, started_at=f"2026-11-{day:02}T10:00:00Z", **changes)
            for day, rate in enumerate(rates, start=1)
        ]

    def test_levels_and_the_first_run_after_a_change_are_marked(self) -> None:
        chance = random.Random(4)
        rates = [round(chance.gauss(m, m / 300)) for m in [1e7] * 10 + [9e6] * 6]
        drawing = drawn(trend.PLOT, self.days(rates))
        assert points(drawing, "runs") == [(n, rate) for n, rate in enumerate(rates, start=1)]
        ((place, level),) = points(drawing, "worse from here on")
        assert (place, level) == (11, pytest.approx(9e6, rel=0.01))
        assert not points(drawing, "better from here on")

    def test_runs_are_drawn_in_the_order_of_their_beginning(self) -> None:
        cases = self.days([1000_000, 2000_000, 3000_000])
        assert drawn(trend.PLOT, cases) == drawn(trend.PLOT, cases[::-1])

    def test_a_cut_is_no_change(self) -> None:
        first = self.days([1000_000] * 4)
        other: dict[str, Any] = {"environment": {"host": {"cpu_model": "EPYC"}}}
        second = [
            case(f"s{day}", 2000_000, started_at=f"2026-12-0{day}T10:00:00Z", **other)
            for day in range(1, 5)
        ]
        drawing = known(drawn(trend.PLOT, [*first, *second]))
        assert len([one for one in drawing.layers if one.name == "level"]) == 2
        assert not [one for one in drawing.layers if one.look in (Look.GOOD, Look.BAD)]

    @pytest.mark.parametrize(
        ("unit", "written"), [(Unit.PER_SECOND, "/s"), (Unit.BPS, "bit/s"), (Unit.BYTES, "B")]
    )
    def test_every_number_has_its_unit_at_the_axis(self, unit: Unit, written: str) -> None:
        found = Figure(name="rate", unit=unit, value=5, reason="made up")
        result = SearchResult(figures=(found,))
        cases = self.days([1, 2, 3])
        made = [replace(one, record=case_record(one.key, result=result)) for one in cases]
        drawing = known(drawn(trend.PLOT, made))
        assert drawing.panels[0].y.unit == written

    def test_a_rate_that_is_only_a_lower_bound_is_said_to_be_one(self) -> None:
        result = SearchResult(goals=(goal(1000_000, None),))
        first, *others = self.days([1000_000, 1000_000, 1000_000])
        opened = replace(first, record=case_record(first.key, result=result))
        drawing = known(drawn(trend.PLOT, [opened, *others]))
        assert "1 of these is only known to be as high or higher." in drawing.caption

    def test_no_level_goes_by_what_is_no_answer(self) -> None:
        cases = self.days([1000_000, 1000_000, 9_000, 9_000, 1000_000, 1000_000])
        for place in (2, 3):
            record = cases[place].record
            assert record is not None
            busy = record.model_copy(update={"flags": (Flag.TOO_BUSY,)})
            cases[place] = replace(cases[place], record=busy)
        drawing = known(drawn(trend.PLOT, cases))
        assert points(drawing, "level") == [(1, 1000_000), (6, 1000_000)]
        assert len(points(drawing, "runs")) == 6
        assert "2 points are no answers, by a busy machine" in drawing.caption

    def test_there_is_no_level_where_no_run_on_a_ground_is_an_answer(self) -> None:
        cases = self.days([1000_000] * 3)
        other: dict[str, Any] = {"environment": {"host": {"cpu_model": "EPYC"}}}
        for day in (1, 2):
            one = case(f"s{day}", 9_000, started_at=f"2026-12-0{day}T10:00:00Z", **other)
            assert one.record is not None
            busy = one.record.model_copy(update={"flags": (Flag.TOO_BUSY,)})
            cases.append(replace(one, record=busy))
        drawing = known(drawn(trend.PLOT, cases))
        assert points(drawing, "level") == [(1, 1000_000), (3, 1000_000)], "and none of the others"

    def test_runs_that_were_near_and_far_have_no_levels(self) -> None:
        near, far = (self.days([rate] * 4) for rate in (1000_000, 700_000))
        cases = [*(met(one, NEAR) for one in near[:2]), *(met(one, FAR) for one in far[2:])]
        drawing = drawn(trend.PLOT, cases)
        assert len(points(drawing, "runs")) == 4
        assert not points(drawing, "level")

    def test_of_what_is_known_over_deployments_levels_go_by_these_alone(self) -> None:
        """A level of the first of them is what it drew."""
        rates = [1000_000] * 4 + [800_000] * 4
        cases = [
            with_draws(case(f"r{n}", rate), 1000_000, 1010_000) for n, rate in enumerate(rates)
        ]
        drawing = known(drawn(trend.PLOT, cases))
        one, over = drawing.panels
        assert (one.y.label, over.y.label) == ("ndr", "ndr over draws")
        assert not any(isinstance(layer, Line) for layer in one.layers)
        assert any(isinstance(layer, Line) for layer in over.layers)
        assert "Without lines: each is that of one deployment" in drawing.caption

    def test_two_runs_are_no_trend(self) -> None:
        assert drawn(trend.PLOT, self.days([1, 2])) is None

    def test_a_model_says_so(self) -> None:
        drawing = known(drawn(trend.PLOT, self.days([1, 2, 3], simulated=True)))
        assert drawing.simulated

    def test_runs_are_named_by_what_the_user_called_them_where_that_tells_them_apart(self) -> None:
        for same in (False, True):
            cases = [
                case(
                    f"r-{letters}", 1000_000, started_at=f"2026-11-0{day}T10:00:00Z",
                    labels={"switch": "ovs", "revision": "4f2c1ab" if same else letters * 2},
                )
                for day, letters in enumerate(("aaaa", "bbbb", "cccc"), start=1)
            ]  # fmt: skip
            drawing = known(drawn(trend.PLOT, cases))
            names = [tick.name for tick in drawing.panels[0].x.ticks]
            assert names == (
                ["11-01 aaaa", "11-02 bbbb", "11-03 cccc"]
                if same
                else ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
            )


class TestTurns:
    def test_each_round_has_its_ratio_and_the_answer_stands_behind_all(self) -> None:
        one = turns_case(0.9)
        drawing = known(drawn(turns.PLOT, [one]))
        names = [tick.name for tick in drawing.panels[0].x.ticks]
        assert names == ["1", "2", "3", "4", "5", "6", "all"]
        (rival,) = (
            layer for layer in drawing.panels[0].layers
            if isinstance(layer, Points) and layer.name == "B (B)"
        )  # fmt: skip
        *rounds, answer = rival.points
        assert [point.x for point in rival.points] == list(range(7))
        assert one.result is not None
        ratio = one.result.figures[0]
        assert (answer.y, answer.low, answer.high) == (ratio.value, ratio.lower, ratio.upper)
        for point in rounds:
            assert point.low is not None
            assert point.high is not None
            assert 0.85 < point.low <= point.y <= point.high < 0.95

    def test_the_control_stands_before_the_rivals_and_is_explained(self) -> None:
        drawing = known(drawn(turns.PLOT, [turns_case(0.9, 1.1)]))
        names = [layer.name for layer in drawing.panels[0].layers]
        assert names == ["no change", "A′ (A′)", "B (B)", "C (C)"]
        assert "A′ is A deployed once more: it is to hold 100 %." in drawing.caption

    def test_how_turns_begin_is_drawn_with_what_that_says_of_the_guard(self) -> None:
        cold = PairedModel("cold", {}, {"warms_in": "3ms"})
        drawing = known(drawn(turns.PLOT, [turns_case(1.0, model=cold)]))
        assert "guard of 2.000 ms does not suffice" in drawing.caption
        (first, *_) = (
            layer for layer in drawing.panels[1].layers
            if isinstance(layer, Line) and layer.name == "A (A)"
        )  # fmt: skip
        told = [(point.x, round(point.y, 2)) for point in first.points]
        assert told == [(250_000, 0.5), (750_000, 0.5), (1_500_000, 1), (3_000_000, 1)]

    def test_a_side_has_one_colour_in_both_panels(self) -> None:
        drawing = known(drawn(turns.PLOT, [turns_case(0.9)]))
        above, below = (
            {layer.name: layer.color for layer in panel.layers if not isinstance(layer, Spans)}
            for panel in drawing.panels
        )
        assert above["B (B)"] == below["B (B)"] == 2

    def test_a_ratio_that_nobody_knows_has_no_answer_behind_its_rounds(self) -> None:
        one = turns_case(0.9)
        few = replace(one, rounds=tuple(one.rounds)[:-2])
        drawing = known(drawn(turns.PLOT, [few]))
        above = replace(drawing, panels=drawing.panels[:1])
        assert [x for x, _ in points(above, "B (B)")] == [0, 1, 2, 3]

    def test_at_a_load_latency_and_loss_have_panels_what_was_asked_for_before_all_others(
        self,
    ) -> None:
        asked = {"load": "80% of slowest", "metric": "p99"}
        one = turns_case(0.9, settings=asked)
        drawing = known(drawn(turns.PLOT, [one]))
        told = [panel.y.label.partition(" as a share")[0] for panel in drawing.panels]
        percentile = "99th percentile of latency"
        assert told == [percentile, "rate", "median latency", "frames brought through"]
        assert one.result is not None
        ratio = one.result.figures[0]
        (rival,) = (
            layer for layer in drawing.panels[0].layers
            if isinstance(layer, Points) and layer.name == "B (B)"
        )  # fmt: skip
        answer = rival.points[-1]
        assert (answer.y, answer.low, answer.high) == (ratio.value, ratio.lower, ratio.upper)

    def test_of_a_case_without_rounds_there_is_nothing_to_draw(self) -> None:
        assert drawn(turns.PLOT, [replace(turns_case(0.9), rounds=())]) is None
