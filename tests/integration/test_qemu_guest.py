"""Real guests behind the real OVS: they forward, count, say why they failed, and leave nothing."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import switch_trees
from kept import Kept, State, keeping
from ovs_cases import rules_in
from ovs_traffic import generator, send, wait_until
from places import hugepages, room
from qemu_cases import PVP, PVVP, placement_of, qemu_case, qemu_spec
from wires import wires_of

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen.byhand import Sending
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.vnfs.qemu.driver import Qemu, QemuVnfs
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.qemu.host import PROGRAM
from vsperf.qemu.image import find_image
from vsperf.qemu.kvm import Probe
from vsperf.records.run import Endpoint, Placeholder
from vsperf.records.switch import VnfCounters

pytestmark = pytest.mark.machine

SLOWLY = Sending(rate_fps="1000", frames=1000, in_flight=16, quiet_ns=2_000_000_000)
"""A guest may stand still for a second and loses nothing: its rings have room for 256 frames, and
for those that do not come in a tenth of a second no more than 16 others are sent; at the end it is
waited for."""
EMULATED = {"accelerator": "tcg"}
HANGS = "rdinit=/nothing panic=0"
"""The kernel finds no first program, and stays as it is."""
PATIENCE_S = 60.0
"""With a guest that is emulated, and may have to share a CPU."""


@dataclass
class Chain:
    """A switch with VNFs behind it."""

    vnfs: QemuVnfs
    switch: RunningOvs
    endpoints: tuple[Endpoint, ...]
    place: Workspace

    @property
    def pid(self) -> int:
        """The process of the first VNF."""
        return self.vnfs.vnfs[0].program.pid

    def failure(self) -> str | None:
        """Return what fails, once something does."""
        deadline = time.monotonic() + PATIENCE_S
        while (why := self.vnfs.failure()) is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return why


Sent = tuple[Chain, Tgen]


@contextmanager
def plugged_in(case: CaseSpec) -> Iterator[Chain]:
    """Start the VNFs of a case and the switch, and do not wait for the guests."""
    placement = placement_of(case)
    plan = OvsDpdk().plan(case, placement)
    with (
        room("a test of guests") as place,
        Qemu().start(case, plan.wires, placement, place) as vnfs,
        OvsDpdk().start(case, plan, placement, place) as switch,
    ):
        yield Chain(vnfs, switch, plan.endpoints, place)


@contextmanager
def forwarding(case: CaseSpec) -> Iterator[Chain]:
    """Start the VNFs of a case and the switch, and wait until all of them forward."""
    with plugged_in(case) as chain:
        chain.vnfs.await_forwarding()
        yield chain


@pytest.fixture(scope="module", autouse=True)
def _needs_guests(require: Callable[[str], None]) -> Iterator[None]:
    require("ovs-dpdk")
    require("guests")
    with hugepages():
        yield


@contextmanager
def sending(case: CaseSpec) -> Iterator[Sent]:
    """Start all of a case, a generator as well."""
    with forwarding(case) as chain, generator(chain.endpoints, chain.switch, chain.place) as tgen:
        yield chain, tgen


def counters_of(chain: Chain) -> VnfCounters:
    """Return what the only guest counts, once it answers: a run does without what comes late."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (found,) = chain.vnfs.counters()
        if found.nics or chain.vnfs.failure() is not None:
            return found
        assert time.monotonic() < deadline, "it works, and tells of no NIC"


def state(standing: Sent) -> State:
    """Return what every test leaves as it was: all of it works, and nothing is under way in it."""
    chain, _ = standing
    counted, rested = (
        [(nic.received_frames, nic.sent_frames) for nic in counters_of(chain).nics]
        for _ in range(2)
    )
    return {
        "failure of the VNF": chain.vnfs.failure(),
        "failure of the switch": chain.switch.failure(),
        "ports that it waits for": chain.switch.waiting_for(),
        "rules of the switch": rules_in(chain.switch),
        "its VNF": chain.pid,
        "whether it rests": counted == rested,
    }


@pytest.fixture(scope="module")
def kept(_needs_guests: None) -> Iterator[Kept[Sent]]:
    case = qemu_case(PVP, queues=2, vcpus=2, packed=True, **EMULATED)
    with keeping(lambda _: sending(case), state) as kept:
        yield kept


@pytest.fixture(autouse=True)
def _room(request: pytest.FixtureRequest, kept: Kept[Sent]) -> None:
    if "shared" not in request.fixturenames:
        kept.take_down()


@pytest.fixture
def shared(
    request: pytest.FixtureRequest, kept: Kept[Sent], require: Callable[[str], None]
) -> Sent:
    """Return a guest behind a switch, with a generator: it boots once for several tests."""
    require("tgen")
    return kept.lent(request.node.name)


def said(error: ComponentError) -> str:
    return f"{error}; {error.problems[0].why}"


def failed_start(case: CaseSpec) -> str:
    """Return what is said when the VNFs of a case do not come up."""
    with pytest.raises(ComponentError) as caught, plugged_in(case) as chain:
        chain.vnfs.await_forwarding()
    return said(caught.value)


def in_guest(chain: Chain, command: str) -> None:
    """Run a command in the shell of the first VNF."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as shell:
        shell.connect(chain.place.fill(f"{Placeholder.RUN}/vm1.shell"))
        shell.sendall(f"{command}\n".encode())
        shell.settimeout(PATIENCE_S)
        said = b""
        while command.encode() not in said:  # its echo: what is hung up on before is not read
            said += (more := shell.recv(4096))
            assert more, said


@pytest.mark.everyday("a guest is booted for it and for all that share it")
def test_frames_go_through_a_guest_and_are_counted_in_it(shared: Sent) -> None:
    frames_go_through(*shared)


@pytest.mark.parametrize("app", ["linux_bridge", "l2fwd"])
@pytest.mark.needs("tgen")
def test_frames_go_through_other_forwarders_of_a_guest(app: str) -> None:
    with sending(qemu_case(PVP, app=app, **EMULATED)) as (chain, tgen):
        frames_go_through(chain, tgen)


def frames_go_through(chain: Chain, tgen: Tgen) -> None:
    before = counters_of(chain)
    assert send(tgen, SLOWLY) == (2000, 2000)
    growth = counters_of(chain).since(before)
    assert chain.vnfs.failure() is None
    assert [nic.received_frames for nic in growth.nics] == [1000, 1000]
    assert [nic.sent_frames for nic in growth.nics] == [1000, 1000]


def test_threads_are_kept_to_their_cpus_and_facts_say_what_runs(shared: Sent) -> None:
    chain, _ = shared
    (running,) = chain.vnfs.vnfs
    facts = chain.vnfs.facts()["vm1"]
    threads = {int(entry.name) for entry in Path(f"/proc/{chain.pid}/task").iterdir()}
    assert len(running.threads) == 2
    assert set(running.threads) < threads
    assert {tuple(os.sched_getaffinity(thread)) for thread in threads} <= {(0,), (0, 1)}
    assert os.sched_getaffinity(running.threads[0]) == {0}
    access = chain.vnfs.access()
    assert facts["accelerator"] == "tcg"
    assert facts["guest"]["cpus"] == 2
    assert facts["application"]["app"] == "testpmd"
    assert facts["qemu"].count(".") == 2
    assert "vsperf shell vm1" in access


def test_a_guest_forwards_and_after_a_reboot_does_so_again_and_counts_anew(shared: Sent) -> None:
    chain, tgen = shared
    frames_go_through(chain, tgen)
    chain.vnfs.reboot()
    assert chain.vnfs.failure() is None
    assert send(tgen, SLOWLY) == (2000, 2000)
    counted = counters_of(chain)
    assert [nic.received_frames for nic in counted.nics] == [1000, 1000]
    assert [nic.sent_frames for nic in counted.nics] == [1000, 1000]


@pytest.mark.everyday("a guest is booted for it and for all that share it")
def test_what_becomes_of_a_vnf_is_noticed_and_named(
    shared: Sent, kept: Kept[Sent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other: it is stopped, it hangs, its forwarder is killed, and itself."""
    chain, _ = shared
    os.kill(chain.pid, signal.SIGSTOP)
    try:
        assert (chain.failure() or "").startswith("vm1 is stopped: somebody sent it SIGSTOP")
        with monkeypatch.context() as unseen:
            unseen.setattr("vsperf.host.process.is_stopped", lambda pid: False)
            unseen.setattr("vsperf.qemu.qmp.HEARTBEAT_S", 0.5)
            assert "QEMU has not answered" in (chain.failure() or "")
    finally:
        os.kill(chain.pid, signal.SIGCONT)
    wait_until(lambda: chain.vnfs.failure() is None)
    in_guest(chain, "killall -9 dpdk-testpmd")
    assert (chain.failure() or "").startswith("vm1: testpmd ended: signal 9")
    os.kill(chain.pid, signal.SIGKILL)
    wait_until(lambda: "testpmd" not in (chain.failure() or ""))
    assert (chain.failure() or "").startswith("vm1 was killed by SIGKILL")
    assert (chain.failure() or "").startswith("vm1 was killed by SIGKILL")
    kept.take_down()


@pytest.mark.needs("tgen", "root", "ldd", "namespaces")
def test_a_guest_forwards_whose_qemu_is_from_another_tree_than_its_switch(tmp_path: Path) -> None:
    tree = switch_trees.qemu_tree(tmp_path / "tree")
    other = switch_trees.ovs_tree(tmp_path / "other")
    case = qemu_case(PVP, root=str(tree), **EMULATED)
    switch = case.vswitch.model_copy(update={"root": str(other)})
    with (
        forwarding(case.model_copy(update={"vswitch": switch})) as chain,
        generator(chain.endpoints, chain.switch, chain.place) as tgen,
    ):
        assert send(tgen, SLOWLY) == (2000, 2000)
        facts = (chain.vnfs.facts()["vm1"], chain.switch.facts())
    assert [found["tree"]["root"] for found in facts] == [str(tree), str(other)]


@pytest.mark.needs("tgen")
def test_a_vnf_calls_a_switch_that_listens() -> None:
    case = qemu_case(PVP, **EMULATED)
    ports = case.vswitch.model_copy(update={"ports": "vhost-user"})
    with (
        forwarding(case.model_copy(update={"vswitch": ports})) as chain,
        generator(chain.endpoints, chain.switch, chain.place) as tgen,
    ):
        assert send(tgen, SLOWLY) == (2000, 2000)


@pytest.mark.needs("tgen")
def test_vnfs_in_a_row_come_up_side_by_side_and_are_gone_afterwards() -> None:
    with forwarding(qemu_case(PVVP, **EMULATED)) as chain:
        with generator(chain.endpoints, chain.switch, chain.place) as tgen:
            assert send(tgen, SLOWLY) == (2000, 2000)
            assert [vnf.name for vnf in chain.vnfs.counters()] == ["vm1", "vm2"]
        pids = [running.program.pid for running in chain.vnfs.vnfs]
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_guest_that_never_boots_shows_its_console() -> None:
    case = qemu_case(PVP, append=HANGS, boot_timeout="3s", **EMULATED)
    with pytest.raises(ComponentError) as caught, plugged_in(case) as chain:
        (running,) = chain.vnfs.vnfs
        wait_until(lambda: "Kernel panic" in (running.console_words() or ""))
        chain.vnfs.await_forwarding()
    assert "vm1 does not forward: the guest did not boot in time" in said(caught.value)
    assert "Kernel panic" in said(caught.value)


def test_a_guest_that_gives_up_ends_the_waiting_at_once() -> None:
    words = failed_start(qemu_case(PVP, append="rdinit=/nothing", boot_timeout="300s", **EMULATED))
    assert "vm1 ended with exit code 0 while it booted" in words
    assert "in time" not in words, "it is its end that was noticed"
    assert "Kernel panic" in words


def test_an_application_that_does_not_start_says_why() -> None:
    words = failed_start(qemu_case(PVP, testpmd_arguments=["--colour=red"], **EMULATED))
    assert words.startswith("vm1 does not forward: testpmd")
    assert "colour" in words


@pytest.mark.everyday
def test_words_that_qemu_refuses_are_shown() -> None:
    words = failed_start(qemu_case(PVP, arguments=["-colour", "red"], **EMULATED))
    assert "vm1 ended while it started" in words
    assert "colour" in words


def test_a_vnf_that_nobody_calls_says_where_it_waits() -> None:
    case = qemu_case(PVP, boot_timeout="1s", **EMULATED)
    with (
        pytest.raises(ComponentError) as caught,
        room("a test of guests") as place,
        Qemu().start(case, wires_of(case), placement_of(case), place) as vnfs,
    ):
        vnfs.await_forwarding()
    assert "vm1 was not plugged in in time" in said(caught.value)
    assert "vm1_0.sock" in said(caught.value)


def test_an_image_of_the_users_own_only_has_to_run(tmp_path: Path) -> None:
    disk, user_data = tmp_path / "disk.img", tmp_path / "user-data"
    content = bytearray(1 << 20)
    content[0:2], content[510:512] = b"\xeb\xfe", b"\x55\xaa"  # boots, and jumps to itself
    disk.write_bytes(content)
    user_data.write_text("#cloud-config\n")
    case = qemu_case(PVP, image=str(disk), cloud_init=str(user_data), **EMULATED)
    with forwarding(case) as chain:
        assert chain.vnfs.failure() is None
        assert chain.vnfs.counters()[0].nics == ()
        seed = Path(chain.place.fill(f"{Placeholder.RUN}/vm1.cidata"))
        assert (seed / "user-data").read_text() == "#cloud-config\n"
    assert disk.read_bytes() == bytes(content)


def test_whether_guests_boot_on_kvm_is_tried_once(tmp_path: Path) -> None:
    probe = Probe(find_image(), PROGRAM, tmp_path / "kvm.json")
    outcome = probe.outcome()
    assert outcome.why
    assert probe.known() == outcome


def test_settings_of_one_vnf_reach_its_guest() -> None:
    case = qemu_case(PVVP, **EMULATED, each={"vm2": {"app": "none", "memory": 192}})
    with forwarding(case) as chain:
        facts = chain.vnfs.facts()
        assert facts["vm1"]["application"]["app"] == "testpmd"
        assert facts["vm2"]["guest"]["memory_mb"] < facts["vm1"]["guest"]["memory_mb"]
        wait_until(lambda: not [port for port in chain.switch.waiting_for() if "vm" in port])
    assert qemu_spec().app == "testpmd"
