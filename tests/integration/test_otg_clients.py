"""Clients of the OTG model against `vsperf otg serve`, and a run by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Require, not_here
from otg_clients_made import CLIENTS, CannotBeHadError, command
from real_runs import Place, fixture_calibrations, fixture_place, trials_at
from scapy.utils import RawPcapReader

from vsperf import __version__
from vsperf.records.flags import Flag

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# Clients of the OTG model, old and new, in Python and in Go, against `vsperf otg serve`.

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


# A run whose generator is a server of the OTG model: our own, private, on the taps of a bridge.


def test_a_bridge_is_measured_by_it_and_every_trial_accounted_for(
    place: Place, require: Callable[[str], None]
) -> None:
    for part in ("bridges", "tgen"):
        require(part)
    settings = (
        "--set=generator.kind=otg",
        "--set=generator.server=start",
        "--set=trial.stretch_tolerance=100%",  # a busy machine may be late
    )
    trials = trials_at(
        place, "2kfps, 4kfps", "phy2phy_tput", "--set=vswitch.kind=linux-bridge", *settings
    )
    assert [trial.intended_frames for trial in trials] == [2 * 1000, 2 * 2000]
    for trial in trials:
        assert trial.unexplained_frames == 0
        for way in trial.directions:
            assert 0 < way.good_frames <= way.sent_frames <= way.intended_frames
        assert Flag.UNTIMED in trial.flags
    (case,) = place.records().cases()
    assert case.record is not None and case.record.conditions is not None
    told = case.record.conditions.generator
    assert str(told["application"]).startswith("vsperf ")
    assert told["ports"] == {"phy0": "phy0", "phy1": "phy1"}
