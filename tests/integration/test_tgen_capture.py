"""What a capture may write to, and what it tells when it cannot."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cable import VETH, tgen_apart
from conftest import Require
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.errors import ComponentError
from vsperf.trafficgens.tgen.byhand import Stream, capture, ways_between
from vsperf.trafficgens.tgen.client import TgenError
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

WAYS = ways_between(1, "both")


def test_a_new_file_is_its_owners_alone_whatever_the_mask(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "seen.pcap"
    capture(ring, WAYS, Stream(64), 4, {0: file})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size == 24 + 8 * (16 + 60)


def test_a_refused_capture_leaves_the_file_as_it_was(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_text("important")
    with pytest.raises(TgenError) as refused:
        ring.ask("capture", port=0, path=str(file), frames=8193)
    assert refused.value.path == "frames"
    ring.ask("capture", port=0, path=str(file), frames=8192)
    assert file.read_text() == "important"  # until a trial has ended


def test_a_shorter_capture_leaves_nothing_of_a_longer_one(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "seen.pcap"
    for frames in (20, 3):
        capture(ring, WAYS, Stream(64), frames, {0: file})
        assert file.stat().st_size == 24 + 2 * frames * (16 + 60)


def test_what_is_no_file_of_its_own_is_refused(ring: Tgen, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("important")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path, why in ((link, "symbolic link"), (pipe, "cannot"), (Path("/dev/null"), "no file")):
        with pytest.raises(TgenError, match=why):
            ring.ask("capture", port=0, path=str(path), frames=1)
    assert target.read_text() == "important"


def test_a_full_disk_is_told_and_costs_no_trial(tmp_path: Path, require: Require) -> None:
    require("tgen")
    require("namespaces")
    small = tmp_path / "small"
    small.mkdir()
    prepare = f"{VETH}mount -t tmpfs -o size=32k none '{small}'\n"
    with tgen_apart(tmp_path, prepare=prepare) as tgen:
        tgen.ports()
        ways = ways_between(2, "forward")
        with pytest.raises(ComponentError) as told:
            capture(tgen, ways, Stream(1518), 200, {0: small / "seen.pcap"})
        assert "No space left" in (told.value.problems[0].why or "")
        found = tgen.ask("trial", 30, frames=100)
    assert found["streams"][0]["distinct"] == 100
    assert "capture_error" not in found
