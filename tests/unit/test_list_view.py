"""`vsperf list` on a terminal of 80 columns: every name whole, and every title."""

from __future__ import annotations

import io

import pytest

from vsperf.cli.commands.list import print_entries
from vsperf.cli.selection import library
from vsperf.cli.terminal import PlainConsole


def listed(kind: str, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    places = library()
    out = PlainConsole(stderr=False, width=width)
    monkeypatch.setattr(out, "file", io.StringIO())
    print_entries(out, places, list(getattr(places, kind)().values()))
    return [line.rstrip() for line in out.file.getvalue().splitlines()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["testcases", "testbeds", "presets", "topologies"])
def test_names_are_whole_and_lines_fit_80_columns(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = listed(kind, 80, monkeypatch)
    names = set(getattr(library(), kind)())
    assert names <= {line.split()[0] for line in lines if line}
    assert max(map(len, lines)) <= 80


def test_testcases_stand_by_the_folder_that_they_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = listed("testcases", 80, monkeypatch)
    p2p, vnfs = lines.index("phy2phy"), lines.index("vm")
    place = {line.split()[0]: number for number, line in enumerate(lines) if line}
    assert p2p < place["phy2phy_tput"] < vnfs < place["pvp_tput"]


def test_where_there_is_room_tags_and_files_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = (one for one in listed("testcases", 220, monkeypatch) if "phy2phy_tput " in one)
    assert "rfc2544" in row
    assert "testcases/phy2phy/phy2phy_tput.yaml" in row
