"""Taps of the kernel under VNFs: made, removed whatever happens, and measured through."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from ovs_cases import ovs_case
from places import PLACEMENT
from real_runs import Place, fixture_calibrations, fixture_place, trials_at

from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.running import SWITCH
from vsperf.errors import NotReadyError
from vsperf.host.dead import dead_deployments
from vsperf.host.taps import tap
from vsperf.host.tuntap import is_there, make_tap, remove_tap
from vsperf.host.undo import BRIDGE_DEVICES
from vsperf.host.workspace import Workspace, workspace
from vsperf.records.flags import Flag
from vsperf.records.run import Placeholder

__all__ = ["fixture_calibrations", "fixture_place"]
LINKS = Path("/sys/class/net")
KILLED = """
import os, pathlib, signal, sys
from vsperf.host.taps import tap
from vsperf.host.workspace import workspace
from vsperf.records.run import Placeholder
with workspace("a run", pathlib.Path(sys.argv[1])) as place:
    name = place.fill(f"{Placeholder.TAP}-1-0")
    with tap(name, place, mtu=1500, several_queues=sys.argv[2] == "several"):
        print(name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""
UNEXPLAINED = 10
"""Frames in a thousand: counters are read a moment before and after, and the machine is busy."""


@pytest.fixture(name="taps", autouse=True)
def fixture_taps(require: Callable[[str], None]) -> None:
    require("taps")


@pytest.fixture(name="room")
def fixture_room(tmp_path: Path) -> Iterator[Workspace]:
    with workspace("a test of taps", tmp_path / "run") as made:
        yield made
    assert made.left == ()


@contextmanager
def held(name: str, *, several: bool) -> Iterator[None]:
    """Have a tap in use by a program."""
    script = (
        "import fcntl,os,sys;from vsperf.host.tuntap import *;"
        "kind=IFF_TAP|IFF_NO_PI|(IFF_MULTI_QUEUE if sys.argv[2]=='several' else 0);"
        "held=os.open(DEVICE,os.O_RDWR);"
        "fcntl.ioctl(held,TUNSETIFF,FLAGS.pack(sys.argv[1].encode(),kind));"
        "print('held',flush=True);sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script, name, "several" if several else "one"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stdout.readline() == b"held\n"
        yield


@pytest.mark.parametrize("several", [False, True])
def test_a_tap_is_up_and_silent_and_gone_afterwards(room: Workspace, several: bool) -> None:
    name = room.fill(f"{Placeholder.TAP}-1-0")
    with tap(name, room, mtu=2000, several_queues=several):
        folder = LINKS / name
        assert int((folder / "flags").read_text(), 0) & 0x81 == 0x81  # up, and no ARP
        assert int((folder / "mtu").read_text()) == 2000
        assert (folder / "ifalias").read_text().strip() == room.name
        quiet = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        assert not quiet.exists() or quiet.read_text().strip() == "1"
    assert not is_there(name)


@pytest.mark.parametrize("several", [False, True])
def test_a_tap_is_removed_once_the_program_that_holds_it_has_ended(
    room: Workspace, several: bool
) -> None:
    name = room.fill(f"{Placeholder.TAP}-1-0")
    with ExitStack() as stack:
        stack.enter_context(tap(name, room, mtu=1500, several_queues=several))
        with held(name, several=several):
            if not several:
                with pytest.raises(OSError) as refused:
                    remove_tap(name, patience_s=0.05)
                assert refused.value.errno == errno.EBUSY
            assert is_there(name)
    assert not is_there(name)


def test_a_tap_that_is_not_there_is_no_trouble() -> None:
    remove_tap("vspffffff-1-0")


def test_a_name_that_is_taken_is_refused_with_what_helps(room: Workspace) -> None:
    name = room.fill(f"{Placeholder.TAP}-1-0")
    make_tap(name, mtu=1500, several_queues=False, label="")
    with (
        pytest.raises(NotReadyError, match=name) as refused,
        tap(name, room, mtu=1500, several_queues=False),
    ):
        pass
    assert "doctor" in str(refused.value.problems[0].fix)


@pytest.mark.everyday
@pytest.mark.parametrize("queues", ["one", "several"])
def test_the_tap_of_a_killed_run_is_removed_by_cleaning(tmp_path: Path, queues: str) -> None:
    root = tmp_path / "run"
    argv = [sys.executable, "-c", KILLED, str(root), queues]
    killed = subprocess.run(argv, capture_output=True, text=True, check=False)
    name = killed.stdout.strip()
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert is_there(name)
    (dead,) = dead_deployments((root,))
    assert any(name in step for step in dead.steps())
    assert dead.take_down() == ()
    assert not is_there(name)


@pytest.mark.machine
@pytest.mark.needs("guests")
def test_frames_pass_both_ways_through_a_guest_on_taps_and_are_accounted_for(place: Place) -> None:
    """At a load that the guest bears, and at one where its taps may run full."""
    settings = ("--set=vswitch.vnf_ports=tap", "--set=vnf.accelerator=tcg")
    trials = trials_at(place, "2kfps, 50kfps", "pvp_tput", *settings)
    assert [trial.load_fps for trial in trials] == [2_000, 50_000]
    for trial in trials:
        unexplained = trial.unexplained_frames
        assert all(way.good_frames > 0 for way in trial.directions)
        assert not any(way.corrupted_frames or way.duplicate_frames for way in trial.directions)
        assert all(nic.received_frames > 0 for vnf in trial.vnfs for nic in vnf.nics)
        closed = unexplained is not None and abs(unexplained) * 1000 <= UNEXPLAINED * (
            trial.sent_frames
        )
        assert closed or (trial is not trials[0] and Flag.UNEXPLAINED in trial.flags)


BESIDE = ("unshare", "--net", "sh", "-c", 'ip tuntap add ovs-netdev mode tap && exec "$@"', "sh")
"""In a network where another Open vSwitch has made its device."""


@pytest.mark.machine
@pytest.mark.needs("guests", "ovs-dpdk", "namespaces")
def test_taps_beside_another_open_vswitch_are_refused_before_anything_starts(place: Place) -> None:
    tapped = ("run", "pvp_tput", "--set=vswitch.vnf_ports=tap")
    ended = place(*tapped, wrapped=BESIDE)
    assert ended.code == 3, ended.err
    assert "another Open vSwitch has the network device ovs-netdev" in ended.said
    assert "vm1_0, vm1_1" in ended.said
    assert "systemctl stop openvswitch-switch" in ended.said
    assert not place.results.exists()


@pytest.mark.machine
@pytest.mark.needs("ovs-dpdk")
def test_a_switch_that_was_killed_in_the_network_of_the_host_leaves_no_device_there() -> None:
    case = ovs_case(
        {"vnf_ports": "tap", "hugepages": False},
        topology={"name": "pvp", "paths": [("phy0", "vm1", "phy1")]},
    )
    there = [name for name in BRIDGE_DEVICES if is_there(name)]
    with workspace("a test of taps") as room, ExitStack() as stack:
        for nic in range(2):
            name = room.fill(f"{Placeholder.TAP}-1-{nic}")
            stack.enter_context(tap(name, room, mtu=1500, several_queues=False))
        driver = OvsDpdk()
        plan = driver.plan(case, PLACEMENT)
        running = stack.enter_context(driver.start(case, plan, PLACEMENT, room))
        assert all(is_there(name) for name in BRIDGE_DEVICES)
        running.daemons[SWITCH].process.kill()
    assert room.left == ()
    assert [name for name in BRIDGE_DEVICES if is_there(name)] == there
