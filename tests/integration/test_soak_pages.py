"""A soak knows who changed the number of hugepages: what is attacked, or somebody beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from attacker import NOBODY
from attacks.arena import Arena
from attacks.pages import PageWatch
from conftest import Require

from vsperf.errors import ExitCode
from vsperf.host.pages import Pool

pytestmark = pytest.mark.scaffolding("tests/attacks", "tests/integration/test_soak_pages.py")


@dataclass
class Writing:
    """Programs that write to a file which stands for a knob."""

    knob: Path
    own: set[int] = field(default_factory=set)
    patience_s: float = 10.0

    def count(self) -> dict[Path, int]:
        return {self.knob.parent: int(self.knob.read_text() or 0)}

    def write(self, pages: int, own: bool = False) -> None:
        """Let a program write that goes on until it is looked at."""
        script = f"read -r _; echo {pages} > {self.knob}; echo done; read -r _"
        with subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            if own:
                self.own.add(program.pid)
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            self.watch.by_others()
            program.communicate("\n", timeout=self.patience_s)

    def __post_init__(self) -> None:
        self.knob.write_text("8\n")
        self.watch = PageWatch(self.own.__contains__, (self.knob,), self.count)


@pytest.fixture(name="writing")
def fixture_writing(tmp_path: Path, require: Require) -> Iterator[Writing]:
    """Give a knob that is watched."""
    require("root")
    (tmp_path / "nr_hugepages").touch()
    writing = Writing(tmp_path / "nr_hugepages")
    with writing.watch:
        yield writing


def test_what_another_program_adds_is_told_with_its_name(writing: Writing) -> None:
    writing.write(12)
    writing.write(20, own=True)
    assert writing.watch.grown_by_others(writing.knob.parent) == 4
    (change,) = writing.watch.by_others()
    assert "echo 12" in str(change)
    assert f"+4 in {writing.knob.parent}" in str(change)


def test_what_others_take_away_counts_as_well(writing: Writing) -> None:
    writing.write(3)
    assert writing.watch.grown_by_others(writing.knob.parent) == -5


def test_what_is_attacked_is_never_somebody_else(writing: Writing) -> None:
    writing.write(12, own=True)
    assert writing.watch.by_others() == []
    assert "+4 in" in str(writing.watch)


@pytest.mark.parametrize(
    ("others", "pages", "leak"),
    [(0, 8, False), (4, 12, False), (4, 13, True), (0, 9, True), (-2, 6, False), (-2, 7, True)],
)
def test_pages_are_a_leak_unless_the_kernel_saw_somebody_else_add_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    writing: Writing,
    others: int,
    pages: int,
    leak: bool,
) -> None:
    if others:
        writing.write(8 + others)
    writing.write(pages, own=True)
    pool = Pool(node=0, page_bytes=2 << 20, folder=tmp_path)
    (tmp_path / "free_hugepages").write_text(f"{pages}\n")
    monkeypatch.setattr("attacks.arena.read_pools", lambda: (pool,))
    monkeypatch.setattr("attacks.arena.Machine.ledger", lambda *_: tmp_path / "ledger.json")
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache")
    arena.pages_before, arena.watch = {tmp_path: 8}, writing.watch
    assert any("pages in" in trace for trace in arena.traces()) == leak


def test_what_is_killed_is_called_where_another_user_has_put_what_nobody_may_take(
    tmp_path: Path, require: Require
) -> None:
    require("root")
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache")
    trap = arena.called_in / "json.py"
    assert arena.called_in.stat().st_uid == trap.stat().st_uid == NOBODY
    run = arena("results")  # of its own, wherever it is called
    assert run.code == ExitCode.OK
    assert str(arena.results) in run.out


def test_a_place_knows_its_own_commands_and_what_they_start(tmp_path: Path) -> None:
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache")

    def knows(environ: dict[str, str]) -> bool:
        with subprocess.Popen(["sleep", "60"], env=environ) as program:
            while not Path(f"/proc/{program.pid}/environ").read_bytes():
                pass  # it has become a program, and its kernel does not say yet what of
            known = arena.is_own(program.pid)
            program.kill()
        return known

    assert knows({"PATH": "/bin:/usr/bin", "VSPERF_RUNTIME": str(tmp_path / "run")})
    assert not knows({"PATH": "/bin:/usr/bin", "VSPERF_RUNTIME": str(tmp_path / "runs")})
    assert not knows({"PATH": "/bin:/usr/bin"})
