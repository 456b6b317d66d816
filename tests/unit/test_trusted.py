"""What can be trusted: files and folders, files that a user names, and Python of our own."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from all_wrong import none_wrong
from attacker import NOBODY, Town, as_nobody, town

from vsperf.trust import own_python, trusted
from vsperf.trust.named_files import written, written_together
from vsperf.trust.trusted import DistrustedError

# What can be trusted: nobody else made it, and nobody else can change it or what leads to it.

Require = Callable[[str], None]


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Path:
    """Give a folder that nobody else can write to."""
    place = tmp_path / "place"
    place.mkdir(mode=0o700)
    return place


@pytest.fixture(name="here")
def fixture_here(require: Require) -> Iterator[Town]:
    require("root")
    with town() as made:
        yield made


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def hard_link(path: Path) -> None:
    (path.parent / "other").write_text("x")
    path.hardlink_to(path.parent / "other")


def link(path: Path) -> None:
    (path.parent / "other").write_text("x")
    path.symlink_to("other")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


def folder(path: Path) -> None:
    path.mkdir()


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def open_to_all(path: Path) -> None:
    path.write_text("x")
    path.chmod(0o602)


def open_to_the_group(path: Path) -> None:
    path.write_text("x")
    path.chmod(0o620)


UNTRUSTED = [
    fifo, hard_link, link, listening, folder, giant, open_to_all, open_to_the_group,
]  # fmt: skip


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("make", UNTRUSTED)
def test_what_is_no_private_file_of_modest_size_is_not_read(
    place: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)  # paths of sockets are short
    make(place / "file")
    with pytest.raises(OSError, match="file"):
        trusted.read(place / "file")


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("make", [link, fifo, listening, hard_link])
def test_such_a_file_is_not_written_to(
    place: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    make(place / "file")
    with trusted.opened(place) as opened, pytest.raises(OSError, match="file"):
        opened.open("file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def test_a_private_file_is_read_and_replaced(place: Path) -> None:
    trusted.replace(place / "file", b"one")
    trusted.replace(place / "file", b"two")
    assert trusted.read(place / "file") == b"two"
    assert stat.S_IMODE((place / "file").stat().st_mode) == 0o600
    assert [path.name for path in place.iterdir()] == ["file"]


@pytest.mark.parametrize("alone", [False, True])
def test_replacing_a_link_does_not_touch_what_it_points_to(place: Path, alone: bool) -> None:
    (place / "precious").write_text("precious")
    for name in ("file", "file.new"):
        (place / name).symlink_to("precious")
    trusted.replace(place / "file", b"new", alone=alone)
    assert (place / "precious").read_text() == "precious"
    assert trusted.read(place / "file") == b"new"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "a\0b"])
def test_a_name_leads_nowhere_else(place: Path, name: str) -> None:
    with trusted.opened(place) as opened, pytest.raises(DistrustedError, match="not the name"):
        opened.open(name)


def test_a_path_with_a_nul_is_refused_like_any_other_that_leads_nowhere(place: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        trusted.read(place / "a\0b" / "file")


def test_a_folder_that_is_a_link_is_not_opened(place: Path) -> None:
    (place / "link").symlink_to(".")
    with pytest.raises(DistrustedError, match="is a link"), trusted.opened(place / "link"):
        pass


def test_links_on_the_way_are_followed_where_nobody_else_made_them(place: Path) -> None:
    (place / "real" / "inner").mkdir(parents=True, mode=0o700)
    (place / "link").symlink_to("real/../real")
    assert trusted.why_not(place / "link" / "inner") is None


def test_links_in_a_circle_are_an_error(place: Path) -> None:
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many links"):
        trusted.why_not(place / "a" / "x")


@pytest.mark.parametrize(("mode", "fine"), [(0o755, True), (0o1777, True), (0o777, False)])
def test_a_folder_where_all_can_write_is_passed_only_if_nobody_can_rename_there(
    place: Path, mode: int, fine: bool
) -> None:
    inner = place / "inner"
    inner.mkdir(mode=0o700)
    place.chmod(mode)
    assert (trusted.why_not(inner) is None) is fine


def test_a_folder_where_all_can_write_holds_nothing_of_ours(place: Path) -> None:
    place.chmod(0o1777)
    assert trusted.why_not(place) is not None
    with pytest.raises(DistrustedError, match="mode 1777"), trusted.opened(place):
        pass


def test_a_folder_that_is_held_open_stays_the_one_that_was_looked_at(place: Path) -> None:
    (place / "real").mkdir(mode=0o700)
    (place / "real" / "file").write_text("real")
    (place / "precious").mkdir(mode=0o700)
    (place / "precious" / "file").write_text("precious")
    with trusted.opened(place / "real") as held:
        (place / "real").rename(place / "moved")
        (place / "real").symlink_to("precious")
        assert held.read("file") == b"real"
        held.replace("file", b"new")
        held.remove("file")
    assert (place / "precious" / "file").read_text() == "precious"


def test_a_link_is_removed_and_not_followed(place: Path) -> None:
    (place / "precious").mkdir()
    (place / "precious" / "file").touch()
    (place / "tree").mkdir()
    (place / "tree" / "link").symlink_to(place / "precious")
    (place / "link").symlink_to("precious")
    with trusted.opened(place) as opened:
        opened.remove("tree")
        opened.remove("link")
        opened.remove("gone")
        assert opened.names() == ["precious"]
    assert (place / "precious" / "file").exists()


def test_a_folder_is_made_for_this_user_alone(place: Path) -> None:
    place.chmod(0o1777)
    for _ in range(2):
        trusted.make_folder(place / "one" / "two")
    assert stat.S_IMODE((place / "one" / "two").stat().st_mode) == 0o700


def test_no_folder_is_made_where_others_can_rename_it(place: Path) -> None:
    place.chmod(0o777)
    with pytest.raises(DistrustedError, match="mode 0777"):
        trusted.make_folder(place / "one")
    assert list(place.iterdir()) == []


def test_what_another_user_owns_is_not_trusted(here: Town) -> None:
    planted = here.tmp / "planted"

    def attack() -> None:
        planted.mkdir(mode=0o700)
        (planted / "file").write_text("x")
        (planted / "file").chmod(0o600)

    as_nobody(attack)
    with pytest.raises(DistrustedError, match=f"{planted} belongs to"):
        trusted.read(planted / "file")
    assert trusted.why_not(planted / "file", frozenset({0, NOBODY})) is None


def test_what_lies_below_a_folder_of_another_user_is_not_trusted(here: Town) -> None:
    theirs = here.tmp / "theirs"
    as_nobody(lambda: theirs.mkdir(mode=0o755))
    ours = theirs / "ours"
    ours.mkdir(mode=0o700)
    assert trusted.why_not(ours) == f"{theirs} belongs to nobody"
    with pytest.raises(DistrustedError):
        trusted.make_folder(ours / "more")


def test_a_link_that_another_user_made_is_not_followed(here: Town) -> None:
    as_nobody(lambda: (here.tmp / "link").symlink_to(here.precious.parent))
    assert trusted.why_not(here.tmp / "link" / "sudoers") == f"{here.tmp}/link is a link of nobody"


def test_another_user_works_in_tmp_as_root_does_in_run(here: Town) -> None:
    def work() -> str:
        own = here.tmp / "own"
        trusted.make_folder(own)
        trusted.replace(own / "file", b"content")
        return trusted.read(own / "file").decode()

    assert as_nobody(work) == "content"


def test_a_file_of_records_is_opened_and_replaced_behind_no_link_of_others(here: Town) -> None:
    """Who owns a folder on the way can put a link there at any time."""
    theirs, ours = here.tmp / "theirs", here.run / "series"
    (ours / "case").mkdir(parents=True)
    as_nobody(theirs.mkdir)
    as_nobody(lambda: (theirs / "series").symlink_to(ours))
    made = theirs / "series" / "case" / "proc.jsonl"
    with pytest.raises(DistrustedError, match="is a link of nobody"):
        trusted.open_plain(made, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(DistrustedError, match="is a link of nobody"):
        trusted.replace_plain(made, b"", ".new")
    assert list((ours / "case").iterdir()) == []
    trusted.replace_plain(ours / "case" / "proc.jsonl", b"1", ".new")
    os.close(trusted.open_plain(ours / "case" / "proc.jsonl", os.O_RDONLY))
    (ours / "link").symlink_to("case")
    with pytest.raises(DistrustedError, match="link is a link"):
        trusted.open_plain(ours / "link" / "proc.jsonl", os.O_RDONLY)


def test_files_that_do_not_stay_are_made_where_nobody_can_exchange_them(
    here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here.tmp))
    assert trusted.temporary_folder() == str(here.tmp)
    theirs = here.tmp / "theirs"
    as_nobody(theirs.mkdir)
    monkeypatch.setattr(tempfile, "tempdir", str(theirs))
    assert trusted.temporary_folder() in ("/tmp", "/var/tmp")


def test_a_home_that_is_not_ones_own_alone_is_an_empty_one(
    here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in trusted.HOMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(here.run))
    with trusted.own_home() as homes:
        assert homes == {}
    theirs = here.tmp / "theirs"
    as_nobody(theirs.mkdir)
    for name in trusted.HOMES:
        with monkeypatch.context() as patched, trusted_home(patched, name, theirs) as homes:
            assert set(homes) == set(trusted.HOMES)
            (empty,) = set(homes.values())
            assert os.listdir(empty) == []  # noqa: PTH208 - a path in words
            assert trusted.root_may_use(Path(empty))
        assert not Path(empty).exists()


@contextmanager
def trusted_home(patched: pytest.MonkeyPatch, name: str, home: Path) -> Iterator[Mapping[str, str]]:
    patched.setenv(name, str(home))
    with trusted.own_home() as homes:
        yield homes


def test_a_folder_of_anybody_is_reached_but_through_no_link_of_others(here: Town) -> None:
    theirs = here.tmp / "theirs"
    as_nobody(theirs.mkdir)
    with trusted.reached(theirs / "made" / "here", make=True) as folder:
        assert os.fstat(folder).st_ino == (theirs / "made" / "here").stat().st_ino
    as_nobody(lambda: (theirs / "link").symlink_to(here.run))
    with (
        pytest.raises(DistrustedError, match="is a link of nobody"),
        trusted.reached(theirs / "link" / "made", make=True),
    ):
        pass
    assert not (here.run / "made").exists()
    with trusted.reached(theirs / "link", frozenset({0, NOBODY})) as folder:
        assert os.fstat(folder).st_ino == here.run.stat().st_ino


# A file that a user names is there whole or not at all, and nothing else is written to.

TO_STDOUT = """
from pathlib import Path
from vsperf.trust.named_files import written
with written(Path("/dev/stdout")) as file:
    file.write(b"said")
"""


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    (path := tmp_path / "page").write_text("before")
    with written(path) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert names(tmp_path) == ["page"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_what_was_there_stays_where_it_does_not_become_whole(tmp_path: Path) -> None:
    (path := tmp_path / "page").write_text("before")
    paths = (path, tmp_path / "other")
    with pytest.raises(ZeroDivisionError), written_together(paths) as (file, _):
        file.write(b"after")
        raise ZeroDivisionError
    assert path.read_text() == "before"
    assert names(tmp_path) == ["page"]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with written(tmp_path / "a" / "b" / "page") as file:
        file.write(b"here")
    assert (tmp_path / "a/b/page").read_text() == "here"


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (other := tmp_path / "other").write_text("precious")
    (path := tmp_path / "page").symlink_to(other)
    with written(path) as file:
        file.write(b"page")
    assert (path.read_text(), other.read_text()) == ("page", "precious")
    assert not path.is_symlink()


def test_a_second_name_of_a_file_is_replaced_and_the_file_stays(tmp_path: Path) -> None:
    (other := tmp_path / "other").write_text("precious")
    (path := tmp_path / "page").hardlink_to(other)
    with written(path) as file:
        file.write(b"page")
    assert (path.read_text(), other.read_text()) == ("page", "precious")


@pytest.mark.usefixtures("never_waits")
def test_a_pipe_is_refused_and_nobody_waits_for_its_reader(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "page")
    with pytest.raises(DistrustedError, match="is there, and is no regular file"), written(path):
        pass
    assert names(tmp_path) == ["page"]


def test_a_folder_is_reached_through_ones_own_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with written(tmp_path / "link" / ".." / "link" / "page") as file:
        file.write(b"page")
    assert (tmp_path / "real" / "page").read_text() == "page"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"), written(tmp_path / "round" / "page"):
        pass


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    with written(tmp_path / ("ä" * 127)) as file:
        file.write(b"page")


@pytest.mark.parametrize("into", ["pipe", "file"])
def test_the_standard_output_is_written_to_where_it_is(tmp_path: Path, into: str) -> None:
    argv = own_python.module("says", folder=tmp_path)
    (tmp_path / "says.py").write_text(TO_STDOUT)
    if into == "pipe":
        assert subprocess.run(argv, capture_output=True, check=True).stdout == b"said"
        return
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(argv, stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"said"


# No stranger's folder decides what Python of ours runs: there is one way to start it.

TRAP = "import os\nos.write(2, b'a trap was run\\n')\nos._exit(99)\n"
ALLOWED = {
    "vsperf/trust/own_python.py": "the one way",
    "vsperf/host/doctor/installation.py": "a check of that name",
    "tools/repeat-tests": "pytest, in the checkout whose tests these are",
}
INTERPRETER = re.compile(r"(.*/)?python3?(\.\d+)?")
UNSAFE = re.compile(r"python[0-9.]*\"? +-(?![IVh])\S")
"""In scripts and pages: an interpreter with options of which the first is not `-I`."""
IN_A_CHECKOUT = re.compile(r"python\)? -m (ruff|mypy|pytest)\b")
"""What the Makefile and contributors run in the checkout, which is theirs."""


@pytest.fixture(name="trapped")
def fixture_trapped(tmp_path: Path) -> Path:
    """Give a folder whose owner would like to be run."""
    (tmp_path / "vsperf").mkdir()
    for name in ("json.py", "sitecustomize.py", "runpy.py", "vsperf/__init__.py"):
        (tmp_path / name).write_text(TRAP)
    return tmp_path


def run_in(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "json.py")}
    return subprocess.run(
        argv, cwd=folder, env=environ, check=False, capture_output=True, text=True, timeout=60
    )


def test_a_module_is_ours_whatever_lies_in_the_working_directory(trapped: Path) -> None:
    assert run_in(trapped, sys.executable, "-m", "vsperf", "--version").returncode == 99
    ended = run_in(trapped, *own_python.module("vsperf", "--version"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("vsperf")


def test_a_script_of_the_standard_library_is_ours_too(trapped: Path, tmp_path: Path) -> None:
    (file := tmp_path / "ours.txt").write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
    ended = run_in(trapped, *own_python.script(file, "a", "-b"))
    assert (ended.returncode, json.loads(ended.stdout)) == (0, ["a", "-b"])


def test_the_vsperf_that_runs_is_the_one_that_is_started(tmp_path: Path) -> None:
    (package := tmp_path / "vsperf").mkdir()
    (package / "trust").mkdir()
    (package / "__init__.py").touch()
    (copy := package / "trust" / "own_python.py").write_text(Path(own_python.__file__).read_text())
    (package / "says.py").write_text("import sys; print(__name__, sys.argv)")
    spec = spec_from_file_location("copied", copy)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(copied := module_from_spec(spec))
    ended = subprocess.run(
        copied.module("vsperf.says", "a b"), capture_output=True, text=True, check=False
    )
    assert ended.stdout == f"__main__ {[str(package / 'says.py'), 'a b']}\n", ended.stderr


def starts(text: str) -> Iterator[int]:
    """Yield the lines that name an interpreter where a command is made; words of f-strings tell."""
    tree = ast.parse(text)
    told = {
        id(one)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for one in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in told:
            continue
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable":
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for name in node.names if name.name == "executable")
        elif isinstance(node, (ast.List, ast.Tuple, ast.Call, ast.BinOp)):
            yield from (
                one.lineno
                for one in ast.iter_child_nodes(node)
                if isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and INTERPRETER.fullmatch(one.value)
            )


def programs(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of all that is Python, but for the tests."""
    for part in ("vsperf", "tools", "vnfs", "setup.py", "docs"):
        for path in sorted([repository / part, *(repository / part).rglob("*")]):
            if not path.is_file() or path.stat().st_size > 1 << 20:
                continue
            name = str(path.relative_to(repository))
            if path.suffix == ".ipynb":
                cells = json.loads(path.read_text())["cells"]
                code = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
                yield name, "\n".join(code)
            elif path.suffix == ".py" or (
                not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python3")
            ):
                yield name, path.read_text()


def test_nothing_starts_python_but_by_the_one_way(repository: Path) -> None:
    looked_at = dict(programs(repository))
    assert {"vsperf/host/tree.py", "tools/soak", "docs/notebooks/first-look.ipynb"} < {*looked_at}
    found = {name: list(starts(text)) for name, text in looked_at.items()}
    none_wrong(
        f"{name}:{line} starts Python itself, and vsperf.trust.own_python says how"
        for name, lines in found.items()
        for line in lines
        if name not in ALLOWED
    )
    assert all(found[name] for name in ALLOWED), "a reason that is needed no more"


@pytest.mark.parametrize(
    "text",
    [
        "run([sys.executable, '-m', 'x'])",
        "from sys import executable",
        "run(['python3', '-c', 'x'])",
        "run('/usr/bin/python3.12')",
        "PYTHON = FOLDER / 'python'",
    ],
)
def test_each_way_to_start_python_is_found(text: str) -> None:
    assert list(starts(text)) == [1]


def test_what_tells_of_python_is_no_start() -> None:
    assert not list(starts("ok(f'{platform.python_version()} at {sys.executable}')"))
    assert not list(starts("FACTS = {'python': platform.python_version()}"))


def test_scripts_and_pages_start_python_where_no_folder_decides(repository: Path) -> None:
    pages = [
        *sorted((repository / "docs").rglob("*.md")),
        *sorted(path for path in (repository / "docs" / "ci").iterdir() if path.is_file()),
        *(repository / name for name in ("README.md", "Makefile", ".ci/run", "tools/bootstrap")),
        repository / "tools" / "fresh-machine",
    ]
    none_wrong(
        f"{path.relative_to(repository)}:{number} {line.strip()}"
        for path in pages
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if UNSAFE.search(IN_A_CHECKOUT.sub("", line))
    )
