"""What people see on a terminal of 80 columns, view by view, as it is kept in `golden/views`.

What changes a view shows it in its diff: look at it as its reader would. The views are of stored
runs and of models, which are the same on any machine.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import REPOSITORY

from vsperf.cli.main import run_cli

GOLDEN = REPOSITORY / "tests" / "golden"
VIEWS = GOLDEN / "views"
NOW = REPOSITORY / "build" / "views"
"""Where a view goes that is not as it was."""
COLUMNS = 80
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def test_there_are_views_of_what_people_look_at() -> None:
    seen = {shlex.split(view.read_text().splitlines()[0])[2] for view in VIEWS.glob("*.txt")}
    assert seen >= {"show", "results", "list", "plan", "trend", "compare", "explain", "run"}
    assert {"baseline", "plot", "export"} <= seen


@pytest.mark.parametrize("name", sorted(view.stem for view in VIEWS.glob("*.txt")))
def test_a_view_is_as_it_was_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = (VIEWS / f"{name}.txt").read_text()
    command = kept.splitlines()[0]
    stored_and_narrow(tmp_path, monkeypatch)
    run_cli(shlex.split(command.removeprefix("$ vsperf ")))
    printed = lines_of(capsys)
    shown = "\n".join((command, *(line.rstrip() for line in printed))) + "\n"
    if shown != kept:
        NOW.mkdir(parents=True, exist_ok=True)
        (NOW / f"{name}.txt").write_text(shown)
    assert shown == kept, f"see build/views/{name}.txt; where it is better: cp it to {VIEWS.name}"
    assert not too_long(printed), "only a path or another word that is longer than a line may be"


@pytest.mark.parametrize("command", ["compare gxq9 w9dt --anyway", "plot --list", "plugins"])
def test_what_is_no_view_of_these_fits_the_terminal_as_well(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored_and_narrow(tmp_path, monkeypatch)
    assert run_cli(command.split()) == 0
    assert not too_long(lines_of(capsys))


def stored_and_narrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for run in (GOLDEN / "records").iterdir():
        if run.is_dir():
            shutil.copytree(run, folder / "results" / run.name)
    kept = {"run": "2026-11-21-phy2phy_smoke-acj4", "set_at": "2026-11-22T08:15:00+00:00"}
    baselines = folder / "results" / "baselines"
    baselines.mkdir()
    (baselines / "main.json").write_text(f"{json.dumps(kept)}\n")
    monkeypatch.chdir(folder)
    for variable, value in {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "HOME": str(folder),
    }.items():
        monkeypatch.setenv(variable, value)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    return STYLE.sub("", out + err).replace(f"{REPOSITORY}", "REPOSITORY").splitlines()


def too_long(printed: list[str]) -> list[str]:
    return [line for line in printed if len(line) > COLUMNS and " " in line.strip()]
