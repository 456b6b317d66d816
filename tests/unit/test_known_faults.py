"""What programs are known to tell that is not so: which versions, and where that is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from all_wrong import none_wrong

from vsperf.cli.main import run_cli
from vsperf.drivers.programs import find
from vsperf.drivers.programs.base import InstalledProgram, KnownFault, ProgramSpec
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.host.doctor.finding import Host
from vsperf.plugins import Plugins


@pytest.mark.parametrize(
    ("fault", "has", "has_not", "versions"),
    [
        (KnownFault("x"), ("1", "3.12", "unknown"), (), "all versions"),
        (
            KnownFault("x", before="3.14"),
            ("3.9", "3.13.9", "2", "git"),
            ("3.14", "3.14.1", "4"),
            "before 3.14",
        ),
        (KnownFault("x", since="3.16"), ("3.16", "3.16.2", "10"), ("3.15", "3.9"), "from 3.16 on"),
        (
            KnownFault("x", since="1.2", before="1.10"),
            ("1.2", "1.9 with nginx 1.22.1"),
            ("1.1", "1.10"),
            "from 1.2 on, before 1.10",
        ),
    ],
)
def test_a_fault_is_in_versions_by_their_numbers_and_in_one_that_says_none(
    fault: KnownFault, has: tuple[str, ...], has_not: tuple[str, ...], versions: str
) -> None:
    assert [one for one in (*has, *has_not) if fault.is_in(one)] == list(has)
    assert fault.versions == versions


def test_each_program_and_probe_says_what_is_known_of_it_in_a_line_each() -> None:
    plugins, wrong = Plugins.load(), []
    for section in ("program", "probe"):
        for kind, driver in plugins.drivers(section).items():
            if not driver.FAULTS:
                wrong.append(f"{kind}: nothing is known of it, which no program has come to yet")
            wrong += [
                f"{kind}: {fault.what}"
                for fault in driver.FAULTS
                if len(fault.what) > 100 or "\n" in fault.what or fault.what.endswith(".")
            ]
    none_wrong(wrong)


def test_plugins_has_a_line_for_each_below_its_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run_cli(["plugins"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (n for n, line in enumerate(lines) if re.match(r"  [✓–] iperf3 ", line))
    told = "before 3.14: it exits with 0 when it fails, so its answers are read"
    below = [line.strip() for line in lines[first + 1 : first + 3]]
    assert told in below, "behind what mends that it is not there, if it is not"
    assert run_cli(["plugins", "--json"]) == 0
    rows = {(row["section"], row["kind"]): row for row in json.loads(capsys.readouterr().out)}
    assert {"versions": "before 3.14", "what": told.partition(": ")[2]} in (
        rows["program", "iperf3"]["faults"]
    )
    assert rows["program", "netperf"]["faults"][0]["versions"] == "all versions"
    assert rows["vswitch", "linux-bridge"]["faults"] == []


@pytest.mark.parametrize(
    ("version", "told"), [("3.13", "/it, version 3.13: bad"), ("3.14", "/it, version 3.14")]
)
def test_doctor_tells_those_of_the_version_that_is_there(
    version: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PackagedProgram("it", "apt-get install it", "-v", r"(\d+)")
    monkeypatch.setattr(find, "whole", lambda path: path)
    check = program.check(
        ProgramSpec,
        lambda spec, search: InstalledProgram("/it", version),
        "for tests",
        (KnownFault("bad", before="3.14"),),
    )
    assert check.ask(Host()).evidence == told


# What doctor says is missing of a client of HTTP, and what mends it: that and nothing else.


@pytest.mark.parametrize(
    ("there", "fixes"),
    [
        (("nginx",), ["build it (github.com/giltene/wrk2)"]),
        (("wrk2",), ["apt-get install nginx"]),
        ((), ["build it (github.com/giltene/wrk2)", "apt-get install nginx"]),
        (("wrk2", "nginx"), []),
    ],
)
def test_doctor_names_of_a_client_and_its_server_what_is_missing(
    there: tuple[str, ...], fixes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "whole", lambda path: path)
    monkeypatch.setattr(find, "FOLDERS_OF_ROOT", str(tmp_path))
    words = {"wrk2": "wrk 4.0.0 [epoll]\n --rate", "nginx": "nginx version: nginx/1.22.1"}
    for name in there:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nprintf '{words[name]}\\n'\n")
        program.chmod(0o755)
    (check,) = Plugins.load().driver("program", "wrk2").checks
    answer = check.ask(Host(environment={"PATH": str(tmp_path)}))
    said = [part.partition(", or name one: ")[0] for part in (answer.fix or "").split("; ") if part]
    assert said == fixes
