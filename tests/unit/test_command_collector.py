"""A program of the user: its lines become values with times; its end is not that of a case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from vsperf.collectors.command import STAMP, Command, CommandSpec, Lines
from vsperf.errors import NotReadyError
from vsperf.record.series import Nature


def spec(**settings: object) -> CommandSpec:
    return CommandSpec.model_validate({"kind": "command", **settings})


class TestSettings:
    def test_there_is_one_source(self) -> None:
        with pytest.raises(ValidationError, match="either `argv`"):
            spec()
        with pytest.raises(ValidationError, match="either `argv`"):
            spec(argv=["pcm"], file="/tmp/pcm.csv")

    def test_units_are_the_users_word(self) -> None:
        found = Command().quantities(spec(argv=["x"], units={"watt": "W"}, counters=["joule"]))
        assert [(one.name, one.unit, one.nature) for one in found] == [
            ("watt", "W", Nature.GAUGE),
            ("joule", "?", Nature.COUNTER),
            ("*", "?", Nature.GAUGE),
        ]

    def test_a_heavy_one_is_so_by_the_users_word(self) -> None:
        assert Command().heavy(spec(argv=["x"], heavy=True))
        assert not Command().heavy(spec(argv=["x"]))


class TestLines:
    def test_of_json_numbers_are_kept(self) -> None:
        line = '{"a": 1, "b": 2.5, "c": "7", "d": true, "e": null, "f": "x", "g": NaN}'
        assert Lines("json").values(line) == {"a": 1, "b": 2.5, "c": 7}

    @pytest.mark.parametrize("line", ["", "[1]", "{", "7"])
    def test_what_is_no_object_has_no_values(self, line: str) -> None:
        assert Lines("json").values(line) == {}

    def test_of_csv_the_first_line_has_the_names(self) -> None:
        lines = Lines("csv")
        assert lines.values("time, ipc") == {}
        assert lines.values("12,1.25") == {"time": 12, "ipc": 1.25}
        assert lines.values("13,") == {"time": 13}


class TestStamp:
    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-I", "-S", str(STAMP), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    def test_each_line_of_a_program_has_its_time(self) -> None:
        done = self.run("--", "/bin/sh", "-c", "echo one; echo two; exit 3")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one["line"] for one in found] == ["one", "two"]
        assert 0 < found[0]["at_ns"] <= found[1]["at_ns"]
        assert done.returncode == 3

    def test_a_program_that_is_missing_is_named(self) -> None:
        done = self.run("--", "/nowhere/pcm")
        assert done.returncode == 1
        assert "/nowhere/pcm" in done.stderr

    def test_what_comes_new_to_a_file_is_passed_on_after_its_head(self, tmp_path: Path) -> None:
        file = tmp_path / "pcm.csv"
        file.write_text("time,ipc\n1,old\n")
        argv = [sys.executable, "-I", "-S", str(STAMP), str(file)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            first = json.loads(program.stdout.readline())
            with file.open("a") as more:
                more.write("2,new\n")
            second = json.loads(program.stdout.readline())
            program.kill()
        assert [first["line"], second["line"]] == ["time,ipc", "2,new"]


class TestMissing:
    def test_a_program_that_is_not_there_is_said_before_anything_starts(self) -> None:
        with pytest.raises(NotReadyError, match="pcm-of-nobody"):
            Command().require(None, spec(argv=["pcm-of-nobody"]))  # type: ignore[arg-type]

    def test_a_file_that_nobody_wrote_is_said(self, tmp_path: Path) -> None:
        missing = str(tmp_path / "none.csv")
        with pytest.raises(NotReadyError, match=r"none\.csv"):
            Command().require(None, spec(file=missing))  # type: ignore[arg-type]
