"""What can be trusted: nobody else made it, and nobody else can change it or what leads to it."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacker import NOBODY, Town, as_nobody, town

from vsperf import trusted
from vsperf.trusted import DistrustedError

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


@pytest.mark.parametrize("make", UNTRUSTED)
def test_what_is_no_private_file_of_modest_size_is_not_read(
    place: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)  # paths of sockets are short
    make(place / "file")
    with pytest.raises(OSError, match="file"):
        trusted.read(place / "file")


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


def test_files_that_do_not_stay_are_made_where_nobody_can_exchange_them(
    here: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here.tmp))
    assert trusted.temporary_folder() == str(here.tmp)
    theirs = here.tmp / "theirs"
    as_nobody(theirs.mkdir)
    monkeypatch.setattr(tempfile, "tempdir", str(theirs))
    assert trusted.temporary_folder() in ("/tmp", "/var/tmp")


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
