"""Metrics: OpenMetrics by its reference parser, and line protocol by what its page demands."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from all_wrong import hold_each, relative
from conftest import REPOSITORY
from export_samples import GOLDEN, HOSTILE, every_outcome, exported, hostile
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as scraped_families

from vsperf.records.files.view import RunView, open_run
from vsperf.trust.printable import printable

LINE = re.compile(
    r"(?P<series>vsperf_(?:case|trial)(?:,[A-Za-z][\w]*=(?:[^, =\n]|(?<=\\)[, =])+)+)"
    r" (?P<fields>.+?)(?: (?P<time>\d+))?"
)
FIELD = re.compile(
    r'(?P<name>\w+)=(?P<value>-?\d+i|-?\d[\d.e+-]*|true|false|"(?:\\.|[^"\\])*")(?:,|$)'
)


def families(*runs: RunView) -> list[Metric]:
    text = exported("openmetrics", *runs)["metrics"].decode()
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def by_name(*runs: RunView) -> dict[str, Metric]:
    return {one.name: one for one in families(*runs)}


def lines(*runs: RunView) -> list[str]:
    return exported("influx", *runs)["lines"].decode().splitlines()


def parsed(line: str) -> tuple[dict[str, str], dict[str, str], int | None]:
    """Tags, fields and time of a line; fails on what the protocol does not allow."""
    found = LINE.fullmatch(line)
    assert found, line
    tags = dict(
        re.sub(r"\\([, =])", r"\1", part).split("=", 1)
        for part in re.split(r"(?<!\\),", found["series"])[1:]
    )
    fields, place = {}, 0
    while place < len(found["fields"]):
        field = FIELD.match(found["fields"], place)
        assert field, found["fields"][place:]
        assert field["name"] not in fields
        fields[field["name"]] = field["value"]
        place = field.end()
    return tags, fields, int(found["time"]) if found["time"] else None


def test_all_runs_together_are_read_by_the_reference_parser() -> None:
    runs = [open_run(folder) for folder in GOLDEN]
    info, *gauges = families(*runs)
    assert (info.name, info.type) == ("vsperf_case", "info")
    assert gauges and all(family.type == "gauge" for family in gauges)
    assert len(info.samples) == sum(len(run.header.cases) for run in runs)


def test_each_number_is_the_recorded_one_at_the_time_that_the_case_was_over() -> None:
    run = open_run(GOLDEN[0])
    samples = {one.labels["case"]: one for one in by_name(run)["vsperf_case_ndr_lower_fps"].samples}
    for case in run.cases():
        assert case.record is not None and case.result is not None
        sample = samples[case.key]
        assert sample.value == case.result.goals[0].lower_fps
        over = datetime.fromisoformat(case.record.finished_at).timestamp()
        assert sample.timestamp is not None
        assert float(sample.timestamp) == pytest.approx(over, abs=0.001)
        assert sample.labels["simulated"] == "true"


def test_nothing_measured_is_no_sample(tmp_path: Path) -> None:
    found = by_name(every_outcome(tmp_path))
    told = {one.labels["case"] for one in found["vsperf_case_measured_ns"].samples}
    assert "never" not in told and "cut" not in told and "case-PASS" in told
    infos = {one.labels["name"]: one.labels for one in found["vsperf_case"].samples}
    assert infos["case-FAIL"]["outcome"] == "FAIL"
    assert "outcome" not in infos["never"]


def test_hostile_labels_come_back_with_what_a_terminal_obeys_written_out(tmp_path: Path) -> None:
    run = hostile(tmp_path)
    (info,) = by_name(run)["vsperf_case"].samples
    assert info.labels["testcase"] == info.labels["label_revision"] == printable(HOSTILE)
    text = exported("openmetrics", run)["metrics"].decode()
    assert all(one.isprintable() or one in "\n\t" for one in text)
    assert {info.labels["label_a_b"], info.labels["label_a_b_2"]} == {"1", "2"}


def scraped(*runs: RunView) -> dict[str, Metric]:
    text = exported("prometheus", *runs)["metrics"].decode()
    return {one.name: one for one in scraped_families(text)}


def test_what_is_scraped_has_no_times_and_each_series_once() -> None:
    found = scraped(*(open_run(folder) for folder in GOLDEN))
    assert all(family.type == "gauge" for family in found.values())
    for family in found.values():
        assert all(sample.timestamp is None for sample in family.samples)
        series = [tuple(sorted(sample.labels.items())) for sample in family.samples]
        assert len(series) == len(set(series)), family.name


def test_of_two_runs_of_a_case_the_newer_one_is_scraped_whatever_their_order() -> None:
    runs = [open_run(folder) for folder in GOLDEN]
    told = scraped(*runs)
    assert scraped(*reversed(runs)).keys() == told.keys()
    over: dict[tuple[str, str], float] = {}
    for run in runs:
        for case in run.cases():
            if case.record is not None:
                key = (case.label, run.header.testbed)
                moment = datetime.fromisoformat(case.record.finished_at).timestamp()
                over[key] = max(over.get(key, 0.0), moment)
    for one in told["vsperf_case_over_seconds"].samples:
        expected = over[one.labels["name"], one.labels["testbed"]]
        assert one.value == pytest.approx(expected, abs=0.001)


def test_the_dashboard_asks_for_what_is_exported() -> None:
    text = (REPOSITORY / "docs" / "grafana" / "vsperf.json").read_text()
    asked = set(re.findall(r"vsperf_case_\w+", text))
    told = scraped(*(open_run(folder) for folder in GOLDEN))
    assert asked and asked <= told.keys()
    labels = set(re.findall(r"(\w+)(?:=~?)\\\"\$", text))
    (first, *_) = told["vsperf_case_ndr_lower_fps"].samples
    assert labels and labels <= first.labels.keys()


def test_line_protocol_has_a_point_for_each_case_and_trial() -> None:
    def check(folder: Path) -> None:
        run = open_run(folder)
        points = [parsed(line) for line in lines(run)]
        expected = []
        for case in run.cases():
            if case.attempt:
                expected += [(case.key, None), *((case.key, str(one.index)) for one in case.trials)]
        assert [(tags["case"], tags.get("trial")) for tags, _, _ in points] == expected
        for tags, fields, time in points:
            assert fields and time is not None
            assert tags["simulated"] == str(run.simulated).lower()

    hold_each(GOLDEN, check, relative)


def test_fields_have_the_type_of_their_column() -> None:
    run = open_run(GOLDEN[0])
    case = next(run.cases())
    (_, fields, time), (_, trial, _), *_ = [parsed(line) for line in lines(run)]
    assert case.record is not None and case.result is not None
    assert fields["ndr_lower_fps"] == f"{case.result.goals[0].lower_fps}i"
    assert fields["outcome"] == '"PASS"'
    assert trial["valid"] == "true"
    assert "." in fields["latency_mean_ns"]
    over = datetime.fromisoformat(case.record.finished_at).timestamp()
    assert time == pytest.approx(over * 1e9, rel=1e-12)


def test_hostile_texts_stay_within_their_line(tmp_path: Path) -> None:
    found = [parsed(line) for line in lines(hostile(tmp_path))]
    assert len(found) == 2
    tags, fields, _ = found[0]
    assert "HYPERLINK" in tags["testcase"] and "\x1b" not in tags["testcase"]
    assert fields["outcome"] == '"FAIL"'
