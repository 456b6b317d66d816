"""The published schema is that of the models, and files of other versions are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from all_wrong import hold_each, relative
from jsonschema import Draft202012Validator
from record_samples import case_lines, header, run_lines, trial_line

from vsperf.errors import Location, StoreError
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import check_run, refuse_other_versions
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import open_run
from vsperf.records.run import LINE, Line, RunResume
from vsperf.records.schema import line_schemas, record_schema, schema_text

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "reference" / "schema" / f"records-{SCHEMA_VERSION}.json"
SAMPLES = sorted((ROOT / "tests" / "golden" / "records").glob("2026-*"))
HERE = Location("records.jsonl", 1)


def every_line() -> list[Line]:
    resume = RunResume(
        resumed_at="2026-11-20T11:00:00Z", argv=("vsperf", "run", "--resume", "k7f3")
    )
    return [header(), *run_lines(header()), resume]


def plain(line: Line) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(LINE.dump_json(line))
    return data


def test_the_published_schema_is_that_of_the_models() -> None:
    publish = (
        "python -c 'from vsperf.records.schema import schema_text; print(schema_text(), end=\"\")'"
    )
    assert PUBLISHED.read_text() == schema_text(), (
        f"the records changed; run: {publish} > {PUBLISHED.relative_to(ROOT)} "
        "(and raise SCHEMA_VERSION if this version was released)"
    )


def test_the_schema_is_valid_json_schema_and_names_its_version_without_a_host() -> None:
    schema = record_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:vsperf:records:{SCHEMA_VERSION}"


def test_every_object_of_the_schema_requires_its_fields_and_forbids_others() -> None:
    for name, definition in record_schema()["$defs"].items():
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False, name
            assert definition["required"] == list(definition["properties"]), name
        assert definition["description"], name


def test_what_vsperf_writes_follows_the_published_schema() -> None:
    validator = Draft202012Validator(json.loads(PUBLISHED.read_text()))
    for line in every_line():
        validator.validate(plain(line))


def test_the_quick_schemas_and_the_published_one_agree_on_good_and_bad_lines() -> None:
    whole = Draft202012Validator(record_schema())
    quick = {kind: Draft202012Validator(schema) for kind, schema in line_schemas().items()}
    for line in every_line():
        data = plain(line)
        broken = [{**data, "unknown": 1}]
        broken += [{k: v for k, v in data.items() if k != gone} for gone in data if gone != "type"]
        broken += [{**data, field: ["wrong", {}]} for field in data if field != "type"]
        for candidate in (data, *broken):
            accepted = candidate is data
            assert whole.is_valid(candidate) is accepted, candidate
            assert quick[data["type"]].is_valid(candidate) is accepted, candidate


def write(folder: Path, lines: list[Line]) -> Path:
    folder.mkdir()
    path = folder / RECORDS
    path.write_bytes(b"".join(LINE.dump_json(line) + b"\n" for line in lines))
    return path


def test_a_written_file_is_valid(tmp_path: Path) -> None:
    path = write(tmp_path / "run", every_line())
    assert validate_file(path) == len(every_line())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"settled":true', b'"settled":"yes"', "trial.settled: 'yes' is not of type 'boolean'"),
        (b'"settled":true,', b"", "trial: 'settled' is a required property"),
        (b'"settled":true', b'"settled":true,"x":1', "'x' was unexpected"),
        (b'"purpose":"search"', b'"purpose":"fun"', "'fun' is not one of"),
        (b'"type":"trial"', b'"type":"trail"', "there is no record of type 'trail'"),
        (b'"type":"trial"', b'"type":"trial', "the line is not JSON"),
    ],
)
def test_a_line_that_breaks_the_schema_is_named_with_its_number(
    tmp_path: Path, old: bytes, new: bytes, why: str
) -> None:
    path = write(tmp_path / "run", every_line())
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(StoreError) as caught:
        validate_file(path)
    problem = caught.value.problems[0]
    assert why in (problem.why or "")
    assert problem.where == Location(str(path), 3)


def test_a_cut_off_line_is_not_valid(tmp_path: Path) -> None:
    path = write(tmp_path / "run", every_line())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError) as caught:
        validate_file(path)
    assert caught.value.problems[0].why == "the line was cut off"


def test_lines_in_an_order_that_no_run_writes_are_not_valid(tmp_path: Path) -> None:
    first = header().cases[0].key
    start, trial, *_ = case_lines(first)
    path = write(tmp_path / "run", [header(), trial, start])
    with pytest.raises(StoreError) as caught:
        validate_file(path)
    assert "not running" in (caught.value.problems[0].why or "")


def test_validating_does_not_slow_down_commands_that_do_not_validate() -> None:
    program = "import sys, vsperf.records.files.validation; sys.exit('jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_sample_files_load_and_follow_the_published_schema() -> None:
    def check(sample: Path) -> None:
        run = open_run(sample)
        assert any(case.trials or tuple(case.exchanges) for case in run.cases())
        check_run(sample)
        if not run.torn:
            assert validate_file(sample / RECORDS)

    hold_each(SAMPLES, check, relative)


@pytest.mark.parametrize(
    "line",
    [
        *(None, [], 3, "trial", {"type": "trial"}, {"type": "trial", "trial": []}),
        {"type": "trial", "trial": {"directions": 5, "generator": None}},
    ],
)
def test_a_line_that_lacks_its_fields_is_refused_as_a_damaged_one(
    tmp_path: Path, line: object
) -> None:
    content = "".join(f"{json.dumps(each)}\n" for each in (plain(header()), line, plain(header())))
    (tmp_path / RECORDS).write_text(content)
    with pytest.raises(StoreError, match="cannot be read") as caught:
        open_run(tmp_path)
    assert caught.value.problems[0].where == Location(str(tmp_path / RECORDS), 2)


def refused(first: object) -> StoreError:
    """Return why a file that begins with this line is refused."""
    with pytest.raises(StoreError) as caught:
        refuse_other_versions(Path("records.jsonl"), json.dumps(first).encode())
    return caught.value


def test_a_newer_version_is_refused_with_a_hint_to_upgrade() -> None:
    error = refused({"type": "run", "schema_version": SCHEMA_VERSION + 1})
    assert "newer vsperf" in str(error)
    assert "upgrade" in (error.problems[0].fix or "")


def test_a_version_that_never_was_is_refused() -> None:
    assert "never existed" in str(refused({"type": "run", "schema_version": 0}))


@pytest.mark.parametrize(
    "first", [None, [], 3, {}, {"type": "trial"}, {"type": "run"}, plain(trial_line("x"))]
)
def test_a_file_that_does_not_begin_with_a_header_is_refused(first: object) -> None:
    assert refused(first).problems[0].where == HERE


@pytest.mark.parametrize("version", ["1", True, 1.0, None])
def test_a_version_that_is_no_number_is_refused(version: object) -> None:
    error = refused({"type": "run", "schema_version": version})
    assert "does not say which version" in str(error)
