"""`vsperf list` on a terminal of 80 columns: every name whole, and every title."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from vsperf.cli.commands.list import print_entries
from vsperf.cli.main import run_cli
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


def test_tags_are_named_below_where_there_is_no_room_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = listed("testcases", 80, monkeypatch)
    assert any(line.startswith("tags: ") and "back2back" in line for line in lines)
    assert not any(line.startswith("tags: ") for line in listed("testcases", 220, monkeypatch))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pvp_t*put", "--names"], ["pvp_tput"]),
        (["phy2phy_tput", "v2v_tput", "--names"], ["phy2phy_tput", "v2v_tput"]),
        (["testbeds", "s*", "--names"], ["sim"]),
        (["pvp_*", "--tag", "pvp", "--tag", "soak", "--names"], ["pvp_soak"]),
    ],
)
def test_names_patterns_and_all_tags_narrow_a_list_down(
    words: list[str], names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["list", *words]) == 0
    assert capsys.readouterr().out.split() == names


def test_a_name_that_somebody_gave_a_file_is_one_line_and_steers_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VSPERF_PATH", str(tmp_path))
    (tmp_path / "testcases").mkdir()
    name = "zz\x1b]0;mine\x07\nphy2phy_tput\x9b"
    (tmp_path / "testcases" / f"{name}.yaml").write_text("title: mine\n")
    assert run_cli(["list", "zz*", "--names"]) == 0
    assert capsys.readouterr().out == "zz\\x1b]0;mine\\x07\\nphy2phy_tput\\x9b\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pvp"], "'*pvp*'"),
        (["places"], "'*places*'"),
        (["testcase"], "did you mean `testcases`?"),
        (["--tag", "throughputt"], "did you mean `throughput`?"),
        (["testbeds", "--tag", "vm"], "known tags: none"),
    ],
)
def test_what_fits_nothing_is_a_mistake(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["list", *words]) == 2
    assert said in capsys.readouterr().err
