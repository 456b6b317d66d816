"""tgen with hugepages: it takes them, gives them back whatever ends it, and has no file of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Require, not_here

from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import ComponentError

pytestmark = pytest.mark.machine

PAGES = 256
RESERVED = Path("/proc/sys/vm/nr_hugepages")
RING = ("net_ring0",)


def free_pages() -> int:
    text = Path("/proc/meminfo").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if "HugePages_Free" in line)


@pytest.fixture(autouse=True)
def _pages(require: Require) -> Iterator[None]:
    """Have enough hugepages for a while; the count is as before afterwards."""
    require("tgen")
    require("hugepages")
    before = int(RESERVED.read_text())
    missing = max(0, PAGES - free_pages())
    if missing:
        RESERVED.write_text(str(before + missing))
    try:
        if free_pages() < PAGES:
            not_here("hugepages", "memory is too scattered for them")
        yield
    finally:
        if missing:
            RESERVED.write_text(str(before))


def files() -> set[Path]:
    return {file for mount in Path("/dev").glob("hugepages*") for file in mount.glob("vsperf-*")}


def wait_for_pages(count: int) -> int:
    deadline = time.monotonic() + 20
    while free_pages() < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return free_pages()


def test_pages_are_taken_without_files_and_given_back() -> None:
    before, names = free_pages(), files()
    with at_hand(RING, Options()) as tgen:
        assert free_pages() < before
        assert files() == names
        sending = Sending("10000", frames=1000)
        found = trial(tgen, directions_between(1, "both"), Stream(), sending, lambda event: None)
        assert found["streams"][0]["distinct"] == 1000
    assert wait_for_pages(before) == before


def test_pages_come_back_from_a_tgen_that_was_killed() -> None:
    before, names = free_pages(), files()
    with pytest.raises(ComponentError), at_hand(RING, Options()) as tgen:
        tgen.process.send_signal(signal.SIGKILL)
        tgen.ask("hello")
    assert wait_for_pages(before) == before
    assert files() == names
