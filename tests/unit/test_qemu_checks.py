"""What is refused before any machine is started: images, kernels, devices, KVM."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from machine_tree import MachineTree
from qemu_cases import qemu_case, qemu_spec

from vsperf.errors import NotReadyError, UsageError
from vsperf.guests.image import GuestImage, find_image, planned_image
from vsperf.guests.kvm import Outcome, Probe, remember
from vsperf.guests.surroundings import IN_A_TREE
from vsperf.host.tree import Tree
from vsperf.vnfs.qemu.checks import check, check_image, check_kernel, check_ram_disk
from vsperf.vnfs.qemu.driver import Qemu

QCOW2 = bytes.fromhex("514649fb00000003") + bytes(16) + bytes.fromhex("00000010")


@pytest.fixture(name="probe")
def fixture_probe(tmp_path: Path) -> Probe:
    """Return a probe for a machine without KVM and a program that is there."""
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    image = GuestImage(tmp_path / "guest", {"image": "abc"})
    return Probe(image, str(program), tmp_path / "cache" / "kvm.json", tmp_path / "kvm")


def raw_disk(path: Path, size: int = 4096, signed: bool = True) -> Path:
    content = bytearray(size)
    if signed:
        content[510:512] = b"\x55\xaa"
    path.write_bytes(content)
    return path


def bzimage(path: Path) -> Path:
    path.write_bytes(bytes(0x202) + b"HdrS" + bytes(64))
    return path


def refusal(action: Any) -> NotReadyError:
    with pytest.raises(NotReadyError) as caught:
        action()
    assert caught.value.problems[0].fix
    return caught.value


def why(action: Any) -> str:
    return str(refusal(action).problems[0].why)


def test_a_tree_without_qemu_is_refused_with_the_way_to_get_it(
    tmp_path: Path, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    tree = Tree(tmp_path, foreign=True, setting="vnf")
    absent = Probe(probe.image, IN_A_TREE, probe.cache, tree=tree)
    error = refusal(lambda: check({}, absent))
    assert f"{IN_A_TREE} of the tree {tmp_path} is not installed" in str(error)
    assert error.problems[0].fix == f"chroot {tmp_path} apt-get install qemu-system-x86"


def test_a_raw_disk_that_boots_is_taken(tmp_path: Path) -> None:
    check_image("vm1", raw_disk(tmp_path / "disk.img"), bootable=True)


def test_a_text_is_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    path.write_text("This is not a disk.\n" * 100)
    assert "neither qcow2 nor a raw disk" in why(lambda: check_image("vm1", path, bootable=True))


def test_a_disk_without_a_boot_sector_needs_a_kernel_beside_it(tmp_path: Path) -> None:
    path = raw_disk(tmp_path / "disk.img", signed=False)
    assert "booted" in why(lambda: check_image("vm1", path, bootable=True))
    check_image("vm1", path, bootable=False)


def test_a_qcow2_with_nothing_behind_its_first_bytes_is_refused(
    tmp_path: Path, require: Require
) -> None:
    require("qemu-img")
    path = tmp_path / "disk.qcow2"
    path.write_bytes(QCOW2)
    assert str(path) in str(refusal(lambda: check_image("vm1", path, bootable=True)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", "empty"), ("folder", "directory"), ("pipe", "no regular file")],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "file"
    if content == "folder":
        path.mkdir()
    elif content == "pipe":  # nobody is waited for
        os.mkfifo(path)
    elif content is not None:
        path.write_bytes(content)
    for look in (check_kernel, check_ram_disk):
        assert reason in why(lambda look=look: look("vm1", path))
    assert reason in why(lambda: check_image("vm1", path, bootable=True))


def test_a_kernel_is_known_by_its_header(tmp_path: Path) -> None:
    check_kernel("vm1", bzimage(tmp_path / "bzImage"))
    path = tmp_path / "text"
    path.write_text("no kernel " * 100)
    assert "no Linux kernel" in why(lambda: check_kernel("vm1", path))


def test_a_ram_disk_is_known_by_how_it_begins(tmp_path: Path) -> None:
    for name, content in (("plain", b"070701" + bytes(100)), ("gzip", gzip.compress(b"070701"))):
        path = tmp_path / name
        path.write_bytes(content)
        check_ram_disk("vm1", path)
    path.write_text("no RAM disk")
    assert "no initial RAM disk" in why(lambda: check_ram_disk("vm1", path))


def test_qemu_has_to_be_installed(probe: Probe) -> None:
    absent = Probe(probe.image, "qemu-of-nobody", probe.cache)
    error = refusal(lambda: check({"vm1": qemu_spec()}, absent))
    assert error.problems[0].fix == "apt-get install qemu-system-x86"


def test_the_machine_of_a_wrong_image_is_named(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(image=str(tmp_path / "missing.qcow2"))
    error = refusal(lambda: check({"vm1": qemu_spec(accelerator="tcg"), "vm2": spec}, probe))
    assert str(error) == f"vm2 cannot be started from {tmp_path}/missing.qcow2"


def test_our_own_image_says_how_to_build_it(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path / "nowhere"))
    error = refusal(lambda: check({"vm1": qemu_spec(accelerator="tcg")}, probe))
    assert "make setup" in str(error.problems[0].fix)


def test_an_image_says_what_it_is(tmp_path: Path) -> None:
    for name in ("vmlinuz", "initrd"):
        (tmp_path / name).write_text("x")
    environment = {"VSPERF_GUEST": str(tmp_path)}
    assert planned_image(environment).hash is None
    (tmp_path / "manifest.json").write_text(json.dumps({"image": "abc"}))
    assert find_image(environment).hash == "abc"
    (tmp_path / "manifest.json").write_text("{")
    assert "cannot be read" in why(lambda: find_image(environment))


def test_without_vfio_no_device_is_given_away(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.device("0000:03:00.1", "iavf")
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    assert "no VFIO" in why(lambda: check({"vm1": spec}, probe, tree.roots))


def test_a_device_that_is_not_there_is_named(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    assert "0000:03:00.1" in str(refusal(lambda: check({"vm1": spec}, probe, tree.roots)))


def test_a_device_that_can_be_given_away_is_taken(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    tree.device("0000:03:00.1", "iavf", group=7)
    kernel = str(bzimage(tmp_path / "k"))
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=kernel, accelerator="tcg")
    check({"vm1": spec}, probe, tree.roots)


def test_a_run_with_devices_is_refused_before_anything_is_tried() -> None:
    case = qemu_case(devices=["0000:03:00.1", "0000:03:00.2"])
    with pytest.raises(UsageError, match="vm1 cannot run") as caught:
        Qemu().require(case)
    assert "vsperf plan" in str(caught.value.problems[0].fix)


def test_a_device_goes_to_one_machine_only(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    error = refusal(lambda: check({"vm1": spec, "vm2": spec}, probe))
    assert "given to two cards" in str(error)


def test_without_kvm_guests_are_emulated_and_nothing_is_tried(probe: Probe) -> None:
    known = probe.known()
    assert known == Outcome(False, f"{probe.device} is absent")
    assert known.accelerator == "tcg"
    assert not probe.cache.exists()


def test_kvm_that_was_asked_for_and_does_not_work_is_refused(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(accelerator="kvm", kernel=str(bzimage(tmp_path / "k")))
    assert "is absent" in why(lambda: check({"vm1": spec}, probe))


def test_what_was_tried_is_remembered_for_this_image_and_this_boot(
    probe: Probe, tmp_path: Path
) -> None:
    probe.device.write_text("")
    assert probe.known() is None
    remember(probe.cache, probe.key, Outcome(True, "it boots"), tried_s=0.0)
    assert probe.known() == Outcome(True, "it boots")
    other = Probe(GuestImage(tmp_path, {"image": "def"}), probe.program, probe.cache, probe.device)
    assert other.known() is None


@pytest.mark.parametrize(("age_s", "believed"), [(3600, True), (90_000, False), (-90_000, False)])
def test_that_no_guest_boots_is_believed_for_a_day(
    probe: Probe, age_s: float, believed: bool
) -> None:
    probe.device.write_text("")
    failed = Outcome(False, "it hung")
    remember(probe.cache, probe.key, failed, time.time() - age_s)
    assert probe.known() == (failed if believed else None)


@pytest.mark.parametrize(
    ("words", "remembered"),
    [
        ("cannot set up guest memory: Cannot allocate memory", False),
        ("failed to initialize kvm: No such file or directory", True),
    ],
)
def test_a_failure_is_remembered_only_if_it_is_that_of_kvm(
    probe: Probe, words: str, remembered: bool
) -> None:
    probe.device.write_text("")
    Path(probe.program).write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    found = probe.outcome()
    assert not found.works
    assert words in found.why
    assert (probe.known() is not None) == remembered


def test_a_memory_that_is_garbage_is_none(probe: Probe) -> None:
    probe.device.write_text("")
    probe.cache.parent.mkdir()
    for garbage in ("", "[]", '{"format": 1}', '{"format": 1, "found": 3}'):
        probe.cache.write_text(garbage)
        assert probe.known() is None
