"""JUnit XML as its two readers need it.

There is no one schema: GitLab has none, and that of Jenkins is another project's file, which is not
copied here. What follows is held instead: which elements stand in which, with which attributes,
after the newest schema of Jenkins' xUnit plug-in (junit-10), and what GitLab makes of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from all_wrong import hold_each, relative
from export_samples import GOLDEN, HOSTILE, every_outcome, exported, hostile
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from vsperf.records.files.view import RunView, open_run
from vsperf.records.run import Outcome
from vsperf.trust.printable import printable

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
