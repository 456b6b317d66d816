"""Paths that lead nowhere: the path check stops, and says from the counters where frames ended.

The runs go on in this process, so that something can be changed exactly between two phases.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place
from vpp_cases import vpp_install

from vsperf.engine.run import Manner, plan_cases
from vsperf.engine.session import begin
from vsperf.errors import ExitCode
from vsperf.events import Event, PhaseEntered
from vsperf.plugins import Plugins
from vsperf.record.run import Outcome
from vsperf.record.trial import Purpose
from vsperf.spec.flows import host_ip, link_mac
from vsperf.spec.loader import Request, load
from vsperf.spec.lookup import Library
from vsperf.store.reader import StoredCase
from vsperf.vswitches.linux_bridge.netlink import connected as netlink_of
from vsperf.vswitches.vpp.api import DEFINITIONS, Messages, connected
from vsperf.vswitches.vpp.bringup import ANSWER_S
from vsperf.vswitches.vpp.programs import definition_files, find_programs

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

SETTINGS = (
    *(word.removeprefix("--set=") for word in FIXED if word.startswith("--set=")),
    "trial.drain=500ms",
)
"""Counts are told to the frame, and who has some at the end may not run for a while."""
NO_DEVICE = (
    "--set=testbed.links.phy0.switch=net_af_packet0,iface=nowhere0",
    "--set=testbed.links.phy0.generator=net_null0",
)
"""A port of the switch on a device that does not exist."""
Run = Callable[..., tuple[ExitCode, list[str], StoredCase]]


@pytest.fixture(name="disturbed")
def fixture_disturbed(place: Place, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a case and does something to its deployment before a phase."""
    monkeypatch.chdir(place.folder)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.cache_for(FIXED)))

    def run(
        phase: str, disturb: Callable[[Path], None], *settings: str
    ) -> tuple[ExitCode, list[str], StoredCase]:
        plugins, phases = Plugins.load(), []
        request = Request(("phy2phy_smoke",), sets=(*SETTINGS, *settings))
        loaded = load(request, Library.find(place.environ, place.folder), plugins.specs())
        planned = plan_cases(loaded.cases, plugins)

        def emit(event: Event) -> None:
            if isinstance(event, PhaseEntered):
                phases.append(event.phase)
                if event.phase == phase:
                    (folder,) = (path.parent for path in place.runtime.glob("vsperf-*/owner.json"))
                    disturb(folder)

        session = begin(loaded, planned, place.results, (), plugins)
        code = session.carry_out(emit, Manner())
        (case,) = place.records().cases
        return code, phases, case

    return run


def rules(*lines: str) -> Callable[[Path], None]:
    """Replace all rules of the switch."""

    def replace(folder: Path) -> None:
        (bridge,) = folder.glob("*.mgmt")
        argv = ("ovs-ofctl", "-O", "OpenFlow14", "replace-flows", f"unix:{bridge}", "-")
        subprocess.run(argv, input="\n".join(lines), text=True, check=True, capture_output=True)

    return replace


@pytest.mark.parametrize(
    ("lines", "stories"),
    [
        (
            (),
            (
                "phy0 to phy1: 100 frames sent, 0 arrived",
                "the switch took frames from phy0 and gave none to phy1",
                "phy0 took 100 and gave 0",
            ),
        ),
        (
            ("in_port=1,actions=in_port", "in_port=2,actions=in_port"),
            (
                "phy1 to phy0: 100 frames sent, 0 arrived",
                "the switch gave frames to phy1, and none of them arrived as one from phy0",
                "phy0 took 100 and gave 100, phy1 took 100 and gave 100",
            ),
        ),
        (
            ("in_port=1,actions=output:2", "in_port=2,actions=drop"),
            (
                "phy0 to phy1: 100 frames sent, ",  # on a busy machine some arrive too late
                "the switch took frames from phy1 and gave none to phy0",
                "phy0 took 100 and gave 0, phy1 took 100 and gave 100",
            ),
        ),
    ],
    ids=["no rules", "back to the sender", "one way only"],
)
def test_wrong_rules_are_diagnosed_and_not_searched(
    lines: tuple[str, ...], stories: tuple[str, ...], disturbed: Run
) -> None:
    code, phases, case = disturbed("check the path", rules(*lines))
    assert code is ExitCode.COMPONENT_FAILED
    assert phases[-1] == "check the path"
    assert {trial.purpose for trial in case.trials} == {Purpose.PATH_CHECK}
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "the path is broken" in case.record.reason
    for story in stories:
        assert story in case.record.reason


def test_missing_ways_of_vpp_are_diagnosed_and_not_searched(
    disturbed: Run, require: Callable[[str], None]
) -> None:
    require("vpp")
    messages = Messages(definition_files(find_programs(vpp_install()), DEFINITIONS))

    def disconnect(folder: Path) -> None:
        with connected(folder / "api.sock", messages, ANSWER_S) as api:
            for number in (1, 2):
                fields = {"rx_sw_if_index": number, "tx_sw_if_index": 0, "enable": False}
                api.call("sw_interface_set_l2_xconnect", fields)

    switch = ("vswitch.kind=vpp", f"vswitch.install={vpp_install()}")
    code, phases, case = disturbed("check the path", disconnect, *switch)
    assert code is ExitCode.COMPONENT_FAILED
    assert phases[-1] == "check the path"
    assert case.record is not None
    assert "phy0 to phy1: 100 frames sent, 0 arrived" in case.record.reason
    assert "the switch took frames from phy0 and gave none to phy1" in case.record.reason
    assert "phy0 took 100 and gave 0, phy1 took 100 and gave 0" in case.record.reason


def test_a_removed_route_of_vpp_is_diagnosed_and_not_searched(
    disturbed: Run, require: Callable[[str], None]
) -> None:
    require("vpp")
    messages = Messages(definition_files(find_programs(vpp_install()), DEFINITIONS))

    def remove(folder: Path) -> None:
        route = {"table_id": 1, "prefix": f"{host_ip(1, 0)}/16", "n_paths": 0}
        with connected(folder / "api.sock", messages, ANSWER_S) as api:
            api.call("ip_route_add_del", {"is_add": False, "route": route})

    switch = ("vswitch.kind=vpp", f"vswitch.install={vpp_install()}", "vswitch.forwarding=ip4")
    code, phases, case = disturbed("check the path", remove, *switch)
    assert code is ExitCode.COMPONENT_FAILED
    assert phases[-1] == "check the path"
    assert case.record is not None
    assert "phy0 to phy1: 100 frames sent, 0 arrived" in case.record.reason
    assert "the switch took frames from phy0 and gave none to phy1" in case.record.reason


def test_an_address_behind_the_wrong_port_of_the_kernels_bridge_is_diagnosed_and_not_searched(
    disturbed: Run, require: Callable[[str], None]
) -> None:
    require("bridges")

    def mistell(folder: Path) -> None:
        with netlink_of(folder.name) as netlink:
            found = netlink.devices().items()
            first, second = sorted(name for name, device in found if device.master is not None)
            netlink.forget(second, [link_mac(1)])
            netlink.know(first, [link_mac(1)])

    switch = ("vswitch.kind=linux-bridge", "vswitch.flows=l2")
    code, phases, case = disturbed("check the path", mistell, *switch)
    assert code is ExitCode.COMPONENT_FAILED
    assert phases[-1] == "check the path"
    assert {trial.purpose for trial in case.trials} == {Purpose.PATH_CHECK}
    assert case.record is not None
    # A tap may not take all of them in time on a busy machine.
    assert re.search(r"phy0 to phy1: \d+( of 100)? frames sent, 0 arrived", case.record.reason)
    assert "the switch took frames from phy0 and gave none to phy1" in case.record.reason


def test_a_port_whose_socket_is_taken_ends_the_case_with_what_the_generator_says(
    disturbed: Run,
) -> None:
    def take(folder: Path) -> None:
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(str(folder / "phy0.sock"))

    code, phases, case = disturbed("deploy", take)
    assert code is ExitCode.COMPONENT_FAILED
    assert phases[-1] == "deploy"
    assert case.trials == ()
    assert case.record is not None
    assert "tgen has no port net_virtio_user0" in case.record.reason
    assert "failed to initialize net_virtio_user0" in case.record.reason


def test_a_port_that_cannot_be_opened_ends_the_case_with_what_the_switch_says(
    place: Place,
) -> None:
    ended = place(*FIXED, *NO_DEVICE)
    assert ended.code == 3, ended.err  # it is the testbed that has no such device
    assert ended.phases[-1] == "deploy"
    (case,) = place.records().cases
    assert case.trials == ()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "the switch could not open port phy0" in case.record.reason
    assert "No such device" in case.record.reason
