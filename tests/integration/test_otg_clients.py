"""Clients of the OTG model against `vsperf otg serve`, and a run by it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Require, not_here
from real_runs import Place, fixture_calibrations, fixture_place, trials_at
from scapy.utils import RawPcapReader

from vsperf import __version__
from vsperf.records.flags import Flag

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# Clients of the OTG model, old and new, in Python and in Go, against `vsperf otg serve`.

FRAMES, SIZE, FCS = 100, 128, 4
SOURCE_IP = slice(26, 30)
HERE = Path(__file__).parents[1]
SOURCES = HERE / "otg_clients"
MADE = HERE.parent / "build" / "otg-clients"
OF_THE_TESTS = "snappi of these tests"
"""The newest one in Python: what the tests themselves are installed with."""
CLIENTS = ("snappi-1.0.0", "snappi-1.40.0", OF_THE_TESTS, "gosnappi-1.58.0", "gosnappi-1.61.0")
"""The oldest and the newest that packages have of major version 1, and some that once refused."""
LAST_LINES = 5


class CannotBeHadError(Exception):
    """Why a client is not to be had on this machine."""


def command(client: str) -> tuple[str, ...]:
    """Return what starts the script of a client; raises `CannotBeHadError`."""
    script = str(SOURCES / "client.py")
    if client == OF_THE_TESTS:
        return (sys.executable, script)
    MADE.mkdir(parents=True, exist_ok=True)
    with (MADE / f"{client}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other lane may be at it
        if client.startswith("gosnappi"):
            return (str(_built(client)),)
        return (str(_installed(client)), script)


def _installed(client: str) -> Path:
    """Return the Python that has a client, installed if it was not."""
    folder, pins = MADE / client, SOURCES / f"{client}.txt"
    done = folder / "done.txt"
    python = folder / "bin" / "python"
    if not done.exists() or done.read_bytes() != pins.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)])
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        _call([*pip, "--only-binary=:all:", "--require-hashes", "--requirement", str(pins)])
        shutil.copyfile(pins, done)
    return python


def _built(client: str) -> Path:
    """Return the program of a client in Go, up to date; go itself sees what has changed."""
    if shutil.which("go") is None:
        raise CannotBeHadError("the program go is not installed")
    folder = MADE / client
    folder.mkdir(exist_ok=True)
    for name, source in (("go.mod", f"{client}.mod"), ("go.sum", f"{client}.sum")):
        shutil.copyfile(SOURCES / source, folder / name)
    shutil.copyfile(SOURCES / "main.go", folder / "main.go")
    argv = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", "client", "."]
    _call(argv, folder)
    return folder / "client"


def _call(argv: list[str], folder: Path | None = None) -> None:
    own = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run(argv, cwd=folder, env=own, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        last = " / ".join((done.stdout + done.stderr).splitlines()[-LAST_LINES:])
        raise CannotBeHadError(f"{Path(argv[0]).name} ended with {done.returncode}: {last}")


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
@pytest.mark.needs("otg-clients")
def test_a_client_of_any_version_1_can_do_all_that_the_page_says(
    client: str, url: str, tmp_path: Path
) -> None:
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


@pytest.mark.needs("bridges", "tgen")
def test_a_bridge_is_measured_by_it_and_every_trial_accounted_for(place: Place) -> None:
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
