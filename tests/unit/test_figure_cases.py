"""What plots draw, by their data: latency, searches, loss, scaling, work, buffers, seconds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from connection_models import Device, packets, rate
from figure_cases import case
from figure_world import SOAK, buffer_case, cost_case, throughput_case, timed, tried, way
from record_samples import goal

from vsperf.analysis.comparison import findings_in
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connection_soak import ConnectionSoak
from vsperf.output.figures.drawing import (
    STACKED,
    Axis,
    Bars,
    Drawing,
    Intervals,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Spans,
)
from vsperf.output.figures.groups import MOST, not_drawn
from vsperf.output.figures.paint import unbroken
from vsperf.output.figures.plot import Options, drawings
from vsperf.output.figures.scales import placing
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView, views
from vsperf.records.result import Axis as Column
from vsperf.records.result import CleanResult, Curve, Figure, Limit, SearchResult
from vsperf.records.run import Outcome
from vsperf.records.slots import Slot, Slots
from vsperf.records.trial import DirectionSample, LatencySample, Purpose, Sample, Second


def drawn(plot: str, *cases: CaseView, beside: tuple[str, ...] = ()) -> Drawing:
    ((_, drawing),) = drawings(cases, [plot], Options(beside=beside))
    return drawing


def layers(drawing: Drawing, kind: type[Any]) -> dict[str, tuple[Point, ...]]:
    return {one.name: one.points for one in drawing.layers if isinstance(one, kind)}


def with_threads(count: int) -> dict[str, Any]:
    return {"vswitch": {"kind": "ovs-dpdk", "pmds": count}}


def test_cpu_time_of_programs_is_a_bar_for_each_case_with_a_part_for_each_role() -> None:
    found = drawn(
        "cpu-cost", cost_case("64B", clients=5, servers=6, switch=7), cost_case("128B", clients=8)
    )
    bars = layers(found, Bars)
    assert "2 parts of bars are not known, and left out." in found.caption
    assert STACKED in found.caption, "colours alone tell nobody enough"
    assert list(bars) == ["clients", "servers", "switch"]
    assert [point.y for point in bars["clients"]] == [5, 8]
    assert [point.x for point in bars["switch"]] == [0], "what nobody knows is not 0"
    assert drawings([cost_case("64B", clients=5)], ["cpu-cost"]) == []


def test_latency_has_a_panel_for_each_load_and_a_line_for_each_share() -> None:
    found = drawn("latency", throughput_case("64B", 1000), throughput_case("128B", 900))
    assert [panel.title for panel in found.panels] == ["at 10% of ndr", "at 50% of ndr"]
    lines = {one.name: one.points for one in found.panels[0].layers if isinstance(one, Line)}
    assert [point.x for point in lines["min"]] == [64, 128]
    assert lines["min"][0].y == pytest.approx(1_000, rel=0.01)
    assert "p99.9" not in lines  # four frames say nothing of one in a thousand


def test_a_drawing_of_latency_says_since_when_it_counts_and_where_frames_were_lost() -> None:
    lossy = timed(6, 900, (2_000, 9_000, 90_000, 90_000), "90%")
    lossy = lossy.model_copy(update={"directions": (way(7, (2_000, 9_000)),)})
    both = throughput_case("64B", 1000), throughput_case("128B", 900)
    with_loss = replace(both[0], trials=(*both[0].trials, lossy))
    captions = [
        drawn("latency", *both).caption,
        drawn("percentiles", with_loss).caption,
        drawn("latency-load", with_loss).caption,
    ]
    assert all("each from when its frame left the generator" in one for one in captions)
    assert "Frames were lost at 90% of ndr" in captions[2]


def test_what_a_criterion_asks_of_latency_stands_at_its_load_and_its_percentile() -> None:
    expect = [
        {"metric": "p50", "max": "5us", "load": "50%"},
        {"metric": "p99", "max": "20us", "frame_size": "64B"},
        {"metric": "ndr", "min": "5Mfps"},
    ]
    cases = [throughput_case(size, 1000, spec={"expect": expect}) for size in ("64B", "128B")]

    def targets(panel: Panel) -> dict[str, list[tuple[float, float]]]:
        found = [one for one in panel.layers if isinstance(one, Points)]
        assert all(one.look is Look.TARGET for one in found)
        return {one.name: [(point.x, point.y) for point in one.points] for one in found}

    at_tenth, at_half = drawn("latency", *cases).panels
    assert targets(at_tenth) == {"target, by expect: p99": [(64, 20_000)]}
    assert targets(at_half) == {
        "target, by expect: p50": [(64, 5_000), (128, 5_000)],
        "target, by expect: p99": [(64, 20_000)],
    }
    (panel,) = drawn("percentiles", cases[0]).panels
    assert targets(panel) == {
        "target, by expect, at 50%": [(0.5, 5_000)],
        "target, by expect": [(0.99, 20_000)],
    }


def test_latency_of_repeats_is_their_median_and_its_bar_their_range() -> None:
    def repeated(number: int, latency_ns: int) -> CaseView:
        made = (timed(1, 500, (latency_ns,) * 4, "50%"),)
        return throughput_case("64B", 1000, trials=made, repeat=number)

    found = drawn("latency", repeated(1, 1_000), repeated(2, 3_000), throughput_case("128B", 900))
    means = next(one for one in found.panels[0].layers if one.name == "mean")
    assert isinstance(means, Line)
    (point,) = (one for one in means.points if one.x == 64)
    assert (point.low, point.y, point.high) == pytest.approx((1_000, 2_000, 3_000), rel=0.01)
    assert "Points of repeats are their medians" in found.caption


def test_no_line_leads_over_a_size_without_latency() -> None:
    sizes = ("64B", "128B", "256B")
    outcomes = (Outcome.PASS, Outcome.INVALID, Outcome.PASS)
    cases = [throughput_case(s, 1000, outcome=o) for s, o in zip(sizes, outcomes, strict=True)]
    panel = drawn("latency", *cases).panels[0]
    assert [tick.at for tick in panel.x.ticks] == [64, 128, 256]
    (line, *_) = (one for one in panel.layers if isinstance(one, Line))
    across = placing(panel.x, [point.x for point in line.points])
    assert [len(part) for part in unbroken(across, line.points)] == [1, 1]


def test_panels_of_latency_share_their_axis() -> None:
    found = drawn("latency", throughput_case("64B", 1000), throughput_case("128B", 900))
    assert len({panel.y for panel in found.panels}) == 1


def test_percentiles_end_where_there_are_no_frames_beyond() -> None:
    found = drawn("percentiles", throughput_case("64B", 1000))
    for points in layers(found, Line).values():
        assert max(point.x for point in points) <= 0.75  # of four frames, one lies beyond
    assert found.panels[0].x.scale is Scale.NINES


def test_of_many_loads_as_many_lines_are_drawn_as_can_be_told_apart() -> None:
    made = tuple(timed(n, 100 * n, (1_000, 2_000), f"{10 * n}%") for n in range(1, 11))
    found = drawn("percentiles", throughput_case("64B", 1000, trials=made))
    names = list(layers(found, Line))
    assert len(names) == MOST
    assert (names[0][:4], names[-1][:5]) == ("10% ", "100% ")
    assert "2 more loads are not drawn." in found.caption


def test_latency_against_load_begins_with_the_least() -> None:
    points = layers(drawn("latency-load", throughput_case("64B", 1000)), Line)["max"]
    assert [point.x for point in points] == [100, 500]
    assert points[0].y < points[1].y


def test_a_trace_tells_what_each_trial_came_to() -> None:
    found = layers(drawn("search", throughput_case("64B", 1000)), Points)
    assert found["lost more than 0.5%"] == (Point(1, 2000),)
    assert found["no frame lost"] == (Point(2, 1000),)
    assert found["lost up to 0.5%"] == (Point(3, 1010),)


def test_loss_has_a_place_for_none() -> None:
    found = drawn("loss", throughput_case("64B", 1000))
    assert found.panels[0].y.scale is Scale.LOG_ZERO
    assert layers(found, Points)["no frame lost"] == (Point(1000, 0.0),)
    assert layers(found, Points)["lost more than 0.5%"] == (Point(2000, 0.4),)


def test_intervals_are_open_where_no_load_failed() -> None:
    found = drawn("intervals", throughput_case("64B", 1000), throughput_case("128B", 900))
    assert layers(found, Intervals)["ndr"][0] == Point(64, 1000, 1000, 1010)
    assert layers(found, Intervals)["pdr"][0] == Point(64, 1001, 1001, None)


def test_intervals_are_of_all_cases_that_are_drawn_whichever_goal_each_answers() -> None:
    answers = (goal(1000, 1010), goal(900, 910), goal(800, 810, "pdr", loss_ratio="1/200"))
    made = [
        throughput_case(size, 1000, result=SearchResult(goals=(one,)))
        for size, one in zip(("64B", "128B", "256B"), answers, strict=True)
    ]
    assert drawn("intervals", *made).caption.startswith("n = 3 cases, ")


def test_flows_have_an_axis_where_they_differ() -> None:
    few, many = (
        throughput_case("64B", fps, spec={"traffic": {"frame_size": "64B", "flows": flows}})
        for flows, fps in (("1", 9), ("1M", 5))
    )
    assert layers(drawn("flows", many, few), Line)["ovs-dpdk"] == (
        Point(1, 9, 9, 9),
        Point(1_000_000, 5, 5, 5),
    )
    assert drawings([few], ["flows"]) == []


def test_the_ideal_is_as_much_for_each_thread_as_the_fewest_had() -> None:
    cases = [throughput_case("64B", fps, spec=with_threads(n)) for n, fps in ((1, 500), (4, 1500))]
    found = {one.name: one for one in drawn("workers", *cases).layers if isinstance(one, Line)}
    assert found["ideal, ovs-dpdk"].points == (Point(1, 500), Point(4, 2000))
    assert found["ideal, ovs-dpdk"].look is Look.CEILING
    assert [point.y for point in found["ovs-dpdk"].points] == [500, 1500]


def test_rates_of_connections_have_a_panel_of_their_own_with_the_ideal_in_it() -> None:
    def opened(threads: int, rate: int) -> CaseView:
        found = Figure(
            name="connection_rate", unit=Unit.PER_SECOND, value=rate, lower=rate, reason=""
        )
        one = throughput_case("64B", 1, spec=with_threads(threads))
        assert one.record is not None
        result = SearchResult(figures=(found,), complete=True)
        record = one.record.model_copy(update={"result": result})
        return replace(one, record=record)

    connections = [opened(n, rate) for n, rate in ((1, 500), (4, 1_500))]
    (panel,) = drawn("workers", *connections).panels
    assert (panel.y.label, panel.y.unit) == ("connections, requests or the like", "/s")
    lines = [one for one in panel.layers if isinstance(one, Line)]
    assert [point.y for point in lines[0].points] == [500, 2_000]
    assert [point.y for point in lines[1].points] == [500, 1_500]
    frames = [throughput_case("64B", fps, spec=with_threads(n)) for n, fps in ((1, 9), (4, 18))]
    assert [one.y.unit for one in drawn("workers", *connections, *frames).panels] == ["fps", "/s"]
    # Others published both, and each stands beside what it is of.
    beside = Options(beside=("dpvs_1_9_2",))
    ((_, found),) = drawings([*connections, *frames], ["workers"], beside)
    published = [
        [(one.name, one.points[0].y) for one in panel.layers if isinstance(one, Points)]
        for panel in found.panels
    ]
    assert published == [
        [("UDP FullNAT (DPVS 1.9.2)", 2_900_244)],
        [("TCP FullNAT (DPVS 1.9.2)", 200_000)],
    ]
    assert found.caption.count("published by others") == 1


def test_cycles_are_those_at_the_answer() -> None:
    found = drawn("cycles", throughput_case("64B", 1000), throughput_case("128B", 900))
    cycles, busy = (panel.layers[0] for panel in found.panels)
    assert isinstance(cycles, Line)
    assert isinstance(busy, Line)
    assert cycles.points == (Point(64, 200), Point(128, 200))
    assert 0.8 <= busy.points[0].y <= 0.82  # 200 of 250 cycles, less the time of draining


def test_cycles_of_repeats_are_one_point_with_a_bar() -> None:
    cases = [throughput_case("64B", 1000, repeat=number) for number in (1, 2)]
    found = drawn("cycles", *cases, throughput_case("128B", 900))
    cycles = found.panels[0].layers[0]
    assert isinstance(cycles, Line)
    assert cycles.points == (Point(64, 200, 200, 200), Point(128, 200))
    assert "Points of repeats are their medians" in found.caption


def test_lookups_are_split_by_cache_and_make_a_whole() -> None:
    found = layers(drawn("caches", throughput_case("64B", 1000)), Bars)
    assert list(found) == ["emc", "megaflow", "upcall"]
    assert sum(points[0].y for points in found.values()) == pytest.approx(1)


def test_one_cache_that_knew_all_is_a_word_and_no_drawing() -> None:
    trial = tried(1, 5, switch=None)
    assert drawings([throughput_case("64B", 5, trials=(trial,))], ["caches", "cycles"]) == []


def test_a_buffer_is_drawn_beside_published_ones_that_can_be_told_apart() -> None:
    found = drawn("buffer", buffer_case("64B", 400_000.0, "2026-11-20-b2b-aaaa"), beside=BESIDE)
    looks = {one.name: one.look for one in found.layers if isinstance(one, Bars)}
    published = {name for name, look in looks.items() if look is Look.PUBLISHED}
    assert published == {name for name in looks if "OPNFV" in name}
    assert len(published) == 2
    assert "published by others and not measured here" in found.caption
    assert "OPNFV Pod 12" in found.caption


BESIDE = ("plugfest_2017",)


def test_buffers_by_slow_bursts_are_drawn_apart() -> None:
    runs = [f"2026-11-{day}-b2b-aaaa" for day in (20, 21, 22, 23)]
    rates = ["", "", "_slow_bursts", "_slow_bursts"]
    cases = [buffer_case("64B", 100.0, run, rate) for run, rate in zip(runs, rates, strict=True)]
    lines = layers(drawn("buffer-runs", *cases), Line)
    assert len(lines) == 2
    assert sum("below the line rate" in name for name in lines) == 1
    assert [len(points) for points in lines.values()] == [2, 2]


def test_buffers_run_by_run_are_in_the_order_of_time() -> None:
    runs = ("2026-11-20-b2b-aaaa", "2026-11-21-b2b-cccc")
    cases = [buffer_case("64B", 100.0 + at, run) for at, run in enumerate(runs)]
    ((points),) = layers(drawn("buffer-runs", *cases), Line).values()
    assert [point.y for point in points] == [100.0, 101.0]
    assert drawings(cases[:1], ["buffer-runs"]) == []


def test_repeats_are_shares_of_their_median() -> None:
    cases = [throughput_case("64B", fps, repeat=n) for n, fps in enumerate((90, 100, 110), 1)]
    (boxes,) = drawn("repeats", *cases).layers
    assert not isinstance(boxes, Spans)
    assert [point.y for point in boxes.points] == [0.9, 1.0, 1.1]


def test_seconds_of_a_soak_are_rates_with_what_was_lost_as_stretches_of_time() -> None:
    found = drawn("seconds", *views(SOAK))
    rates = {one.name: one.points for one in found.panels[0].layers if isinstance(one, Line)}
    assert set(rates) == {"phy0 to phy1", "phy1 to phy0"}
    assert all(50_000 < point.y < 200_000 for points in rates.values() for point in points)
    assert any(isinstance(one, Spans) and one.name == "frames lost" for one in found.layers)


def test_of_a_long_trial_that_was_repeated_the_last_one_is_drawn() -> None:
    """Both count from 0, so a line from one to the other would lead back."""

    def second(at_s: int, frames: int) -> Second:
        way = DirectionSample(name="there", sent_frames=frames, received_frames=frames)
        return Second(sample=Sample(elapsed_ns=at_s * 10**9, directions=(way,)))

    first = [second(at, 9_000 * at) for at in range(1, 601)]
    last = [second(at, 1_000 * at) for at in range(1, 5)]
    found = drawn("seconds", replace(case("64B"), seconds=(*first[:3], *last)))
    (points,) = layers(found, Line).values()
    assert [(one.x / 10**9, one.y) for one in points] == [(at + 0.5, 1_000) for at in range(4)]
    assert "4 samples, one about each second." in found.caption
    many = drawn("seconds", replace(case("64B"), seconds=(*first, *last)))
    (points,) = layers(many, Line).values()
    assert {point.y for point in points} == {1_000}, "several seconds to a point"


def test_no_line_leads_over_seconds_in_which_no_frame_arrived() -> None:
    def second(at_s: int, p50_ns: int | None) -> Second:
        told = dict.fromkeys(LatencySample.model_fields, p50_ns)
        latency = None if p50_ns is None else LatencySample.model_validate(told)
        way = DirectionSample(name="there", sent_frames=9, received_frames=9, latency=latency)
        return Second(sample=Sample(elapsed_ns=at_s * 10**9, directions=(way,)))

    told = (1_000, 2_000, None, None, 3_000)
    made = tuple(second(at, p50_ns) for at, p50_ns in enumerate(told, start=1))
    found = drawn("seconds", replace(case("64B"), seconds=made))
    lines = [one for one in found.layers if isinstance(one, Line) and one.name == "latency p50"]
    assert [[point.y for point in one.points] for one in lines] == [[1_000, 2_000], [3_000]]
    assert [one.markers for one in lines] == [False, True], "a single point would not be seen"


def test_no_line_of_a_curve_leads_over_a_point_without_a_value() -> None:
    curve = Curve(
        name="over_time",
        x=Column(name="until", unit=Unit.NANOSECONDS),
        columns=(Column(name="p50", unit=Unit.NANOSECONDS),),
        points=((1.0, 5.0), (2.0, None), (3.0, 6.0)),
    )
    (panel,) = drawn("curves", case("64B", result=SearchResult(curves=(curve,)))).panels
    assert [one.points for one in panel.layers if isinstance(one, Line)] == [
        (Point(1, 5),),
        (Point(3, 6),),
    ]


def test_a_topology_names_parts_cpus_and_rates() -> None:
    found = drawn("topology", throughput_case("64B", 1_000_000)).diagram
    assert found is not None
    assert [node.kind for node in found.nodes] == ["generator", "generator", "switch"]
    assert {arrow.above for arrow in found.arrows} == {"phy0, 10Gbit/s", "phy1, 10Gbit/s"}
    assert {arrow.below for arrow in found.arrows} == {"ndr 1.000 Mfps"}
    (soak,) = (drawing.diagram for _, drawing in drawings(views(SOAK), ["topology"]))
    assert soak is not None
    (switch,) = (node for node in soak.nodes if node.kind == "switch")
    assert any(note.startswith("pmd: CPU") for note in switch.notes)


def test_what_is_not_believed_stands_beside_nothing() -> None:
    invalid = [throughput_case(size, 5, outcome=Outcome.INVALID) for size in ("64B", "128B")]
    together = ["throughput", "latency", "intervals", "cycles", "caches", "flows", "repeats"]
    assert drawings(invalid, together) == []


def test_a_case_that_holds_nothing_is_drawn_by_none_but_its_topology() -> None:
    for empty in (case(finished=False), case(result=SearchResult()), case(outcome=Outcome.SKIP)):
        assert {name for name, _ in drawings([empty])} <= {"topology", "throughput"}


@pytest.mark.parametrize(
    ("unit", "greatest", "factor", "shown"),
    [
        ("fps", 14_880_952, 1e6, "Mfps"),
        ("fps", 900, 1.0, "fps"),
        ("ns", 2_500, 1e3, "µs"),
        ("ns", 3e9, 1e9, "s"),
        ("frames", 26_700, 1e3, "thousand frames"),
        ("%", 0.4, 0.01, "%"),
    ],
)
def test_units_suit_the_greatest_number(
    unit: str, greatest: float, factor: float, shown: str
) -> None:
    found = placing(Axis("x", unit), [0, greatest])
    assert (found.factor, found.unit) == (factor, shown)


def test_what_is_not_drawn_is_counted_as_people_count() -> None:
    said = [not_drawn(count, "case") for count in (0, 1, 2)]
    assert said == ["", "1 more case is not drawn.", "2 more cases are not drawn."]


def test_nines_are_equally_far_apart() -> None:
    found = placing(Axis("x", "", Scale.NINES), [0, 0.9999])
    places = [found.place(share) for share in (0.9, 0.99, 0.999)]
    assert places == pytest.approx([1, 2, 3])


@pytest.mark.parametrize("scale", [Scale.LINEAR, Scale.LOG, Scale.LOG_ZERO, Scale.NINES])
@pytest.mark.parametrize("wild", [float("inf"), float("nan"), 1e308, -1e308, 5e-324])
def test_numbers_of_others_that_nobody_can_have_measured_have_a_place(
    wild: float, scale: Scale
) -> None:
    for others in ((), (1.0, 2.0)):
        found = placing(Axis("x", "", scale, from_zero=True), (*others, wild))
        assert math.isfinite(found.share(found.place(wild)))
        assert all(math.isfinite(place) for place, _ in found.ticks())


def test_a_logarithmic_axis_has_a_place_for_zero_below_all_others() -> None:
    found = placing(Axis("loss", "%", Scale.LOG_ZERO), [0.0, 0.00002, 0.5])
    assert found.place(0) < found.place(0.00001)
    assert ("0" in {name for _, name in found.ticks()}) and found.low < found.place(0)


@pytest.mark.parametrize(
    ("unit", "ends", "label", "named"),
    [
        ("ns", (900, 2e7), "x, log scale", ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]),
        ("fps", (900, 2e7), "x, log scale", ["1 kfps", "10 kfps", "100 kfps", "1 Mfps", "10 Mfps"]),
        ("ns", (2_000, 9_000), "x [µs], log scale", ["2", "5"]),
        (
            "frames",
            (90, 2e6),
            "x [frames], log scale",
            ["100", "1,000", "10,000", "100,000", "1 million"],
        ),
    ],
)
def test_numbers_far_apart_are_written_in_the_units_that_people_say(
    unit: str, ends: tuple[float, float], label: str, named: list[str]
) -> None:
    found = placing(Axis("x", unit, Scale.LOG), ends)
    assert found.label == label
    assert [name for _, name in found.ticks()] == named


def stalled(stalls: int) -> CaseView:
    noted = tuple(
        Slot(index=number, sent_frames=(9,), received_frames=(9,), refused_frames=(0,),
             away_ns=1_000 + number, silent_ns=0)
        for number in range(stalls)
    )  # fmt: skip
    slots = Slots.of(
        width_ns=100_000, count=stalls, sent_frames=(9 * stalls,), received_frames=(9 * stalls,),
        refused_frames=(0,), noted=noted,
    )  # fmt: skip
    lasts_ns = 100_000 * stalls
    result = SearchResult(goals=())
    trials = (tried(1, 1000, slots=slots, elapsed_ns=lasts_ns, duration_ns=lasts_ns),)
    return case("64B", result=result, trials=trials)


def test_a_few_stalls_are_all_drawn() -> None:
    ((name, points),) = layers(drawn("stalls", stalled(100)), Points).items()
    assert name == "generator kept from running (100)"
    assert len(points) == 100


def test_of_very_many_stalls_the_longest_of_each_part_of_the_time_is_drawn() -> None:
    found = drawn("stalls", stalled(15_000))
    ((name, points),) = layers(found, Points).items()
    assert name == "generator kept from running (15000)"  # all of them, as nobody counts marks
    assert len(points) == 150
    assert points[-1].y == 1_000 + 14_999
    assert all(later.y - point.y >= 99 for point, later in itertools.pairwise(points))
    assert "Of each 150th of the time the longest is drawn: 150 of 15000 of" in found.caption


def test_a_stall_is_as_long_as_it_fills_slots_in_a_row() -> None:
    lengths = {0: 400_000, 10: 2_900_000, 11: 3_000_000, 12: 3_000_000, 13: 500_000, 20: 500_000}
    noted = tuple(
        Slot(index=index, sent_frames=(9,), received_frames=(9,), refused_frames=(0,),
             away_ns=length, silent_ns=0)
        for index, length in lengths.items()
    )  # fmt: skip
    slots = Slots.of(
        width_ns=3_000_000, count=30, sent_frames=(270,), received_frames=(270,),
        refused_frames=(0,), noted=noted,
    )  # fmt: skip
    trials = (tried(1, 1000, slots=slots, elapsed_ns=90_000_000, duration_ns=90_000_000),)
    found = drawn("stalls", case("64B", result=SearchResult(goals=()), trials=trials))
    ((name, points),) = layers(found, Points).items()
    assert name == "generator kept from running (3)"
    assert [point.y for point in points] == [400_000, 9_400_000, 500_000]


def test_a_load_far_above_the_others_does_not_press_them_onto_each_other() -> None:
    near = drawn("loss", throughput_case("64B", 1000))
    trials = (tried(1, 5_000_000, 400_000), *(tried(n, 30_000 + 100 * n) for n in range(2, 9)))
    far = drawn("loss", case("64B", result=SearchResult(goals=()), trials=trials))
    assert [one.panels[0].x.scale for one in (near, far)] == [Scale.LINEAR, Scale.LOG]


def test_a_search_that_began_far_above_its_answer_is_drawn_on_a_logarithmic_axis() -> None:
    loads = [4_000_000, *[32_000 + 10 * step for step in range(9)]]
    trials = tuple(tried(number, load) for number, load in enumerate(loads, start=1))
    near = tuple(tried(number, load) for number, load in enumerate(loads[1:], start=1))
    scales = [
        drawn("search", case("64B", trials=made)).panels[0].y.scale for made in (trials, near)
    ]
    assert scales == [Scale.LOG, Scale.LINEAR]


def searched(*shares: float) -> CaseView:
    """Return a case whose answer is 1 Mfps, and that tried these shares of it."""
    loads = [round(1_000_000 * share) for share in shares]
    made = tuple(tried(number, load) for number, load in enumerate(loads, start=1))
    return case("64B", result=SearchResult(goals=(goal(1_000_000, 1_010_000),)), trials=made)


def test_the_trace_of_a_search_has_a_line_for_each_answer_and_for_each_of_clean_time() -> None:
    clean = CleanResult(
        share="3/4", lower_fps=1_200_000, upper_fps=1_210_000, limit=Limit.DUT, reason="lost"
    )
    answer = goal(1_000_000, 1_010_000, limit=Limit.HOST, clean=clean)
    made = tuple(searched(2, 1, 1.2).trials)
    found = drawn("search", case("64B", result=SearchResult(goals=(answer,)), trials=made))
    names = [one.name for one in found.panels[0].layers if one.look is Look.CEILING]
    assert names == ["ndr 1.000 Mfps", "ndr in clean time 1.200 Mfps"]


@pytest.mark.parametrize("plot", ["search", "loss"])
def test_trials_that_would_cover_each_other_near_an_answer_are_drawn_once_more(plot: str) -> None:
    found = drawn(plot, searched(3, 0.99, 1, 1.01, 1, 1.01))
    whole, near = found.panels
    assert near.title == "within 5% of an answer"
    counts = [
        sum(len(one.points) for one in panel.layers if isinstance(one, Points))
        for panel in (whole, near)
    ]
    assert counts == [6, 5]
    axis = near.y if plot == "search" else near.x
    assert not axis.from_zero


@pytest.mark.parametrize("plot", ["search", "loss"])
def test_where_trials_lie_apart_one_panel_will_do(plot: str) -> None:
    assert len(drawn(plot, searched(3, 2, 1.5, 1, 1.01)).panels) == 1


def connections_case(
    device: Device, method: ConnectionSearch | ConnectionSoak | None = None
) -> CaseView:
    method = method or rate()
    device.connect(method.checking())
    result = method.play(device)
    made = tuple(device.made)
    return replace(case("1518B", result=result, trials_made=len(made)), connections=made)


def test_connections_that_were_not_begun_stand_beside_those_that_failed() -> None:
    slow = connections_case(Device(generator=7_000))
    panel = drawn("curves", slow).panels[0]
    assert panel.title == "by load: failed, not begun"
    found = {one.name: one.points for one in panel.layers if isinstance(one, Line)}
    assert [point.y for point in found["failed"]] == [0] * len(found["failed"])
    late = {point.x: point.y for point in found["not begun"]}
    assert late.keys() == {point.x for point in found["failed"]}
    assert late == {x: pytest.approx(max(0, 1 - 7_000 / x), abs=1e-3) for x in late}
    assert 0 < max(late.values()) < 1


def test_requests_that_were_not_begun_stand_at_their_own_rate() -> None:
    """And not at that by which connections are opened before."""
    panel = drawn("curves", connections_case(Device(asks=34_567), packets())).panels[0]
    found = {one.name: one.points for one in panel.layers if isinstance(one, Line)}
    late = {point.x: point.y for point in found["not begun"]}
    assert late.keys() == {point.x for point in found["failed"]}
    assert late == {x: pytest.approx(max(0, 1 - 34_567 / x), abs=1e-3) for x in late}


def test_a_chart_over_time_has_no_line_by_load() -> None:
    asked = {"kind": "connection_soak", "duration": "40s", "part": "10s", "rate": 1_000}
    soak = connections_case(Device(generator=999), ConnectionSoak.model_validate(asked))
    assert any(one.client is not None and one.client.unsent for one in soak.connections)
    assert {len(one.layers) for one in drawn("curves", soak).panels} == {1}


def test_a_chart_of_connections_that_were_all_begun_has_no_line_for_others() -> None:
    panel = drawn("curves", connections_case(Device(rate=12_345))).panels[0]
    assert [one.name for one in panel.layers] == ["failed"]


def test_trials_on_a_deployment_that_died_are_in_no_drawing_and_no_number() -> None:
    """They were made at other loads, took other times, and lost what nothing loses later."""
    alive = throughput_case("64B", 1000)
    look = tried(50, 1, purpose=Purpose.PATH_CHECK)
    dead = (look, tried(51, 77, 500_000), timed(52, 500, (9, 9_999_999), "50%"))
    both = replace(alive, trials=(*dead, look, *alive.trials))
    assert both.died == len(dead)
    assert drawings([alive]) == drawings([both])
    numbers = [list(findings_in(one, latency=True, curve=True)) for one in (alive, both)]
    assert numbers[0] == numbers[1]
