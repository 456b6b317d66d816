"""Paths that are wrong, testbeds that cannot work, and threads that wait."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from real_runs import FIXED, Ended, Place, fixture_calibrations, fixture_place
from vpp_cases import vpp_install

from vsperf.config.flows import host_ip, link_mac
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Library
from vsperf.drivers.vswitches.linux_bridge.netlink import Netlink
from vsperf.drivers.vswitches.vpp.api import DEFINITIONS, Messages, connected
from vsperf.drivers.vswitches.vpp.driver import ANSWER_S
from vsperf.drivers.vswitches.vpp.programs import definition_files, find_programs
from vsperf.engine.run import RunOptions, plan_cases
from vsperf.engine.session import begin
from vsperf.errors import ExitCode
from vsperf.plugins import Plugins
from vsperf.progress import Event, PhaseEntered
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.run import Outcome
from vsperf.records.threads import GENERATOR, SWITCH, ThreadActivity
from vsperf.records.trial import Purpose, Trial

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


# Paths that lead nowhere: the path check stops, and says from the counters where frames ended.

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
Run = Callable[..., tuple[ExitCode, list[str], CaseView]]


@pytest.fixture(name="disturbed")
def fixture_disturbed(place: Place, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a case and does something to its deployment before a phase."""
    monkeypatch.chdir(place.folder)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.cache_for(FIXED)))

    def run(
        phase: str, disturb: Callable[[Path], None], *settings: str
    ) -> tuple[ExitCode, list[str], CaseView]:
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
        code = session.carry_out(emit, RunOptions())
        (case,) = place.records().cases()
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


@pytest.mark.needs("vpp")
def test_missing_ways_of_vpp_are_diagnosed_and_not_searched(disturbed: Run) -> None:
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


@pytest.mark.needs("vpp")
def test_a_removed_route_of_vpp_is_diagnosed_and_not_searched(disturbed: Run) -> None:
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


@pytest.mark.everyday
@pytest.mark.needs("bridges")
def test_an_address_behind_the_wrong_port_of_the_kernels_bridge_is_diagnosed_and_not_searched(
    disturbed: Run,
) -> None:
    def mistell(folder: Path) -> None:
        with Netlink.connected(folder.name) as netlink:
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
    assert not case.trials
    assert case.record is not None
    assert "tgen has no port net_virtio_user0" in case.record.reason
    assert "failed to initialize net_virtio_user0" in case.record.reason


def test_a_port_that_cannot_be_opened_ends_the_case_with_what_the_switch_says(place: Place) -> None:
    ended = place(*FIXED, *NO_DEVICE)
    assert ended.code == 3, ended.err  # it is the testbed that has no such device
    assert ended.phases[-1] == "deploy"
    (case,) = place.records().cases()
    assert not case.trials
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "the switch could not open port phy0" in case.record.reason
    assert "No such device" in case.record.reason


# Testbeds that cannot work: each gets its message before anything is started.

SMOKE = ("run", "phy2phy_smoke")
NOBODY = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=+dac_override",  # so that it can read the program itself, wherever that is
    "--ambient-caps=+dac_override",
)
LABORATORY = """\
testbed:
  name: laboratory
  links:
    phy0: {speed: 10G, switch: "0000:ff:1f.6", generator: net_null0}
    phy1: {speed: 10G, switch: "0000:ff:1f.7", generator: net_null1}
vswitch: {kind: ovs-dpdk}
generator: {kind: tgen}
"""


def refused(place: Place, *settings: str, code: int, testbed: str = "local") -> Ended:
    """Run with these settings and see that nothing was started or stored."""
    ended = place(*SMOKE, f"--testbed={testbed}", *(f"--set={setting}" for setting in settings))
    assert ended.code == code, ended.err
    assert ended.events == []
    assert not [*place.results.glob("*")]
    assert "fix: " in ended.err or "at: --set " in ended.err  # the limit itself says the fix
    return ended


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("vswitch.pmd_cpus=500", "CPU 500 is wanted for pmd"),
        ("generator.cpus=500", "CPU 500 is wanted for generator"),
        ("testbed.hosts.local.cpus=0,500", "names the CPUs 0,500"),
        ("vswitch.pmds=100", "100 CPUs are wanted for pmd"),
        ("vswitch.rxqs=300", "must be at most 256"),
        ("generator.queues=300", "must be at most 16"),
        ("vswitch.rxq_affinity.phy0=0:500", "CPU 500"),
        ("vswitch.memory=64", "vswitch.memory is 64 MB"),
        ("vswitch.pmd_cpus=1-0", "vswitch.pmd_cpus"),
    ],
)
def test_what_the_machine_or_the_switch_does_not_have_is_refused(
    setting: str, words: str, place: Place
) -> None:
    assert words in refused(place, setting, code=2).err


def test_a_device_that_ovs_cannot_take_is_refused(place: Place) -> None:
    ended = refused(
        place,
        "testbed.links.phy0.switch=nonsense0",
        "testbed.links.phy0.generator=net_null0",
        code=2,
    )
    assert "names 'nonsense0' as the switch's device" in ended.err


def test_a_card_that_is_not_there_is_refused(place: Place) -> None:
    ended = refused(
        place,
        "testbed.links.phy0.switch=0000:ff:1f.7",
        "testbed.links.phy0.generator=net_null0",
        code=3,
    )
    assert "there is no NIC at 0000:ff:1f.7" in ended.err


def test_a_card_that_a_testbed_of_the_user_names_is_refused(place: Place) -> None:
    testbeds = place.folder / "conf" / "testbeds"
    testbeds.mkdir(parents=True)
    (testbeds / "laboratory.yaml").write_text(LABORATORY)
    ended = refused(place, code=3, testbed="laboratory")
    assert "there is no NIC at 0000:ff:1f.6" in ended.err


def test_a_place_whose_sockets_would_have_too_long_a_path_is_refused(
    place: Place, tmp_path: Path
) -> None:
    deep = tmp_path / ("deep" * 20)
    ended = place(*SMOKE, VSPERF_RUNTIME=str(deep))
    assert ended.code == 3, ended.err
    assert "too long for sockets" in ended.err
    assert "VSPERF_RUNTIME" in ended.err
    assert ended.events == []
    assert not deep.exists()


def test_more_memory_than_the_machine_has_is_refused_with_numbers(place: Place) -> None:
    ended = refused(place, "vswitch.memory=1048576", code=3)
    assert "1048832 MB of hugepages are needed on node 0" in ended.err


def test_an_installation_that_is_not_there_is_refused(place: Place) -> None:
    ended = place(*SMOKE, "--set=vswitch.install=/no/such/folder")
    assert ended.code == 3, ended.err
    assert "/no/such/folder" in ended.err + ended.out
    assert ended.phases == []


def test_nobody_but_root_may_run_it(place: Place) -> None:
    ended = place(*SMOKE, wrapped=NOBODY, VSPERF_RUNTIME=str(place.runtime.with_name("own")))
    assert ended.code == 3, ended.err
    assert "what makes devices wants root" in ended.err
    assert "fix: run vsperf with sudo" in ended.err
    assert not [*place.results.glob("*")]


# Polling threads are watched from outside: what keeps them from running is in every trial.

ROLES = {SWITCH: "pmd", GENERATOR: "generator"}
LONGER = (
    *FIXED,
    "--set=search.loads=[100kfps]",
    "--set=search.repeats=4",
    "--set=search.duration=1s",
    "--set=trial.drain=200ms",
    "--set=trial.stretch_tolerance=100%",
)
"""Trials that stay valid whatever else runs on the machine."""
GREEDY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("busy", flush=True)
while True:
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
    time.sleep(0.01)
"""
"""Takes a CPU for 50 ms of 60, whatever else would run there: at 100 kfps a ring lasts for 10."""


@contextmanager
def greedy(cpu: int) -> Iterator[None]:
    """Have a program take most of a CPU."""
    with subprocess.Popen(
        [sys.executable, "-c", GREEDY, str(cpu)], stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline() == b"busy\n"
            yield
        finally:
            program.kill()


def by_part(trial: Trial) -> dict[str, ThreadActivity]:
    return {thread.part: thread for thread in trial.threads}


def cpus_of(place: Place) -> dict[str, tuple[int, ...]]:
    (case,) = place.records().cases()
    start = case.start
    assert start is not None
    return start.plan.placement.cpus


def test_every_trial_has_what_each_polling_thread_waited_for(place: Place) -> None:
    assert place(*FIXED).code == 0
    (case,) = place.records().cases()
    cpus = cpus_of(place)
    assert case.trials
    for trial in case.trials:
        found = by_part(trial)
        assert len(trial.threads) == len(found) == 2
        for part, role in ROLES.items():
            assert (found[part].cpu,) == cpus[role]
            assert found[part].delay_ns is not None
            assert found[part].involuntary is not None
    shown = place("show", "latest", "64B", "--all").out
    assert "what kept polling threads from running" in shown
    assert all(f"{part}: {thread.name}" in shown for part, thread in found.items())


def test_a_program_that_takes_the_cpu_of_the_switch_is_seen_in_its_waiting_and_named(
    place: Place,
) -> None:
    run = place.start(*LONGER)
    run.wait_for("PhaseEntered", phase="search")
    (cpu,) = cpus_of(place)[ROLES[SWITCH]]
    with greedy(cpu):
        ended_ones = (event for event in run.events() if event["event"] == "TrialFinished")
        finished = sum(event["purpose"] == Purpose.SEARCH for event in ended_ones)
        run.wait_for("TrialFinished", finished + 2, purpose=Purpose.SEARCH)
    ended = run.end()
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    trial = [trial for trial in case.trials if trial.purpose is Purpose.SEARCH][finished + 1]
    thread = by_part(trial)[SWITCH]
    assert thread.delay_ns is not None
    assert 2 * thread.delay_ns > trial.elapsed_ns, "more than any fair neighbour would take"
    assert thread.involuntary
    assert trial.lost_frames > 0
    assert Flag.KEPT_FROM_RUNNING in trial.flags
    assert trial.held_up == (thread,)
    assert (
        f"{Flag.KEPT_FROM_RUNNING.value}: switch {thread.name} for"
        in place("show", "latest", "64B", "--all").out
    )
