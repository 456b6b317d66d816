"""The place of a deployment, what its undo may reach, and what a plan leaves open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import pytest
from full_disk import longest_file

from vsperf.errors import DiedError, ExitCode, NotReadyError, RecordingError
from vsperf.host.dead import dead_deployments
from vsperf.host.files import Roots
from vsperf.host.journal import NAME, Journal, pending
from vsperf.host.owner import Owner
from vsperf.host.places import LONGEST_SHORT_NAME, runtime_folders, short_name
from vsperf.host.procfs import end_all, start_ticks
from vsperf.host.tuntap import LONGEST_NAME
from vsperf.host.undo import UNDO, BindDriver, EndMarked, owner_name
from vsperf.host.undo_base import Reach, Undo
from vsperf.host.workspace import (
    LeftBehindError,
    Workspace,
    nothing_left_of,
    remove_folder,
    workspace,
)
from vsperf.records.run import Endpoint, Placeholder, Step, fill_in, shown
from vsperf.stop import SignalWatch, Terminated, raise_if_stopped, signals_held

# The place of a deployment: private, known by its owner, and gone when it is left.


def test_a_workspace_is_private_and_says_who_made_it(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place:
        assert place.folder.stat().st_mode & 0o777 == 0o700
        owner = Owner.of(place.folder)
        assert owner is not None
        assert (owner.pid, owner.purpose, owner.alive) == (os.getpid(), "a test", True)


def test_nothing_of_a_workspace_is_left(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place:
        (place.folder / "logs").mkdir()
        (place.folder / "logs" / "one").touch()
    assert list(tmp_path.iterdir()) == []


def test_two_workspaces_have_different_names(tmp_path: Path) -> None:
    with workspace("one", tmp_path / "run") as one, workspace("two", tmp_path / "run") as two:
        assert one.name != two.name
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_filled_with_the_folder_and_the_name(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place:
        text = f"--path={Placeholder.RUN}/phy0.sock --file-prefix={Placeholder.NAME}-ovs"
        assert place.fill(text) == f"--path={place.folder}/phy0.sock --file-prefix={place.name}-ovs"


def test_words_of_a_user_are_no_placeholders(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place:
        for text in ("/x/RUN/vmlinuz", "NAME", "net_tap0,iface=TAP", "RUN/NAME"):
            assert place.fill(text) == text


def test_a_name_for_network_devices_is_short_and_belongs_to_one_workspace(tmp_path: Path) -> None:
    with workspace("one", tmp_path / "run") as one, workspace("two", tmp_path / "run") as two:
        name = one.fill(f"ifname={Placeholder.TAP}-64-1")
        assert name == f"ifname={one.short_name}-64-1"
        assert len(one.short_name) == len(LONGEST_SHORT_NAME)
        assert len(f"{one.short_name}-64-1") <= LONGEST_NAME
        assert one.short_name != two.short_name


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(NotReadyError, match="cannot be trusted"), workspace("a test", shared):
        pass


def test_a_link_is_refused_as_the_place_of_workspaces(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (
        pytest.raises(NotReadyError, match="cannot be trusted"),
        workspace("a test", tmp_path / "link"),
    ):
        pass


def test_the_folder_of_workspaces_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSPERF_RUNTIME", "/somewhere")
    assert runtime_folders() == (Path("/somewhere"),)


DEVICE = "0000:00:08.0"


@pytest.fixture(name="machine")
def fixture_machine(tmp_path: Path) -> Roots:
    """Return a machine with a PCI device that is bound to vfio-pci, and was to ixgbe."""
    roots = Roots(tmp_path / "machine")
    device = roots.pci / "devices" / DEVICE
    for folder in (device, roots.pci / "drivers/vfio-pci", roots.pci / "drivers/ixgbe"):
        folder.mkdir(parents=True)
    (device / "driver").symlink_to(roots.pci / "drivers/vfio-pci")
    (device / "driver_override").write_text("vfio-pci\n")
    return roots


def giving_back(machine: Roots, address: str = DEVICE) -> BindDriver:
    return BindDriver(address=address, driver="ixgbe", sysfs=machine.pci)


def override(machine: Roots) -> str:
    return (machine.pci / "devices" / DEVICE / "driver_override").read_text()


def test_what_was_promised_is_undone_even_if_its_part_forgets_it(
    tmp_path: Path, machine: Roots
) -> None:
    with workspace("a test", tmp_path / "run", machine) as place:
        place.journal.planned(giving_back(machine))
        assert override(machine) == "vfio-pci\n"
    assert override(machine) == "\n"
    assert not (tmp_path / "run").exists()


def test_undos_are_carried_out_backwards(
    tmp_path: Path, machine: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(BindDriver, "carry_out", lambda undo: order.append(undo.address))
    with workspace("a test", tmp_path / "run", machine) as place:
        for number in range(3):
            place.journal.planned(giving_back(machine, f"0000:00:08.{number}"))
    assert order == ["0000:00:08.2", "0000:00:08.1", "0000:00:08.0"]


def test_what_cannot_be_undone_is_told_and_kept_for_later(tmp_path: Path, machine: Roots) -> None:
    (machine.pci / "drivers/ixgbe/bind").mkdir()
    with workspace("a test", tmp_path / "run", machine) as place:
        place.journal.planned(giving_back(machine))
    assert place.left == (f"cannot give {DEVICE} back to ixgbe: Is a directory",)
    with pytest.raises(LeftBehindError, match="something of a test is left") as caught:
        place.require_nothing_left()
    assert caught.value.exit_code == ExitCode.LEFT_BEHIND
    assert place.folder.exists()
    assert len(pending(place.folder / NAME)) == 1
    assert remove_folder(place.folder) == ()


@pytest.mark.parametrize(
    ("stopped", "raised"),
    [
        (DiedError("the switch died"), LeftBehindError),
        (OSError("no room"), LeftBehindError),
        (RecordingError("the disk is full"), RecordingError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=str,
)
def test_what_is_left_is_told_with_what_went_wrong_unless_that_ends_the_run(
    tmp_path: Path, machine: Roots, stopped: BaseException, raised: type[BaseException]
) -> None:
    (machine.pci / "drivers/ixgbe/bind").mkdir()
    places: list[Workspace] = []
    with (
        pytest.raises(raised) as caught,
        nothing_left_of(places),
        workspace("a test", tmp_path / "run", machine) as place,
    ):
        places.append(place)
        place.journal.planned(giving_back(machine))
        raise stopped
    if isinstance(caught.value, LeftBehindError):
        why = f"cannot give {DEVICE} back to ixgbe: Is a directory; and before that: {stopped}"
        assert caught.value.problems[0].why == why
    assert remove_folder(place.folder) == ()


def test_an_undo_that_fails_as_nobody_thought_of_keeps_no_other_from_being_carried_out(
    tmp_path: Path, machine: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(undo: EndMarked) -> None:
        raise ValueError("no number")

    monkeypatch.setattr(EndMarked, "carry_out", fail)
    with workspace("a test", tmp_path / "run", machine) as place:
        place.journal.planned(giving_back(machine))
        with place.undoing(EndMarked(mark=f"{place.name}/switch")):
            pass
    assert override(machine) == "\n"
    what = f"end what was started as {place.name}/switch"
    assert place.left == (f"cannot {what}: ValueError: no number",)
    assert remove_folder(place.folder) == ()


def test_a_process_that_may_not_be_told_keeps_no_other_from_being_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        if pid == 1:
            raise PermissionError
        told.append((pid, number))

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(OSError, match="process 1, 2 does not end"):
        end_all(lambda: (1, 2), 0.0, 0.0)
    assert (2, signal.SIGKILL) in told


def test_what_no_deployment_can_have_changed_cannot_even_be_promised(tmp_path: Path) -> None:
    undo = EndMarked(mark="vsperf-1-abcdef/switch")
    with (
        workspace("a test", tmp_path / "run") as place,
        pytest.raises(ValueError, match="no deployment may promise this: end what was started"),
        place.undoing(undo),
    ):
        pass


def test_a_kept_workspace_stays_and_can_be_told_from_a_living_one(
    tmp_path: Path, machine: Roots
) -> None:
    with (
        workspace("a test", tmp_path / "run", machine) as place,
        place.undoing(giving_back(machine)),
    ):
        (place.folder / "socket").touch()
        place.keep()
    assert (place.folder / "socket").exists()
    assert override(machine) == "vfio-pci\n"
    owner = Owner.of(place.folder)
    assert owner is not None
    assert owner.kept
    assert dead_deployments((tmp_path / "run",)) == ()  # its owner is this test, and lives


def test_a_signal_during_the_undoing_is_delivered_after_it(tmp_path: Path, machine: Roots) -> None:
    class Interrupting(BindDriver):
        def carry_out(self) -> None:
            signal.raise_signal(signal.SIGINT)
            super().carry_out()

    with (
        pytest.raises(KeyboardInterrupt),
        workspace("a test", tmp_path / "run", machine) as place,
        place.undoing(Interrupting(address=DEVICE, driver="ixgbe", sysfs=machine.pci)),
    ):
        pass
    assert override(machine) == "\n"
    assert not (tmp_path / "run").exists()


def test_the_end_of_a_terminal_waits_for_an_undo_as_well() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where nohup runs the tests
    watch = SignalWatch.install()
    try:
        with signals_held():
            signal.raise_signal(signal.SIGHUP)
            raise_if_stopped()
        with pytest.raises(Terminated):
            raise_if_stopped()
    finally:
        watch.close()
        signal.signal(signal.SIGHUP, before)


def test_a_fork_does_not_take_down_what_its_parent_runs(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place:
        child = os.fork()
        if child == 0:
            place.leave()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert place.folder.exists()


def test_a_process_with_the_number_of_a_dead_owner_does_not_pass_for_it(tmp_path: Path) -> None:
    owner = Owner.this_process("a test")
    assert owner.alive
    assert not owner.model_copy(update={"started": 1}).alive
    assert not owner.model_copy(update={"boot": "another boot"}).alive


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / NAME
    journal = Journal(path)
    journal.planned(EndMarked(mark="first"))
    journal.planned(EndMarked(mark="second"))
    journal.close()
    path.write_bytes(path.read_bytes()[:-10])
    assert [entry.undo for entry in pending(path)] == [EndMarked(mark="first")]
    again = Journal(path)
    again.planned(EndMarked(mark="third"))
    again.close()
    assert len(pending(path)) == 2


def test_a_long_journal_is_left_with_what_is_still_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too large is not read: nothing of it would ever be undone."""
    monkeypatch.setattr("vsperf.host.journal.LONG", 2000)
    path = tmp_path / NAME
    journal = Journal(path)
    first, second = (journal.planned(EndMarked(mark=mark)) for mark in ("first", "second"))
    journal.planned(EndMarked(mark="better"), first)
    for number in range(1000):
        journal.undone(journal.planned(EndMarked(mark=str(number))))
        assert path.stat().st_size < 3000
    journal.planned(EndMarked(mark="third"))
    journal.undone(second)
    journal.close()
    assert [entry.undo for entry in pending(path)] == [
        EndMarked(mark="third"),
        EndMarked(mark="better"),
    ]
    assert [one.name for one in tmp_path.iterdir()] == [NAME]


def test_a_long_journal_stays_as_it_is_where_a_line_of_it_is_damaged_or_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vsperf.host.journal.LONG", 100)
    for name, damage in (("damaged", b"{'\n"), ("full", b"")):
        path = tmp_path / name / NAME
        path.parent.mkdir(mode=0o700)
        path.write_bytes(damage)
        path.chmod(0o600)
        journal = Journal(path)
        for number in range(3):
            journal.planned(EndMarked(mark=f"{number}{'x' * 100}"))
        size = path.stat().st_size
        if not damage:
            (path.parent / f"{NAME}.new").mkdir()
            monkeypatch.setattr("vsperf.trust.trusted.Folder.remove", lambda folder, name: None)
        journal.undone(2)
        journal.undone(3)
        journal.close()
        assert path.stat().st_size > size
        assert next(entry.undo for entry in pending(path)) == EndMarked(mark=f"0{'x' * 100}")


def test_an_undo_of_another_version_is_told_and_not_dropped(tmp_path: Path) -> None:
    with workspace("a test", tmp_path / "run") as place, (place.folder / NAME).open("a") as file:
        file.write('{"number": 7, "undo": {"kind": "mend-the-moon"}}\n')
    assert len(place.left) == 1
    assert "mend-the-moon" in place.left[0]
    remove_folder(place.folder)


def test_a_device_goes_back_to_its_driver(machine: Roots) -> None:
    giving_back(machine).carry_out()
    assert override(machine) == "\n"
    assert (machine.pci / "drivers/vfio-pci/unbind").read_text() == DEVICE
    assert (machine.pci / "drivers/ixgbe/bind").read_text() == DEVICE


def test_a_device_that_has_its_driver_is_left_alone(machine: Roots) -> None:
    driver = machine.pci / "devices" / DEVICE / "driver"
    driver.unlink()
    driver.symlink_to(machine.pci / "drivers/ixgbe")
    giving_back(machine).carry_out()
    assert list((machine.pci / "drivers/ixgbe").iterdir()) == []


def test_a_device_that_somebody_gave_to_another_driver_since_is_left_alone(machine: Roots) -> None:
    device, theirs = machine.pci / "devices" / DEVICE, machine.pci / "drivers/uio_pci_generic"
    theirs.mkdir()
    (device / "driver").unlink()
    (device / "driver").symlink_to(theirs)
    (device / "driver_override").write_text("uio_pci_generic\n")
    giving_back(machine).carry_out()
    assert override(machine) == "uio_pci_generic\n"
    assert list(theirs.iterdir()) == []
    assert list((machine.pci / "drivers/ixgbe").iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, 250, 300])
def test_a_runtime_folder_that_is_full_leaves_no_workspace_half_made(
    tmp_path: Path, size: int
) -> None:
    root = tmp_path / "run"
    with (
        longest_file(size),
        pytest.raises(NotReadyError, match=r"cannot make a folder|nothing can be") as caught,
        workspace("a test", root) as place,
    ):
        for number in range(9):  # some fit
            with place.undoing(EndMarked(mark=f"{place.name}/{number}")):
                pass
    assert f"make room in {root}" in (caught.value.problems[0].fix or "")
    assert list(tmp_path.iterdir()) == []


# An undo names what its deployment can have changed, or it is refused when it is carried out.

NAME_UNDO = "vsperf-1-abcdef"
POOL = {
    "node": 0,
    "page_bytes": 2 << 20,
    "folder": "/sys/devices/system/node/node0/hugepages/hugepages-2048kB",
}
PAGES = {
    "kind": "return-hugepages",
    "ledger": "/run/vsperf/hugepages-0-2097152.json",
    "pool": POOL,
    "claim": f"/run/vsperf/{NAME_UNDO}/hugepages-abc",
}
WAYS = {
    "kind": "return-cache-ways",
    "folder": "/sys/fs/resctrl",
    "before": "L3:0=7ff;1=7ff",
    "now": "L3:0=700;1=7f0",
}
NIC = {"kind": "bind-driver", "address": "0000:08:00.0", "driver": "i40e"}
CHASSIS = {
    "kind": "release-chassis",
    "dialect": "xena",
    "chassis": "10.0.0.1",
    "owner": owner_name(NAME_UNDO),
    "ports": ("0/0",),
}


@pytest.fixture(name="reach")
def fixture_reach(monkeypatch: pytest.MonkeyPatch) -> Reach:
    """Return what a deployment of root's can have changed."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Reach(Path("/run/vsperf") / NAME_UNDO, since=1000)


@pytest.mark.parametrize(
    "undo",
    [
        {"kind": "end-marked", "mark": f"{NAME_UNDO}/switch"},
        {"kind": "kill-process", "pid": 4711, "started": 1000},
        {"kind": "continue-process", "pid": 4711, "started": 1000},
        {"kind": "sweep-dpdk", "prefix": NAME_UNDO},
        {"kind": "sweep-shared-memory", "prefix": NAME_UNDO},
        {"kind": "remove-tap", "name": f"{short_name(NAME_UNDO)}-1-0"},
        {"kind": "remove-tap", "name": "ovs-netdev"},
        {"kind": "remove-veth", "name": f"{short_name(NAME_UNDO)}-1-0"},
        {"kind": "remove-network", "name": NAME_UNDO},
        CHASSIS,
        {"kind": "remove-cache-group", "folder": f"/sys/fs/resctrl/{NAME_UNDO}-switch"},
        NIC,
        {**NIC, "driver": None},
        PAGES,
        WAYS,
    ],
    ids=str,
)
def test_what_a_deployment_changes_is_taken_back(reach: Reach, undo: dict[str, Any]) -> None:
    assert UNDO.validate_python(undo).is_within(reach)


@pytest.mark.parametrize(
    "undo",
    [
        {"kind": "end-marked", "mark": "vsperf-2-abcdef/switch"},
        {"kind": "end-marked", "mark": ""},
        {"kind": "kill-process", "pid": 1, "started": 1000},
        {"kind": "kill-process", "pid": -1, "started": 1000},
        {"kind": "kill-process", "pid": 4711, "started": 999},
        {"kind": "continue-process", "pid": 1, "started": 1000},
        {"kind": "continue-process", "pid": 4711, "started": 999},
        {"kind": "sweep-dpdk", "prefix": ""},
        {"kind": "sweep-dpdk", "prefix": "vsperf-2-abcdef"},
        {"kind": "sweep-dpdk", "prefix": "../etc"},
        {"kind": "sweep-shared-memory", "prefix": ""},
        {"kind": "sweep-shared-memory", "prefix": "vsperf-2-abcdef"},
        {"kind": "remove-tap", "name": "tap0"},
        {"kind": "remove-tap", "name": "vsp000000-1-0"},
        {"kind": "remove-veth", "name": "eth0"},
        {"kind": "remove-veth", "name": "vsp000000-1-0"},
        {"kind": "remove-network", "name": "vsperf-2-abcdef"},
        {"kind": "remove-network", "name": f"../{NAME_UNDO}"},
        {"kind": "remove-network", "name": ""},
        {**CHASSIS, "owner": "mallory"},
        {**CHASSIS, "owner": owner_name("vsperf-2-abcdef")},
        {**CHASSIS, "chassis": "--option"},
        {**CHASSIS, "ports": ("0/0", "-o")},
        {"kind": "remove-cache-group", "folder": "/etc"},
        {"kind": "remove-cache-group", "folder": "/sys/fs/resctrl/vsperf-2-abcdef-switch"},
        {"kind": "remove-cache-group", "folder": f"/tmp/{NAME_UNDO}-switch"},
        {**NIC, "address": "../../../../etc"},
        {**NIC, "driver": "../../../etc/cron.d"},
        {**NIC, "sysfs": "/tmp/pci"},
        {**PAGES, "ledger": "/etc/shadow"},
        {**PAGES, "ledger": "/tmp/vsperf-0/hugepages-0-2097152.json"},
        {**PAGES, "ledger": "/run/vsperf/hugepages-1-2097152.json"},
        {**PAGES, "ledger": "/run/vsperf/../x/hugepages-0-2097152.json"},
        {**PAGES, "claim": "/run/vsperf/vsperf-2-abcdef/hugepages-abc"},
        {**PAGES, "claim": f"/run/vsperf/{NAME_UNDO}/../x"},
        {**PAGES, "pool": {**POOL, "folder": "/proc/sys/vm"}},
        {**PAGES, "pool": {**POOL, "folder": "/tmp/pool"}},
        {**PAGES, "pool": {**POOL, "node": -1}},
        {**WAYS, "folder": "/etc"},
        {**WAYS, "folder": "/sys/fs/resctrl/mine"},
        {**WAYS, "before": "L3:0=1;1=1"},
        {**WAYS, "before": "L3:0=7ff;1=7ff\nMB:0=10"},
    ],
    ids=str,
)
def test_whatever_else_a_journal_says_is_refused(reach: Reach, undo: dict[str, Any]) -> None:
    known = UNDO.validate_python(undo)
    assert not known.is_within(reach)
    with pytest.raises(OSError, match=f"{NAME_UNDO} cannot have changed that"):
        known.take_back(reach)


@pytest.mark.parametrize("kind", ["write-file", "remove-file", "remove-tree", "unmount"])
def test_there_is_no_undo_for_any_file_at_all(kind: str) -> None:
    with pytest.raises(ValueError, match="does not match any of the expected tags"):
        UNDO.validate_python({"kind": kind, "path": "/etc/passwd", "value": "x"})


@pytest.fixture(name="bystander")
def fixture_bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that no deployment has to do with."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_what_a_journal_should_not_say_is_told_and_not_done(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    folder = tmp_path / "run" / NAME_UNDO
    folder.mkdir(parents=True, mode=0o700)
    started = start_ticks(bystander.pid)
    assert started is not None
    owner = Owner.this_process("a run").model_copy(update={"pid": 1, "started": started + 1})
    owner.write(folder)
    undo = {"kind": "kill-process", "pid": bystander.pid, "started": started}
    (folder / "journal.jsonl").write_text(json.dumps({"number": 1, "undo": undo}) + "\n")
    (dead,) = dead_deployments((tmp_path / "run",))
    (failure,) = dead.take_down(Roots())
    assert failure.startswith(
        f"cannot end process {bystander.pid}: {NAME_UNDO} cannot have changed"
    )
    assert bystander.poll() is None
    assert folder.exists()


class UndoOfOthers(Undo):
    """As a driver of another package may have one."""

    kind: Literal["others"] = "others"
    done: ClassVar[list[str]] = []

    @property
    def text(self) -> str:
        return "undo what others did"

    def is_within(self, reach: Reach) -> bool:
        return True

    def carry_out(self) -> None:
        self.done.append("undone")


def test_an_undo_of_another_package_is_called_so_after_a_kill(tmp_path: Path) -> None:
    UndoOfOthers.done.clear()
    with workspace("test", tmp_path) as place:
        with place.undoing(cast("Any", UndoOfOthers())):
            (entry,) = (one for one in pending(place.folder / NAME) if one.undo is None)
        assert all(one.undo is not None for one in pending(place.folder / NAME))
    assert UndoOfOthers.done == ["undone"], "in good order it is carried out"
    assert entry.text == (
        f"only the package {__name__}, whose driver promised it, can undo " + '{"kind": "others"}'
    )


# What a plan leaves open is filled in once, and nothing that a user wrote ever is.

KNOWN = {Placeholder.RUN: "/run/x", Placeholder.NAME: "x", Placeholder.TAP: "vsp0"}


def test_placeholders_are_filled_in_wherever_they_stand_in_a_text() -> None:
    text = f"path={Placeholder.RUN}/a.sock,name={Placeholder.NAME}-a{Placeholder.TAP}"
    assert fill_in(text, KNOWN) == "path=/run/x/a.sock,name=x-avsp0"


@pytest.mark.parametrize("text", ["/x/RUN/vmlinuz", "RUN", "NAME TAP", "Placeholder.RUN", "\0A\0"])
def test_no_word_of_a_text_is_one(text: str) -> None:
    assert fill_in(text, KNOWN) == text


def test_what_stands_in_place_of_one_is_not_looked_at_again() -> None:
    known = {**KNOWN, Placeholder.RUN: f"/home/{Placeholder.NAME}"}
    assert fill_in(str(Placeholder.RUN), known) == f"/home/{Placeholder.NAME}"


def test_people_and_records_are_shown_words() -> None:
    path = f"{Placeholder.RUN}/phy0.sock"
    assert shown(path) == "RUN/phy0.sock"
    step = Step(component="vswitch", action=path, argv=("serve", path), lines=(path,))
    assert (step.action, step.argv, step.lines) == (
        "RUN/phy0.sock",
        ("serve", "RUN/phy0.sock"),
        ("RUN/phy0.sock",),
    )
    endpoint = Endpoint(link="phy0", kind="vhost-user", address=path)
    assert endpoint.address == path, "a deployment fills it in"
    assert json.loads(endpoint.model_dump_json())["address"] == "RUN/phy0.sock"
