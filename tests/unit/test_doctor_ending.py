"""How an examination ends: what can be used, what cannot and why, with no contradiction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from doctor_machine import fixture_here, fixture_tree
from machine_tree import MachineTree
from rich.text import Text

from vsperf.cli.commands.doctor import LABEL, ending
from vsperf.cli.main import run_cli
from vsperf.cli.terminal import between_words
from vsperf.drivers.vnfs.qemu import checks as guests
from vsperf.errors import ExitCode
from vsperf.host.doctor.devices import ask_kvm
from vsperf.host.doctor.examine import checks, examine
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Finding,
    Group,
    Host,
    Status,
    absent,
    ok,
    warning,
)
from vsperf.host.doctor.usable import Judged, judge_drivers, judge_way
from vsperf.host.doctor.wants import Want
from vsperf.plugins import Plugin, Plugins
from vsperf.qemu.kvm import Outcome, Probe

__all__ = ["fixture_here", "fixture_tree"]


def driver(*answers: Answer, wants: frozenset[Want] = frozenset()) -> type:
    def asking(answer: Answer) -> Check:
        return Check(answer.evidence, Group.PROGRAMS, lambda here: answer)

    return type("Driver", (), {"checks": tuple(map(asking, answers)), "wants": wants})


PLUGINS = Plugins(
    (
        Plugin("vswitch", "fast", lambda: driver(ok("fast is here"))),
        Plugin("vswitch", "other", lambda: driver(absent("no other", "apt-get install other"))),
        Plugin("vswitch", "more", lambda: driver(absent("no more", "apt-get install other"))),
        Plugin("vswitch", "locked", lambda: driver(ok("locked"), wants=frozenset({Want.ROOT}))),
        Plugin("generator", "far", lambda: type("Far", (), {})),
        Plugin("vnf", "slow", lambda: driver(replace(warning("no KVM", "x"), proviso="emulated"))),
    )
)


@pytest.fixture(name="found")
def fixture_found(tree: MachineTree, here: Host) -> list[Finding]:
    tree.user(1000, "0")
    return list(examine(here, checks(PLUGINS)))


def test_the_end_says_what_can_be_used_and_what_mends_the_rest_each_remedy_once(
    found: list[Finding],
) -> None:
    drivers = judge_drivers(PLUGINS, found)
    ways = [
        judge_way("p2p", [("vswitch", "fast"), ("generator", "far")], drivers),
        judge_way("pvp", [("vswitch", "fast"), ("vnf", "slow")], drivers),
        judge_way("wide", [("vswitch", "locked"), ("vnf", "slow")], drivers),
    ]
    assert ending([*ways, *drivers.values()], 80) == [
        "ready: p2p; pvp (emulated); vswitch fast; vnf slow (emulated)",
        "not:   wide, vswitch locked: run vsperf with sudo",
        "not:   vswitch other, vswitch more: apt-get install other",
    ]


def test_where_the_links_name_a_nic_that_is_not_there_no_way_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conf" / "testbeds").mkdir(parents=True)
    (tmp_path / "conf" / "testbeds" / "lab.yaml").write_text(
        "testbed:\n  name: lab\n  links:\n"
        "    phy0: {speed: 25G, generator: 'fffe:ff:1f.6', switch: 'fffe:ff:1f.7'}\n"
        "    phy1: {speed: 25G, generator: 'fffe:ff:1e.6', switch: 'fffe:ff:1e.7'}\n"
        "vswitch: {kind: ovs-dpdk}\ngenerator: {kind: tgen}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run_cli(["doctor", "--testbed", "lab"]) == ExitCode.NOT_READY
    said = capfd.readouterr().out
    assert "✗ nics of the links" in said
    assert "there is no NIC at fffe:ff:1e.7" in said
    ready, *others = said[said.index("\nready:") :].strip().splitlines()
    assert "p2p" not in ready
    assert any(line.startswith("not:   p2p, ") for line in others)


def test_where_no_run_could_be_stored_no_way_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What no driver asks for is in the way of all of them, of a model, too."""
    monkeypatch.chdir(tmp_path)
    argv = ["doctor", "--testbed", "sim", "--results", "/proc/none"]
    assert run_cli(argv) == ExitCode.NOT_READY
    said = capfd.readouterr().out
    assert "✗ results" in said
    ready, *others = said[said.index("\nready:") :].strip().splitlines()
    assert "p2p" not in ready
    assert any("p2p" in line and "--results DIR" in line for line in others)


def test_a_driver_that_declares_nothing_is_not_spoken_of(found: list[Finding]) -> None:
    assert ("generator", "far") not in judge_drivers(PLUGINS, found)


def test_a_driver_that_cannot_be_loaded_is_not_ready(found: list[Finding]) -> None:
    def broken() -> object:
        raise ImportError("no module")

    (one,) = judge_drivers(Plugins((Plugin("vswitch", "x", broken),)), found).values()
    assert one.mend == ("it cannot be loaded: ImportError: no module",)


def test_where_nothing_can_be_used_it_says_so() -> None:
    assert ending([], 80) == ["ready: nothing"]


def test_a_command_that_would_be_broken_has_a_line_of_its_own() -> None:
    command = "apt-get install --no-install-recommends dpdk"
    judged = [Judged("vswitch", "testpmd", (command,)), Judged("vnf", "process", (command,))]
    names = "not:   vswitch testpmd, vnf process:"
    assert ending(judged, 81)[1] == f"{names} {command}"
    assert ending(judged, 80)[1] == f"{names}\n       {command}"


def test_at_80_columns_lines_are_broken_between_words_and_indented() -> None:
    many = "make it and put it there " * 2
    line = f"{'not:':<{LABEL}}vswitch other: {many}at a load of 39 % and on"
    assert between_words(Text(line), 80, " " * LABEL).plain.splitlines() == [
        "not:   vswitch other: make it and put it there make it and put it there at a",
        "       load of 39 % and on",
    ]
    narrow = between_words(Text("a load of 39 % and on"), 12, "  ").plain.splitlines()
    assert narrow == ["a load of", "  39 % and", "  on"]


@pytest.mark.parametrize("known", [None, Outcome(True, "it boots"), Outcome(False, "it stops")])
def test_kvm_is_spoken_of_in_one_line(
    known: Outcome | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the device is well, beside that no guest boots on it, would be two answers to one."""
    monkeypatch.setattr(guests, "ask_kvm", lambda here: ok("/dev/kvm makes a machine"))
    monkeypatch.setattr(Probe, "known", lambda probe: known)
    here = Host(results=tmp_path, plugins=Plugins.load())
    about = [one for one in checks(here.plugins) if "kvm" in one.name.lower()]
    (finding,) = examine(here, about)
    expected = {
        None: (Status.UNKNOWN, "KVM not tried"),
        True: (Status.OK, None),
        False: (Status.WARNING, "emulated"),
    }[None if known is None else known.works]
    assert (finding.status, finding.proviso) == expected


def test_without_kvm_guests_can_be_used_emulated(here: Host) -> None:
    assert ask_kvm(here).status is Status.ABSENT
    plugins = Plugins((Plugin("vnf", "slow", lambda: type("D", (), {"checks": guests.CHECKS})),))
    well = [Finding(name, Group.PROGRAMS, Status.OK, "there") for name in ("qemu", "guest image")]
    (kvm,) = [one for one in guests.CHECKS if "kvm" in one.name]
    answer = kvm.ask(here)
    found = Finding(kvm.name, kvm.group, answer.status, answer.evidence, None, answer.proviso)
    (judged,) = judge_drivers(plugins, [*well, found]).values()
    assert (judged.ready, judged.proviso) == (True, "emulated")
