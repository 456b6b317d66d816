"""Metrics: OpenMetrics by its reference parser, and line protocol by what its page demands."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from all_wrong import hold_each, none_wrong, relative
from conftest import REPOSITORY
from export_samples import GOLDEN, HOSTILE, every_outcome, exported, hostile, run_of
from export_samples import case as planned_case
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as scraped_families
from record_samples import case_record, case_start

from vsperf.output.export.time_series import _head, in_base_units
from vsperf.output.table import Column
from vsperf.records.files.view import RunView, open_run
from vsperf.records.run import Outcome
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
    samples = {
        one.labels["case"]: one
        for one in by_name(run)["vsperf_case_ndr_lower_frames_per_second"].samples
    }
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
    told = {one.labels["case"] for one in found["vsperf_case_measured_seconds"].samples}
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
                key = (case.key, run.header.testbed)
                moment = datetime.fromisoformat(case.record.finished_at).timestamp()
                over[key] = max(over.get(key, 0.0), moment)
    for one in told["vsperf_case_over_seconds"].samples:
        expected = over[one.labels["case"], one.labels["testbed"]]
        assert one.value == pytest.approx(expected, abs=0.001)


def test_other_settings_make_another_series(tmp_path: Path) -> None:
    """Where a trend has a cut, a graph would else go on with numbers of something else."""
    runs = []
    for number, key in enumerate(("phy2phy_tput-64B-aaaa", "phy2phy_tput-64B-bbbb")):
        lines = (case_start(key), case_record(key))
        one = planned_case(key, label="phy2phy_tput-64B")
        runs.append(run_of(tmp_path, [one], *lines, run=f"2026-11-20-phy2phy_tput-k7f{number}"))
    found = scraped(*runs)
    for family in ("vsperf_case_over_seconds", "vsperf_case_info"):
        assert [one.labels["case"][-4:] for one in found[family].samples] == ["aaaa", "bbbb"]
        assert {one.labels["name"] for one in found[family].samples} == {"phy2phy_tput-64B"}


def test_only_a_case_that_is_over_says_when(tmp_path: Path) -> None:
    found = scraped(every_outcome(tmp_path))
    over = {one.labels["case"] for one in found["vsperf_case_over_seconds"].samples}
    assert "case-PASS" in over
    assert {one.labels["case"] for one in found["vsperf_case_info"].samples} - over == {
        "cut",
        "never",
    }


def test_the_dashboard_asks_for_what_is_exported() -> None:
    text = (REPOSITORY / "docs" / "grafana" / "vsperf.json").read_text()
    asked = set(re.findall(r"vsperf_case_\w+", text))
    told = scraped(*(open_run(folder) for folder in GOLDEN))
    assert asked and asked <= told.keys()
    labels = set(re.findall(r"(\w+)(?:=~?)\\\"\$", text))
    (first, *_) = told["vsperf_case_ndr_lower_frames_per_second"].samples
    assert labels and labels <= first.labels.keys()


@pytest.mark.parametrize("kind", ["openmetrics", "prometheus"])
def test_each_metric_says_what_it_is_and_its_type_before_its_samples(kind: str) -> None:
    text = exported(kind, *(open_run(folder) for folder in GOLDEN))["metrics"].decode()
    told: dict[str, set[str]] = {}
    wrong = []
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if line.startswith(("# HELP", "# TYPE")):
            told.setdefault(words[2], set()).add(words[1])
            wrong += [line] if len(words) < 4 else []
        elif not line.startswith("#"):
            name = line.partition("{")[0]
            family = name.removesuffix("_info") if kind == "openmetrics" else name
            wrong += [] if told.get(family) == {"HELP", "TYPE"} else [line]
    none_wrong(wrong)


@pytest.mark.parametrize("kind", ["openmetrics", "prometheus"])
def test_units_are_those_that_prometheus_asks_for(kind: str) -> None:
    """So says `promtool check metrics`: base units, none abbreviated, no ending of histograms."""
    text = exported(kind, *(open_run(folder) for folder in GOLDEN))["metrics"].decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    endings = ("_ns", "_fps", "_bps", "_percent", "_ppm", "_share", "_count", "_ratio_ratio")
    none_wrong(name for name in names if name.endswith(endings))


def test_times_are_seconds_and_percents_shares_of_one() -> None:
    run = open_run(GOLDEN[0])
    found = by_name(run)
    (case, *_) = run.cases()
    assert case.record is not None
    (sample,) = (
        one
        for one in found["vsperf_case_measured_seconds"].samples
        if one.labels["case"] == case.key
    )
    assert sample.value == case.record.measured_ns / 1e9
    assert all(0 < one.value <= 1 for one in found["vsperf_case_line_rate_ratio"].samples)


def test_a_figure_that_a_stranger_named_cannot_add_a_line() -> None:
    column = Column[int]("x", float, lambda row: row, meaning='a\nvsperf_case_y 1 \\ "\x1b')
    (one,) = in_base_units([column])
    assert "\n" not in _head("x", one.meaning).partition("# TYPE")[0].rstrip("\n")
    assert printable(_head("x", one.meaning)) == _head("x", one.meaning)


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


# JUnit XML as its two readers need it.
#
# There is no one schema: GitLab has none, and that of Jenkins is another project's file, which is
# not copied here. What follows is held instead: which elements stand in which, with which
# attributes, after the newest schema of Jenkins' xUnit plug-in (junit-10), and what GitLab makes
# of them.

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"skipped", "error", "failure", "system-out"},
}
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    **{verdict: {"type", "message"} for verdict in ("skipped", "error", "failure")},
}
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors"},
    "property": {"name", "value"},
    "testcase": {"name", "classname"},  # GitLab tells tests apart by both
}
SECONDS = re.compile(r"\d{1,9}(\.\d{1,3})?")


def report(*runs: RunView) -> bytes:
    return exported("junit", *runs)["report"]


def hold(content: bytes) -> ET.Element:
    """Hold a report against what its readers need."""
    root = ET.fromstring(content)
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert set(element.attrib) <= ATTRIBUTES.get(element.tag, set())
        assert set(element.attrib) >= REQUIRED.get(element.tag, set())
        assert SECONDS.fullmatch(element.get("time", "0"))
        for counted in ("tests", "failures", "errors", "skipped"):
            assert element.get(counted, "0").isdecimal()
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    for verdict in (*root.iter("failure"), *root.iter("error"), *root.iter("skipped")):
        assert verdict.text  # GitLab shows what is inside, and no message
    return root


def read(content: bytes) -> dict[str, tuple[TestSuite, TestCase]]:
    found = {}
    for suite in JUnitXml.fromstring(content):
        (case,) = suite
        found[case.name] = (suite, case)
    return found


def test_each_run_gives_a_report_that_its_readers_take() -> None:
    def check(folder: Path) -> None:
        run = open_run(folder)
        root = hold(report(run))
        assert len(list(root.iter("testcase"))) == len(run.header.cases)

    hold_each(GOLDEN, check, relative)


def test_several_runs_of_one_testcase_are_told_apart() -> None:
    runs = [open_run(folder) for folder in GOLDEN]
    root = hold(report(*runs))
    assert root.get("tests") == str(sum(len(run.header.cases) for run in runs))


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.FAIL, Failure),
        (Outcome.INVALID, Error),
        (Outcome.ERROR, Error),
        (Outcome.ABORTED, Error),
        (Outcome.SKIP, Skipped),
    ],
)
def test_each_outcome_is_what_a_pipeline_takes_it_for(
    tmp_path: Path, outcome: Outcome, kind: type[Failure | Error | Skipped]
) -> None:
    content = report(every_outcome(tmp_path))
    hold(content)
    _, case = read(content)[f"case-{outcome.value} [SIMULATED]"]
    (result,) = case.result
    assert isinstance(result, kind)
    assert result.type == outcome.value
    assert f"because of {outcome.value}" in str(result.text)
    assert "because of" not in str(result.message), "it is said once"


def test_what_did_not_end_is_an_error_and_what_never_began_is_skipped(tmp_path: Path) -> None:
    content = report(every_outcome(tmp_path))
    found = read(content)
    (cut,) = found["cut [SIMULATED]"][1].result
    (never,) = found["never [SIMULATED]"][1].result
    assert isinstance(cut, Error) and isinstance(never, Skipped)
    assert found["case-PASS [SIMULATED]"][1].result == []
    root = hold(content)
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["8", "1", "4"]
    assert sum(int(suite.get("skipped", "0")) for suite in root) == 2


def test_metrics_are_properties_and_read_back_exactly() -> None:
    run = open_run(GOLDEN[0])
    found = list(read(report(run)).values())
    for (suite, case), view in zip(found, run.cases(), strict=True):
        properties = {one.name: one.value for one in suite.properties()}  # type: ignore[no-untyped-call]
        assert view.record is not None and view.result is not None
        assert properties["case"] == view.key
        assert properties["ndr_lower_fps"] == str(view.result.goals[0].lower_fps)
        assert properties["measured_ns"] == str(view.record.measured_ns)
        assert "criteria_met" not in properties or properties["criteria_met"] != ""
        assert case.time == pytest.approx(view.record.measured_ns / 1e9, abs=0.001)


def test_a_simulated_run_says_so_wherever_a_reader_looks() -> None:
    for suite, case in read(report(open_run(GOLDEN[0]))).values():
        assert "SIMULATED" in suite.name and "SIMULATED" in case.name
        assert str(case.system_out).startswith("SIMULATED")


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    content = report(hostile(tmp_path))
    root = hold(content)
    assert b"\x1b" not in content and "\u202e".encode() not in content
    (case,) = root.iter("testcase")
    assert case.get("name") is not None and "HYPERLINK" in str(case.get("name"))
    assert not list(root.iter("b"))
    assert printable(HOSTILE) in str(case.findtext("failure"))
