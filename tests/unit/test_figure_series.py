"""What collectors saw is drawn as it was between looks of one trial, and never across two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from figure_world import COLLECTED, throughput_case
from series_samples import header

from vsperf.output.figures.drawing import Drawing, Line, Spans
from vsperf.output.figures.plot import Options
from vsperf.output.figures.series import MOST_POINTS, MOST_SPANS, Trace, draw, gather
from vsperf.records.files.series import SeriesFile
from vsperf.records.files.view import CaseView
from vsperf.records.series import Nature, Quantity, Sample
from vsperf.records.trial import Event

SECOND_NS = 1_000_000_000
QUANTITIES = (
    Quantity(name="involuntary", unit="1"),
    Quantity(name="queued_ns", unit="ns"),
    Quantity(name="resident_bytes", unit="bytes", nature=Nature.GAUGE),
    Quantity(name="softirqs_*", unit="1"),
)


def view(folder: Path, *samples: Sample) -> CaseView:
    case = throughput_case("64B", 4_000_000)
    head = header().model_copy(update={"case": case.key, "quantities": QUANTITIES})
    SeriesFile.begin(folder, head).append(*samples)
    return replace(case, folder=folder)


def sample(trial: int, at_s: float, **values: int) -> Sample:
    return Sample(trial=trial, at_ns=round(at_s * SECOND_NS), of="switch", values=values)


def drawn(one: CaseView) -> Drawing:
    found = draw(gather(one), Options())
    assert found is not None
    return found


def line(found: Drawing, panel: int = 0) -> Line:
    (only,) = [layer for layer in found.panels[panel].layers if isinstance(layer, Line)]
    return only


def test_counters_are_what_they_grew_by_in_a_second(tmp_path: Path) -> None:
    looks = (sample(1, 10, involuntary=100), sample(1, 12, involuntary=300))
    (point,) = line(drawn(view(tmp_path, *looks))).points
    assert (point.x, point.y) == (SECOND_NS, 100)


def test_nothing_is_drawn_between_two_trials(tmp_path: Path) -> None:
    looks = [sample(n, 10 * n + s, involuntary=100 * n + s) for n in (1, 2) for s in (0, 1)]
    found = drawn(view(tmp_path, *looks))
    lines = [layer for layer in found.panels[0].layers if isinstance(layer, Line)]
    assert [[point.y for point in one.points] for one in lines] == [[1], [1]]
    assert {(one.name, one.color, one.markers) for one in lines} == {(lines[0].name, 0, True)}
    (spans,) = [one for one in found.panels[0].layers if isinstance(one, Spans)]
    assert spans.spans == ((0, SECOND_NS), (10 * SECOND_NS, 11 * SECOND_NS))


def test_lines_that_lead_from_trial_to_trial_are_said_to_where_there_are_many(
    tmp_path: Path,
) -> None:
    looks = [
        sample(n, 10 * n + s, involuntary=100 * n + s)
        for n in range(1, MOST_SPANS + 2)
        for s in (0, 1)
    ]
    found = drawn(view(tmp_path, *looks))
    assert len(line(found).points) == MOST_SPANS + 1
    assert "Between trials lines only lead on: nothing was looked at there." in found.caption


def test_what_was_done_to_the_switch_is_shaded_where_it_was(tmp_path: Path) -> None:
    looks = [sample(1, s, involuntary=s) for s in (100, 104)]
    event = Event(name="kill-switch", began_ns=2 * SECOND_NS, ended_ns=3 * SECOND_NS)
    one = view(tmp_path, *looks)
    (first, *others) = one.trials
    disturbed = first.model_copy(
        update={"index": 1, "event": event, "started_at": "1970-01-01T00:01:41.000+00:00"}
    )
    elsewhere = disturbed.model_copy(update={"index": 77})
    found = drawn(replace(one, trials=(disturbed, elsewhere, *others)))
    for panel in found.panels:
        trials, events = [layer for layer in panel.layers if isinstance(layer, Spans)]
        assert (trials.name, events.name) == ("trial", "kill-switch")
        assert events.spans == ((3 * SECOND_NS, 4 * SECOND_NS),)


def test_a_quantity_with_many_names_has_a_line_for_each(tmp_path: Path) -> None:
    looks = [
        sample(1, s, softirqs_net_rx=7 * s, softirqs_timer=3 * s, involuntary=s) for s in (0, 1)
    ]
    panel = drawn(view(tmp_path, *looks)).panels[1]
    lines = {one.name: one.points[0].y for one in panel.layers if isinstance(one, Line)}
    assert lines == {"switch net_rx": 7, "switch timer": 3}
    assert panel.y.label == "softirqs in a second"


def test_what_has_no_room_is_counted_in_the_caption(tmp_path: Path) -> None:
    names = [f"quantity_{number}" for number in range(11)]
    many = tuple(Quantity(name=name, unit="1") for name in (*names, "queued_ns"))
    one = throughput_case("64B", 4_000_000)
    head = header().model_copy(update={"case": one.key, "quantities": many})
    looks = [sample(1, s, **dict.fromkeys((*names, "queued_ns"), s)) for s in (0, 1)]
    SeriesFile.begin(tmp_path, head).append(*looks)
    found = drawn(replace(one, folder=tmp_path))
    assert len(found.panels) == 8
    assert "4 more quantities are in the files." in found.caption
    assert found.panels[0].y.label == "queued in a second", "what tells most comes first"


def test_time_of_a_second_is_a_share(tmp_path: Path) -> None:
    looks = (sample(1, 0, queued_ns=0), sample(1, 1, queued_ns=SECOND_NS // 4))
    found = drawn(view(tmp_path, *looks))
    assert found.panels[0].y.unit == "%"
    assert line(found).points[0].y == pytest.approx(0.25)


def test_gauges_are_drawn_as_they_stood(tmp_path: Path) -> None:
    found = drawn(view(tmp_path, sample(1, 0, resident_bytes=7), sample(1, 1, resident_bytes=9)))
    assert [point.y for point in line(found).points] == [7, 9]


def test_a_counter_that_fell_is_missing(tmp_path: Path) -> None:
    looks = [sample(1, s, involuntary=value) for s, value in enumerate((100, 110, 5, 8))]
    assert [point.y for point in line(drawn(view(tmp_path, *looks))).points] == [10, 3]


def test_a_case_without_series_has_no_drawing(tmp_path: Path) -> None:
    assert gather(replace(throughput_case("64B", 1), folder=tmp_path)) == ()


def test_a_trace_keeps_as_many_points_as_can_be_seen() -> None:
    trace = Trace()
    for number in range(100_000):
        trace.add(number, 1.0)
    assert len(trace.points) <= MOST_POINTS + 1
    assert {value for _, value in trace.points} == {1.0}


def test_series_of_a_real_run_have_panels_with_units() -> None:
    case = replace(throughput_case("64B", 4_000_000), folder=COLLECTED)
    units = {panel.y.label: panel.y.unit for panel in drawn(case).panels}
    assert units["running"] == "%"
    assert units["interrupts in a second"] == ""
