"""Clients of the OTG model, old and new, in Python and in Go, against `vsperf otg serve`.

Each does the same (`tests/otg_clients`), with its own check of versions, and tells what it was
told.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Require, not_here
from otg_clients_made import CLIENTS, CannotBeHadError, command
from scapy.utils import RawPcapReader

from vsperf import __version__

pytestmark = pytest.mark.machine

FRAMES, SIZE, FCS = 100, 128, 4
SOURCE_IP = slice(26, 30)


@pytest.fixture(name="url", scope="module")
def fixture_url(require: Require) -> Iterator[str]:
    """Where a server is, started as a user does it; its ports give back what they get."""
    require("tgen")
    argv = ["otg", "serve", "--listen", "127.0.0.1:0", "--no-hugepages"]
    for port in ("p1=net_ring0", "p2=net_ring1"):
        argv += ["--port", port]
    with subprocess.Popen(
        [sys.executable, "-m", "vsperf", *argv],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[2].rstrip(",")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            assert process.returncode == 0
        finally:
            process.kill()


def told_by(client: str, url: str, file: Path) -> dict[str, Any]:
    """Run the script of a client; return what it says of the answers."""
    try:
        argv = command(client)
    except CannotBeHadError as error:
        not_here("otg-clients", f"{client}: {error}")
    done = subprocess.run([*argv, url, str(file)], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_any_version_1_can_do_all_that_the_page_says(
    client: str, url: str, tmp_path: Path, require: Require
) -> None:
    require("otg-clients")
    file = tmp_path / "seen.pcap"
    told = told_by(client, url, file)
    assert client.endswith((told["client"], "of these tests"))
    assert told["server"] == f"vsperf {__version__}"
    assert told["refused"] == {
        "code": 400,
        "kind": "validation",
        "errors": ["devices: not supported"],
    }
    assert told["kept"] == ["counted", "endless"]
    count = {"frames_tx": FRAMES, "frames_rx": FRAMES}
    count |= {"bytes_tx": FRAMES * SIZE, "bytes_rx": FRAMES * SIZE}
    assert told["counted"] == {
        **{"name": "counted", "port_tx": "p1", "port_rx": "p1", "transmit": "stopped"},
        **{**count, "loss": 0, "rates": [0, 0]},
    }
    assert told["ports"] == [
        {
            **{"name": name, "location": name, "link": "up", "capture": capture},
            **{**counters, "rates": [0, 0, 0, 0]},
        }
        for name, capture, counters in (
            ("p1", "started", count),
            ("p2", "stopped", dict.fromkeys(count, 0)),
        )
    ]
    endless = told["endless"]
    assert endless["transmit"] == "stopped"
    assert endless["frames_rx"] == endless["frames_tx"] > 0
    with RawPcapReader(str(file)) as reader:
        frames = [frame for frame, _ in reader]
    assert [len(frame) for frame in frames] == [SIZE - FCS] * FRAMES
    assert len({frame[SOURCE_IP] for frame in frames}) == 4
