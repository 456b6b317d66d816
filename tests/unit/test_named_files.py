"""A file that a user names is there whole or not at all, and nothing else is written to."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from vsperf import own_python
from vsperf.named_files import written, written_together
from vsperf.trusted import DistrustedError

TO_STDOUT = """
from pathlib import Path
from vsperf.named_files import written
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
