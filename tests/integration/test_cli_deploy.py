"""`vsperf deploy` and `vsperf shell` with the real switch and real VNFs behind it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Shell, fixture_vsperf
from real_runs import Place, Run, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.host.dead import standing_deployments
from vsperf.host.workspace import workspace

__all__ = ["fixture_calibrations", "fixture_place", "fixture_vsperf"]

PROCESS = ("deploy", "pvp_smoke", "--vnf", "process")
GUEST = ("deploy", "pvp_smoke", "--set", "vnf.accelerator=tcg")


def standing(run: Run) -> Run:
    """Wait until a deployment is up."""
    run.wait_until(lambda: "takes it down" in run.err.read_text())
    return run


@pytest.mark.machine
def test_it_says_what_runs_and_goes_with_ctrl_c(place: Place) -> None:
    run = standing(place.start(*PROCESS))
    assert set(place.programs().values()) >= {"ovs-vswitchd", "vm1"}
    assert "tgen" not in place.programs().values()
    out = run.out.read_text()
    assert "phy0 ──┤ ovs-dpdk ├── 0[vm1]1 ──┤ ovs-dpdk ├── phy1" in out
    for wanted in ("switch  ovs-dpdk", "vm1     process", "vm1_1  52:54:00:00:01:01", "dump-flows"):
        assert wanted in out
    for link in ("phy0", "phy1"):
        assert re.search(rf"net_virtio_user\d,path=\S+/{link}\.sock,server=1", out)
    run.send(signal.SIGINT)
    assert run.end().code == ExitCode.OK
    assert not place.results.exists()


@pytest.mark.machine
def test_a_part_that_dies_ends_it_with_the_reason(place: Place) -> None:
    run = standing(place.start(*PROCESS))
    place.signal("vm1", signal.SIGKILL)
    ended = run.end()
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "the deployment no longer works" in ended.err
    assert "vm1" in ended.err
    assert "SIGKILL" in ended.err


@pytest.mark.machine
def test_what_is_kept_stays_until_it_is_cleaned(place: Place) -> None:
    ended = place(*PROCESS, "--keep", "--json")
    assert ended.code == ExitCode.OK
    said = json.loads(ended.out)
    assert [part["name"] for part in said["parts"]] == ["switch", "vm1"]
    assert [plug["link"] for plug in said["plugs"]] == ["phy0", "phy1"]
    assert said["nics"][0]["address"].startswith(said["folder"])
    assert set(place.programs().values()) >= {"ovs-vswitchd", "vm1"}
    second = place(*PROCESS)
    assert second.code == ExitCode.NOT_READY
    assert "vsperf clean" in second.err
    assert place("clean").code == ExitCode.OK


@pytest.mark.machine
def test_with_the_generator_also_what_begins_in_vnfs_can_stand(place: Place) -> None:
    refused = place("deploy", "v2v_tput", "--vnf", "process", "--set", "traffic.frame_size=64")
    assert refused.code == ExitCode.BAD_INPUT
    assert "--with-generator" in refused.err
    run = standing(place.start("deploy", "v2v_tput", "--vnf", "process", "--with-generator"))
    assert "v2v_tput has 3 cases; not deployed: v2v_tput-512B" in run.err.read_text()
    assert "tgen" in place.programs().values()
    assert "generator ── 0[vm1]1" in run.out.read_text()
    assert "your generator" not in run.out.read_text()
    run.send(signal.SIGTERM)
    assert run.end().code == ExitCode.OK


@pytest.mark.machine
@pytest.mark.needs("guests")
def test_a_vnf_has_a_shell_while_it_stands(place: Place) -> None:
    run = standing(place.start(*GUEST))
    kernel = place("shell", "vm1", "uname", "-s")
    assert (kernel.code, kernel.out) == (0, "Linux\n")
    assert place("shell", "vm1", "exit 7").code == 7
    typed = subprocess.run(
        [sys.executable, "-m", "vsperf", "shell", "vm1"],
        input="echo typed; ps | grep -c testpmd",
        capture_output=True,
        text=True,
        env=place.environ,
        check=False,
        timeout=30,
    )
    assert (typed.returncode, typed.stdout.splitlines()[0]) == (0, "typed")
    other = place("shell", "vm2", "true")
    assert other.code == ExitCode.BAD_INPUT
    assert "has vm1" in other.err
    run.send(signal.SIGINT)
    assert run.end().code == ExitCode.OK
    gone = place("shell", "vm1", "true")
    assert gone.code == ExitCode.BAD_INPUT
    assert "no deployment is up" in gone.err


@pytest.mark.everyday
def test_a_model_cannot_stand(vsperf: Shell) -> None:
    ended = vsperf("deploy", "phy2phy_smoke", "--testbed", "sim")
    assert ended.code == ExitCode.BAD_INPUT
    assert "a model runs inside vsperf itself" in ended.err


@pytest.mark.everyday
def test_without_a_deployment_there_is_no_shell(vsperf: Shell) -> None:
    ended = vsperf("shell", "vm1", "true")
    assert ended.code == ExitCode.BAD_INPUT
    assert "no deployment is up" in ended.err


@pytest.mark.everyday
def test_of_several_deployments_one_has_to_be_named(vsperf: Shell) -> None:
    root = Path(os.environ["VSPERF_RUNTIME"])
    with workspace("first", root) as one, workspace("second", root) as two:
        listeners = [socket.socket(socket.AF_UNIX) for _ in (one, two)]
        for listener, place in zip(listeners, (one, two), strict=True):
            listener.bind(str(place.folder / "vm1.shell"))
        assert [found.name for found in standing_deployments()] == sorted((one.name, two.name))
        ended = vsperf("shell", "vm1", "true")
        assert ended.code == ExitCode.BAD_INPUT
        assert "(first)" in ended.err
        assert "--deployment" in ended.err
        unknown = vsperf("shell", "--deployment", "third", "vm1", "true")
        assert "there is no deployment 'third'" in unknown.err
        named = vsperf("shell", "--deployment", "second", "vm1", "true")
        assert "cannot connect" in named.err  # nobody listens at the socket
        for listener in listeners:
            listener.close()
