"""What people see on a terminal of 80 columns, view by view, as it is kept in `golden/views`.

What changes a view shows it in its diff: look at it as its reader would. The views are of stored
runs and of models, which are the same on any machine.
"""

from __future__ import annotations

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
    assert seen == {"show", "results", "list", "plan", "trend", "compare", "explain", "run"}


@pytest.mark.parametrize("name", sorted(view.stem for view in VIEWS.glob("*.txt")))
def test_a_view_is_as_it_was_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = (VIEWS / f"{name}.txt").read_text()
    command = kept.splitlines()[0]
    for run in (GOLDEN / "records").iterdir():
        if run.is_dir():
            shutil.copytree(run, tmp_path / "results" / run.name)
    monkeypatch.chdir(tmp_path)
    for variable, value in {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(variable, value)
    run_cli(shlex.split(command.removeprefix("$ vsperf ")))
    out, err = capsys.readouterr()
    printed = STYLE.sub("", out + err).replace(f"{REPOSITORY}", "REPOSITORY").splitlines()
    shown = "\n".join((command, *(line.rstrip() for line in printed))) + "\n"
    if shown != kept:
        NOW.mkdir(parents=True, exist_ok=True)
        (NOW / f"{name}.txt").write_text(shown)
    assert shown == kept, f"see build/views/{name}.txt; where it is better: cp it to {VIEWS.name}"
    too_long = [line for line in printed if len(line) > COLUMNS and " " in line.strip()]
    assert not too_long, "only a path or another word that is longer than a line may be"
