"""The examination as a whole: all checks answer, a run asks those that matter, nothing changes."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_machine import Machine, fixture_machine
from machine_tree import MachineTree
from rich.text import Text

from vsperf.cli.commands import doctor
from vsperf.cli.commands.doctor import LABEL, ending
from vsperf.cli.main import run_cli
from vsperf.cli.selection import library
from vsperf.cli.terminal import between_words
from vsperf.drivers.vnfs.qemu import checks as guests
from vsperf.engine import run as engine_run
from vsperf.errors import ExitCode, NotReadyError
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.doctor.devices import ask_kvm
from vsperf.host.doctor.examine import GENERAL, as_data, checks, demand, examine, examine_for
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Finding,
    Group,
    Host,
    Status,
    absent,
    failure,
    listed,
    ok,
    warning,
)
from vsperf.host.doctor.usable import Judged, judge_drivers, judge_testcase
from vsperf.host.doctor.wants import Want
from vsperf.host.facts import environment, environment_id
from vsperf.plugins import Plugin, Plugins
from vsperf.qemu.kvm import Outcome, Probe


@pytest.fixture(name="nowhere")
def fixture_nowhere(tmp_path: Path) -> Host:
    """A machine of which nothing is known."""
    return Host(
        roots=MachineTree(tmp_path).roots,
        usable=frozenset({0, 1}),
        environment={"PATH": ""},
        results=tmp_path,
    )


def test_every_check_has_a_name_of_its_own() -> None:
    names = Counter(check.name for check in checks(Plugins.load()))
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) >= 30


def test_this_machine_gets_an_answer_to_every_check(tmp_path: Path) -> None:
    found = list(examine(Host(results=tmp_path, plugins=Plugins.load())))
    assert [finding.name for finding in found if not finding.evidence] == []
    assert [f.name for f in found if f.status is Status.FAILURE and not f.fix] == []


def test_of_an_unknown_machine_nothing_measurable_is_called_well(nowhere: Host) -> None:
    found = {finding.name: finding for finding in examine(nowhere)}
    about_processors = [f for f in found.values() if f.group is Group.PROCESSORS]
    well = {f.name for f in about_processors if f.status is Status.OK}
    assert well <= {"cpus"}, "what cannot be read is not well"
    for name in ("memory", "memory nodes", "clock source", "cycle counter", "steal", "governor"):
        assert found[name].status is Status.UNKNOWN
        assert found[name].evidence.startswith("cannot be told: ")


def test_looking_at_a_machine_changes_none_of_its_files(tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.cpus(2)
    tree.user(0)
    tree.hugepages(0, 2048, 4, 4)
    tree.device("0000:03:00.0", "i40e", group=3)
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    here = Host(roots=tree.roots, results=tmp_path, environment={"PATH": ""})
    assert len(list(examine(here))) == len(GENERAL)
    after = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_a_check_that_stumbles_over_a_file_cannot_tell(nowhere: Host) -> None:
    def ask(here: Host) -> Answer:
        raise OSError("the file is strange")

    (finding,) = examine(nowhere, [Check("strange", Group.CLOCK, ask)])
    assert finding.status is Status.UNKNOWN
    assert "the file is strange" in finding.evidence


def test_a_run_asks_only_what_matters_to_its_parts(nowhere: Host) -> None:
    plugins = Plugins.load()
    chosen = [plugins.driver("vswitch", "ovs-dpdk"), plugins.driver("generator", "tgen")]
    names = {finding.name for finding in examine_for(chosen, nowhere)}
    assert {"tgen", "cycle counter"} <= names
    assert {"privileges", "hugepages", "load", "steal", "leftovers", "tap devices"} <= names
    assert names.isdisjoint({"nics", "vfio", "guests on kvm", "trex", "terminal", "specifications"})
    assert {"nics", "vfio", "iommu"} <= {f.name for f in examine_for((), nowhere, {Want.NICS})}


def test_a_model_of_a_switch_needs_nothing_of_the_machine(nowhere: Host) -> None:
    plugins = Plugins.load()
    assert examine_for([plugins.driver("vswitch", "sim")], nowhere) == []


def test_a_driver_brings_its_own_checks(nowhere: Host) -> None:
    class Driver:
        wants = frozenset({Want.CYCLE_COUNTER})
        checks = (
            Check("juniper", Group.PROGRAMS, lambda here: ok("there"), before_runs=True),
            Check("elder", Group.PROGRAMS, lambda here: ok("there")),
        )

    found = examine_for([Driver()], nowhere)
    assert [finding.name for finding in found] == ["juniper", "cycle counter"]
    every = checks(Plugins((Plugin("vswitch", "x", Driver), Plugin("vnf", "y", Driver))))
    assert [check.name for check in every if check not in GENERAL] == ["juniper", "elder"]


def test_all_failures_stop_a_run_at_once() -> None:
    findings = [
        Finding("hugepages", Group.MEMORY, Status.FAILURE, "0 free", "sysctl vm.nr_hugepages=512"),
        Finding("turbo", Group.PROCESSORS, Status.WARNING, "on", "off with it"),
        Finding("privileges", Group.RIGHTS, Status.FAILURE, "user 1000", "run with sudo"),
    ]
    with pytest.raises(NotReadyError) as raised:
        demand(findings)
    assert raised.value.exit_code == ExitCode.NOT_READY
    assert [(p.what, p.why, p.fix) for p in raised.value.problems] == [
        ("this machine is not ready: hugepages", "0 free", "sysctl vm.nr_hugepages=512"),
        ("this machine is not ready: privileges", "user 1000", "run with sudo"),
    ]


def test_warnings_and_what_cannot_be_told_stop_no_run() -> None:
    states = (Status.OK, Status.ABSENT, Status.UNKNOWN, Status.WARNING)
    demand(Finding("x", Group.CLOCK, status, "…") for status in states)


def test_a_record_keeps_what_was_found_as_plain_data() -> None:
    finding = Finding("steal", Group.OTHERS, Status.OK, "0.0 %", None)
    assert as_data([finding]) == [{"name": "steal", "status": "ok", "evidence": "0.0 %"}]


def test_cpus_are_written_as_the_kernel_writes_them() -> None:
    assert listed(frozenset({0, 2, 3, 4, 7})) == "0,2-4,7"
    assert listed(frozenset()) == ""


def test_the_failing_answer_and_its_fix_reach_the_finding(nowhere: Host) -> None:
    check = Check("x", Group.CLOCK, lambda here: failure("broken", "mend it"))
    (finding,) = examine(nowhere, [check])
    assert (finding.status, finding.evidence, finding.fix) == (Status.FAILURE, "broken", "mend it")


def test_one_environment_has_one_id() -> None:
    first, second = environment(), environment()
    assert first["id"] == second["id"] == environment_id(first)
    assert len(first["id"]) == 12


def test_the_id_changes_with_the_kernel_and_not_with_what_passes() -> None:
    facts = environment()
    newer = {**facts, "system": {**facts["system"], "kernel": "0.0.1"}}
    assert environment_id(newer) != facts["id"]
    twin = {**facts, "host": {**facts["host"], "hostname": "another", "hugepages": []}}
    assert environment_id(twin) == facts["id"]


def test_an_unknown_machine_has_facts_that_are_missing_and_never_zero(tmp_path: Path) -> None:
    machine = environment(MachineTree(tmp_path).roots)["host"]
    for name in ("memory_bytes", "cores", "microcode", "turbo", "hypervisor", "governor"):
        assert machine[name] is None


def test_an_examination_ends_soon_enough_to_be_made_before_every_run(tmp_path: Path) -> None:
    began, own = time.monotonic(), os.times()
    found = examine_for([Plugins.load().driver("vswitch", "ovs-dpdk")], Host(results=tmp_path))
    assert found[-1].name == "steal", "what looks at the load comes last"
    assert time.monotonic() - began >= 0.3, "the load was looked at for too short a time"
    assert os.times().user - own.user < 10


# How an examination ends: what can be used, what cannot and why, with no contradiction.

__all__ = ["fixture_machine"]


def driver(*answers: Answer, wants: frozenset[Want] = frozenset()) -> type:
    def asking(answer: Answer) -> Check:
        return Check(answer.evidence, Group.PROGRAMS, lambda here: answer)

    return type("Driver", (), {"checks": tuple(map(asking, answers)), "wants": wants})


WELL = Finding("tshark", Group.PROGRAMS, Status.OK, "there")
TWO_CPUS = CpuTopology(cpus=tuple(Cpu(number=n, core=n) for n in (0, 1)))
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
def fixture_found(machine: Machine) -> list[Finding]:
    machine.user(1000, "0")
    return list(examine(machine.here, checks(PLUGINS)))


def test_the_end_says_what_can_be_used_and_what_mends_the_rest_each_remedy_once(
    found: list[Finding],
) -> None:
    drivers = judge_drivers(PLUGINS, found)
    cases = [
        judge_testcase("phy2phy_tput", [("vswitch", "fast"), ("generator", "far")], drivers),
        judge_testcase("phy2phy_cps", [("vswitch", "fast")], drivers),
        judge_testcase("pvp_tput", [("vswitch", "fast"), ("vnf", "slow")], drivers),
        judge_testcase("pvp_wide", [("vswitch", "locked"), ("vnf", "slow")], drivers),
        judge_testcase("lb_cps", [("vswitch", "more")], drivers),
        judge_testcase("lb_cc", [("vswitch", "more")], drivers),
        judge_testcase("star", [("vswitch", "fast")], drivers),
    ]
    assert ending([*cases, *drivers.values()], 80) == [
        "ready: phy2phy_*, star; pvp_* (1 of 2) (emulated); vswitch fast; vnf slow (emulated)",
        "not:   pvp_wide, vswitch locked: run vsperf with sudo",
        "not:   lb_*, vswitch other, vswitch more: apt-get install other",
    ]


@pytest.mark.parametrize("case", ["phy2phy_tput_noise", "phy2phy_tput"])
def test_doctor_and_plan_give_one_answer_to_whether_there_is_a_cpu(
    case: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On two CPUs the switch has one and the generator the other, so none is left for noise."""
    monkeypatch.setattr(engine_run, "read_topology", lambda: TWO_CPUS)
    monkeypatch.setattr(doctor, "read_topology", lambda: TWO_CPUS)
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [WELL])
    planned = run_cli(["plan", case]) == ExitCode.OK
    fix = "--set noise.share=true"
    assert planned is not (fix in capfd.readouterr().err)
    run_cli(["doctor"])
    ready, *others = capfd.readouterr().out.partition("ready:")[2].split("not:")
    assert "places_*" in ready and "nat_*" in ready and "http_*" in ready
    (about,) = (one for one in others if fix in one)
    assert (case in about.replace(",", "").replace(":", "").split()) is not planned
    assert "noise stress" in about and "noise" not in ready


def test_of_testcases_for_which_there_are_few_cpus_doctor_says_what_a_plan_says(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On two CPUs a guest that never sleeps shares one with the switch or the generator."""
    monkeypatch.setattr(doctor, "read_topology", lambda: TWO_CPUS)
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [WELL])
    run_cli(["doctor"])
    ready = capfd.readouterr().out.partition("ready:")[2].partition("not:")[0]
    (about,) = (one for one in " ".join(ready.split()).split("; ") if "functional only" in one)
    assert "pvp_*" in about and "nat_" not in about


def test_testcases_that_cannot_be_with_the_options_are_told_with_what_mends_that(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [WELL])
    run_cli(["doctor", "--testbed", "sim"])
    ready, *others = capfd.readouterr().out.partition("ready:")[2].split("not:")
    assert "phy2phy_* (" in ready and "lb_" not in ready
    assert any("lb_*" in one and "--testbed local" in one for one in others)


def test_of_each_kind_of_testcases_it_is_said_whether_it_is_ready(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lost = Finding("nft", Group.PROGRAMS, Status.ABSENT, "nft is not there", "apt-get install nft")
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: [WELL, lost])
    run_cli(["doctor"])
    said = capfd.readouterr().out.partition("ready:")[2]
    (about,) = (line for line in said.splitlines() if "apt-get install nft" in line)
    told = {"nat_* (6 of 7)", "lb_* (7 of 8)", "vswitch nftables"}
    assert told <= set(about[7:].split(": ")[0].split(", "))
    kinds = {name.partition("_")[0] for name in library().testcases()}
    assert [kind for kind in sorted(kinds) if not re.search(rf"\b{kind}(_|,|\b)", said)] == []
    assert "p2p" not in said


def test_where_the_links_name_a_nic_that_is_not_there_no_testcase_is_ready(
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
    assert "phy2phy_" not in ready
    assert any("phy2phy_*, " in line for line in others)


def test_where_no_run_could_be_stored_no_testcase_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What no driver asks for is in the way of all of them, of a model, too."""
    monkeypatch.chdir(tmp_path)
    argv = ["doctor", "--testbed", "sim", "--results", "/proc/none"]
    assert run_cli(argv) == ExitCode.NOT_READY
    said = capfd.readouterr().out
    assert "✗ results" in said
    ready, *others = said[said.index("\nready:") :].strip().splitlines()
    assert "phy2phy_" not in ready
    assert any("phy2phy_" in line and "--results DIR" in line for line in others)


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
    command = "apt-get install --no-install-recommends dpdk-dev"
    judged = [Judged("vswitch", "testpmd", (command,)), Judged("vnf", "process", (command,))]
    names = "not:   vswitch testpmd, vnf process:"
    assert ending(judged, 85)[1] == f"{names} {command}"
    assert ending(judged, 84)[1] == f"{names}\n       {command}"


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
    if known is None:
        assert finding.fix == "vsperf run pvp_smoke", "a command that tries it"


def test_without_kvm_guests_can_be_used_emulated(machine: Machine) -> None:
    assert ask_kvm(machine.here).status is Status.ABSENT
    plugins = Plugins((Plugin("vnf", "slow", lambda: type("D", (), {"checks": guests.CHECKS})),))
    well = [Finding(name, Group.PROGRAMS, Status.OK, "there") for name in ("qemu", "guest image")]
    (kvm,) = [one for one in guests.CHECKS if "kvm" in one.name]
    answer = kvm.ask(machine.here)
    found = Finding(kvm.name, kvm.group, answer.status, answer.evidence, None, answer.proviso)
    (judged,) = judge_drivers(plugins, [*well, found]).values()
    assert (judged.ready, judged.proviso) == (True, "emulated")
