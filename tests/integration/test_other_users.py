"""Another user of the machine cannot make root do anything, and can work beside root.

Each attack is carried out by a process of that user. The machine has a /run and a /tmp of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacker import NOBODY, Town, as_nobody, town
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode, NotReadyError
from vsperf.host import places
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.procfs import boot_id
from vsperf.host.standing import standing_deployments
from vsperf.host.workspace import workspace

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]

WORKSPACE = "vsperf-1-abcdef"


@pytest.fixture(name="here")
def fixture_here(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a machine whose /run and /tmp are looked into as nobody has said otherwise."""
    require("root")
    monkeypatch.delenv(places.VARIABLE)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with town() as made:
        monkeypatch.setattr(places, "RUN", made.run)
        monkeypatch.setattr(tempfile, "tempdir", str(made.tmp))
        yield made


def plant(root: Path, *undos: dict[str, object], kept: bool = False) -> Path:
    """Put there what looks like a deployment that root has left."""
    folder = root / WORKSPACE
    folder.mkdir(parents=True, mode=0o700)
    for inner in (root, folder):
        inner.chmod(0o755)
    owner = {"pid": 1, "started": 1, "boot": boot_id(), "purpose": "a run", "kept": kept}
    (folder / "owner.json").write_text(json.dumps(owner))
    lines = [json.dumps({"number": n, "undo": undo}) for n, undo in enumerate(undos, start=1)]
    (folder / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def undos(victim: Path) -> tuple[dict[str, object], ...]:
    return (
        {"kind": "write-file", "path": str(victim), "value": "nobody ALL=(ALL) NOPASSWD: ALL"},
        {"kind": "remove-file", "path": str(victim)},
        {"kind": "remove-tree", "path": str(victim.parent)},
    )


def test_root_carries_out_no_undo_that_another_user_planted_in_tmp(
    vsperf: Shell, here: Town
) -> None:
    as_nobody(lambda: str(plant(here.tmp / "vsperf-0", *undos(here.precious))))
    ended = vsperf("clean")
    assert ended.code == ExitCode.OK
    assert "vsperf-0" not in ended.out
    assert here.precious.read_text() == "root\n"


def test_root_looks_into_no_folder_in_tmp(here: Town) -> None:
    assert places.usual_folders() == (here.run / "vsperf",)


@pytest.mark.parametrize("words", [("clean",), ("shell", "vm1", "id")])
def test_a_folder_of_another_user_that_root_was_pointed_at_is_refused_by_name(
    vsperf: Shell, here: Town, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    planted = here.tmp / "planted"
    as_nobody(lambda: str(plant(planted, *undos(here.precious), kept=True)))
    monkeypatch.setenv(places.VARIABLE, str(planted))
    ended = vsperf(*words)
    assert ended.code == ExitCode.NOT_READY
    assert f"{planted} cannot be trusted with a deployment" in ended.err
    assert f"{planted} belongs to nobody" in ended.err
    assert here.precious.read_text() == "root\n"


def test_a_folder_of_root_is_refused_where_others_could_put_another_in_its_place(
    vsperf: Shell, here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    (open_to_all := here.folder / "open").mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "run").mkdir(mode=0o700)
    monkeypatch.setenv(places.VARIABLE, str(open_to_all / "run"))
    ended = vsperf("clean")
    assert ended.code == ExitCode.NOT_READY
    assert f"{open_to_all} can be written to by others" in ended.err


def test_roots_shell_talks_to_no_socket_of_another_user(vsperf: Shell, here: Town) -> None:
    def attack() -> None:
        folder = plant(here.tmp / "vsperf-0", kept=True)
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind(str(folder / "vm1.shell"))

    as_nobody(attack)
    assert standing_deployments((here.tmp / "vsperf-0",)) == ()
    ended = vsperf("shell", "vm1", "id")
    assert ended.code == ExitCode.BAD_INPUT
    assert "no deployment is up" in ended.err


@pytest.mark.parametrize("name", ["owner.json", "journal.jsonl"])
def test_a_pipe_in_the_place_of_a_file_stops_nobody(vsperf: Shell, here: Town, name: str) -> None:
    folder = plant(here.run / "vsperf")
    here.run.joinpath("vsperf").chmod(0o700)
    folder.chmod(0o700)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert vsperf(*SMOKE).code == ExitCode.OK
    vsperf("clean")


def test_a_journal_that_is_a_link_is_not_written_to(vsperf: Shell, here: Town) -> None:
    folder = plant(here.run / "vsperf")
    (folder / "journal.jsonl").unlink()
    (folder / "journal.jsonl").symlink_to(here.precious)
    ended = vsperf("clean")
    assert ended.code == ExitCode.LEFT_BEHIND
    assert f"{folder}/journal.jsonl is a link" in ended.out
    assert here.precious.read_text() == "root\n"


def test_a_lock_that_is_a_link_is_not_written_to(vsperf: Shell, here: Town) -> None:
    (here.run / "vsperf").mkdir(mode=0o700)
    (here.run / "vsperf" / "local.lock").symlink_to(here.precious)
    with pytest.raises(NotReadyError, match="lock of testbed local"), hold("local", "run"):
        pass
    assert here.precious.read_text() == "root\n"


def quietly(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and what it says."""
    os.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run_cli(list(arguments))
    return code, out.getvalue()


def test_another_user_deploys_and_cleans_beside_root(vsperf: Shell, here: Town) -> None:
    own = here.tmp / f"vsperf-{NOBODY}"

    def die() -> None:
        """Begin a deployment, and be gone without a word."""
        if (child := os.fork()) == 0:
            with workspace("a run"):
                os._exit(0)
        os.waitpid(child, 0)

    assert vsperf("clean").code == ExitCode.OK  # imports what the other user may not read here
    as_nobody(die)
    (left,) = own.iterdir()
    code, said = as_nobody(lambda: quietly(here.tmp, "clean"))
    assert (code, said.partition(" (")[0]) == (ExitCode.OK, f"removed {left}")
    assert not own.exists()


def test_another_user_is_refused_a_folder_that_a_third_one_took(vsperf: Shell, here: Town) -> None:
    own = here.tmp / f"vsperf-{NOBODY}"
    assert vsperf("clean").code == ExitCode.OK
    own.mkdir(mode=0o700)
    os.chown(own, NOBODY - 1, NOBODY - 1)

    def begin() -> str:
        try:
            with workspace("a run"):
                return "begun"
        except NotReadyError as error:
            return error.with_why

    assert as_nobody(begin) == (
        f"{own} cannot be trusted with a deployment: {own} belongs to user {NOBODY - 1}"
    )
    assert as_nobody(lambda: quietly(here.tmp, "clean"))[1] == "nothing is left behind\n"
