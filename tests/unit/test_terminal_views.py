"""What is printed on a terminal of 80 columns: no line is longer, and none ends within a word."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest

from vsperf.cli import tables
from vsperf.cli.commands import doctor, explain, plugins
from vsperf.cli.main import run_cli
from vsperf.cli.terminal import PlainConsole
from vsperf.host.doctor.finding import Finding, Group, Status

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
VIEWS = (["plugins"], ["explain"], ["doctor"])


@pytest.mark.parametrize("argv", VIEWS, ids=" ".join)
def test_lines_fit_80_columns_and_are_broken_between_words(
    argv: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = _printed(argv, 1000, monkeypatch, capsys)
    narrow = _printed(argv, 80, monkeypatch, capsys)
    long = [line for line in narrow if len(line) > 80 and len(line.split()) > 2]
    assert not long, "only a path or another word that is longer than a line may be"
    if argv != ["doctor"]:  # it looks at a machine that changes
        assert " ".join(narrow).split() == " ".join(wide).split()


def test_doctor_shows_people_a_short_digest_and_programs_the_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = "0123456789abcdef" * 4
    image = Finding("guest image", Group.PROGRAMS, Status.OK, f"/images/guest, {digest}")
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [image])
    printed = _printed(["doctor"], 80, monkeypatch, capsys)
    assert "  ✓ guest image  /images/guest, 0123456789ab…" in printed
    run_cli(["doctor", "--json"])
    assert digest in capsys.readouterr().out


def test_doctor_breaks_no_command_that_a_line_has_room_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"apt-get install --no-install-recommends {'p' * 30}"
    name = "a switch of twenty-six letters"
    found = Finding(name, Group.PROGRAMS, Status.ABSENT, "it is not there", command)
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [found])
    assert f"    fix: {command}" in _printed(["doctor"], 80, monkeypatch, capsys)


def _printed(
    argv: Sequence[str],
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """Return the lines of a command on a terminal of so many columns."""
    out = PlainConsole(stderr=False, width=width)
    out.file = file = io.StringIO()
    monkeypatch.setattr(type(out), "is_terminal", property(lambda self: True))
    for module in (tables, doctor, explain, plugins):
        monkeypatch.setattr(module, "console", lambda: out)
    run_cli(list(argv))
    printed = file.getvalue() + capsys.readouterr().out
    return COLOURS.sub("", printed).splitlines()
