"""By hand: a rate that was not reached is named, and a capture changes no other file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from printed_text import printed

from vsperf.cli.tables import print_table
from vsperf.cli.tgen_view import _table
from vsperf.drivers.generators.tgen import byhand
from vsperf.drivers.generators.tgen.summary import short, stream_rows
from vsperf.errors import ComponentError, RecordingError

SAID = "the rate was not reached: 0 to itself sent"


@pytest.mark.parametrize(
    ("intended", "unsent", "said"),
    [
        (30_000_000, 20_991_104, [f"{SAID} 3.000 Mfps, and 69.97%"]),
        (30_000_000, 30_000, []),
        (0, 0, []),
    ],
)
def test_of_a_stream_that_was_not_sent_whole_it_is_said_how_much_is_missing(
    intended: int, unsent: int, said: list[str]
) -> None:
    stream = {"intended": intended, "unsent": unsent, "sent": 9_000_001, "sending_ns": 3 * 10**9}
    found = short(["0 to itself"], [stream])
    assert [text.partition(" of its")[0] for text in found] == said


def test_flat_out_there_is_no_rate_to_reach() -> None:
    assert short(["0 to 1"], [{"sent": 5, "sending_ns": 10}]) == []


def test_at_80_columns_counters_of_many_streams_stand_in_several_tables() -> None:
    names = [f"{port} to {port ^ 1}" for port in range(8)]
    streams = [
        {"intended": 10**12 + number, "sent": 10**12, "sending_ns": 10**12} for number in range(8)
    ]
    text = printed(print_table, _table("stream", names, stream_rows(streams)), width=80)
    assert [name for name in names if name in text] == names
    assert all(f"{one['intended']:,}" in text for one in streams)
    assert text.count("lost on the way") > 1
    assert max(map(len, text.splitlines())) <= 80


# A capture by hand: tgen writes into its own folder, and the file that a user names is vsperf's.


class Captured:
    """A tgen that captures whatever is asked for, in a folder of its own."""

    def __init__(self, folder: Path, failure: str = "") -> None:
        self.control = folder / "tgen.sock"
        self.failure = failure
        self.paths: list[Path] = []

    def ask(self, verb: str, *_: object, **told: Any) -> dict[str, Any]:
        if verb == "capture":
            self.paths.append(Path(told["path"]))
        if verb == "trial":
            for path in self.paths:
                path.write_bytes(b"frames")
            return {"capture_error": {"message": self.failure}} if self.failure else {}
        return {}


def captured(tgen: Any, *files: Path) -> None:
    byhand.capture(tgen, (), byhand.Stream(), 1, dict(enumerate(files)))


def test_a_second_name_of_another_file_is_replaced_by_a_capture(tmp_path: Path) -> None:
    precious, file, other = (tmp_path / name for name in ("precious", "a.pcap", "b.pcap"))
    precious.write_text("important")
    file.hardlink_to(precious)
    own = tmp_path / "own"
    own.mkdir()
    tgen = Captured(own)
    captured(tgen, file, other)
    assert [path.parent for path in tgen.paths] == [own, own]
    assert file.read_bytes() == other.read_bytes() == b"frames"
    assert precious.read_text() == "important"
    assert list(own.iterdir()) == []


def test_a_capture_that_is_not_complete_changes_no_file(tmp_path: Path) -> None:
    file, own = tmp_path / "a.pcap", tmp_path / "own"
    file.write_text("before")
    own.mkdir()
    with pytest.raises(ComponentError, match="not complete"):
        captured(Captured(own, "No space left on device"), file)
    assert file.read_text() == "before"
    assert [*own.iterdir(), *tmp_path.glob(".*")] == []


def test_a_capture_goes_into_no_pipe_and_nothing_is_sent_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "a.pcap"
    os.mkfifo(pipe)
    tgen = Captured(tmp_path)
    with pytest.raises(RecordingError, match="cannot be written"):
        captured(tgen, pipe)
    assert tgen.paths == []
