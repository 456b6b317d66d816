"""What `vsperf plan` says of several testcases: what differs, and which of them cannot be."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.text import Text

from vsperf.cli.commands.plan import print_plans
from vsperf.cli.drawing import draw
from vsperf.cli.main import run_cli
from vsperf.cli.terminal import PlainConsole, command_lines
from vsperf.config.topology import Topology
from vsperf.errors import ExitCode
from vsperf.methods.estimate import Estimate
from vsperf.plugins import Plugins

LOCAL = ("--testbed", "local", "--vswitch", "testpmd")
TWO = ("phy2phy_tput", *LOCAL, "--set", "traffic.frame_size=[64,512]")
REFUSED = ("--testbed", "sim", "phy2phy_cps")
"""A model opens no connections."""


def test_a_case_like_another_one_is_planned_by_the_steps_that_differ(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", *TWO]) == 0
    first, _, second = capfd.readouterr().out.partition("as phy2phy_tput-64B, but\n")
    assert "vswitch: " in first
    assert "64B frames, 1 flow per direction" in first
    step, case, *_ = second.splitlines()
    assert "512B frames" in step
    assert case.startswith("phy2phy_tput-512B: ")


def test_of_several_testcases_the_one_that_cannot_be_is_named(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", "phy2phy_smoke", *REFUSED]) == 2
    assert "   at: phy2phy_cps-1518B\n" in capfd.readouterr().err


def test_the_only_testcase_is_not_named_again(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plan", *REFUSED]) == 2
    assert "   at: " not in capfd.readouterr().err


# What it comes to stands first.


def test_a_plan_begins_with_what_is_started_where_for_how_many_cases_and_how_long(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", *TWO]) == 0
    lines = capfd.readouterr().out.splitlines()
    head, below = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert head[0].startswith("2 cases of phy2phy_tput on testbed local, about ")
    takes = head[0].partition("about ")[2]
    assert f"2 cases, about {takes}" in below, "as at the end"
    assert head[1] == "  starts switch testpmd, generator tgen"
    assert all(line.startswith("  on CPU ") for line in head[2:])
    assert "generator" in "".join(head[2:])


def test_cases_of_different_switches_say_what_each_starts(
    capfd: pytest.CaptureFixture[str],
) -> None:
    both = ("--testbed", "local", "--vswitch", "testpmd,linux-bridge")
    assert run_cli(["plan", "phy2phy_smoke", *both]) == 0
    printed = capfd.readouterr().out
    assert "2 cases of phy2phy_smoke" in printed
    assert "  starts switch testpmd, generator tgen\n" in printed
    assert "  starts switch linux-bridge, generator tgen\n" in printed


def estimates(capfd: pytest.CaptureFixture[str], *more: str) -> list[Estimate]:
    assert run_cli(["plan", *TWO, "--json", *more]) == 0
    return [Estimate(**case["estimate"]) for case in json.loads(capfd.readouterr().out)]


def test_a_plan_goes_by_the_budget_that_it_is_given(capfd: pytest.CaptureFixture[str]) -> None:
    whole, within = estimates(capfd), estimates(capfd, "--budget", "20s")
    assert sum(one.measuring_s for one in within) == pytest.approx(20)
    assert [one.beside_s for one in within] == [one.beside_s for one in whole], "no budget of that"
    assert sum(one.trials for one in within) < sum(one.trials for one in whole)
    assert run_cli(["plan", *TWO, "--budget", "20s"]) == 0
    assert "the budget of 20s is less than the estimate of " in capfd.readouterr().out


def test_a_budget_that_suffices_changes_no_plan(capfd: pytest.CaptureFixture[str]) -> None:
    assert estimates(capfd, "--budget", "10h") == estimates(capfd)


# A command can be copied: lines end between arguments, with a backslash.


@pytest.mark.parametrize("terminal", [True, False])
def test_commands_fit_the_terminal_and_are_what_a_shell_takes(terminal: bool) -> None:
    argv = [
        *("qemu-system-x86_64", "-name", "vm1,debug-threads=on", "-nodefaults", "-m", "256M"),
        *("-object", f"memory-backend-memfd,{'x' * 41}", "-append", "console=ttyS0 quiet " * 5),
        *("-netdev", "vhost-user,id=net0,chardev=wire0,queues=1", "-device", "y" * 200, "a b"),
    ]
    out = PlainConsole(stderr=False, width=80)
    out.file = file = io.StringIO()
    with patch.object(PlainConsole, "is_terminal", terminal):
        out.print_whole(Text(command_lines(argv, out, "     ")))
    lines = file.getvalue().splitlines()
    assert shlex.split(file.getvalue().replace("\\\n", "")) == argv, "as a shell joins lines"
    assert lines[0] == "     qemu-system-x86_64 -name vm1,debug-threads=on -nodefaults -m 256M \\"
    begun = [line for line in lines[1:-1] if line.startswith(" ")]
    assert all(line.startswith("       -") for line in begun), "an option begins each line"
    alone = [line for line in lines if len(line) > 80]
    assert [line.split()[0] for line in alone] == ["-device"], "there is nothing to fold it after"


@pytest.mark.parametrize(
    "argv",
    [
        ["qemu", "-device", f"virtio-net-pci,{'guest_csum=off,' * 20}end", "-m", "1M"],
        ["qemu", "-append", "console=ttyS0 it's 'quiet' " * 12],
        ["tgen", *(f"--vdev=net_virtio_user{n},path=RUN-A′/{'s' * 40},server=1" for n in range(3))],
    ],
)
def test_an_argument_that_is_longer_than_a_line_is_folded_and_stays_one(argv: list[str]) -> None:
    """A shell takes the indent of a further line for the end of an argument, so there is none."""
    out = PlainConsole(stderr=False, width=80)
    printed = command_lines(argv, out, "     ")
    assert shlex.split(printed.replace("\\\n", "")) == argv, "as a shell joins lines"
    assert max(map(len, printed.splitlines())) <= 80


FOLDED = ("pvp_tput", "phy2phy_paired", "http_one_core", "places_http")


@pytest.mark.parametrize("name", FOLDED)
def test_a_plan_fits_where_lines_have_to(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_cli(["plan", name]) == 0
    whole = re.sub(r"/\S*/", "/", capfd.readouterr().out)  # paths are those of the machine
    assert [line for line in whole.splitlines() if len(line) > 80] == []


def test_what_spoils_a_result_stands_on_top_of_its_plan(
    capfd: pytest.CaptureFixture[str],
) -> None:
    emulated = ("--set", "vnf.accelerator=tcg")
    assert run_cli(["plan", "pvp_tput", *emulated, "--set", "traffic.frame_size=[64,512]"]) == 0
    head, _, below = capfd.readouterr().out.partition("\n\n")
    assert "  ! guests are emulated (TCG): the result is functional only" in head.splitlines()
    assert "functional only" in below, "with the other notes, too"
    assert run_cli(["plan", *TWO]) == 0
    assert "functional only" not in capfd.readouterr().out.partition("\n\n")[0]


def test_an_option_is_parted_from_a_value_that_has_room_on_a_line_alone() -> None:
    out = PlainConsole(stderr=False, width=80)
    printed = command_lines(["program", "--a-long-option", "v" * 70], out, "")
    assert printed.splitlines() == ["program --a-long-option \\", f"  {'v' * 70}"]


def test_short_commands_stay_on_one_line() -> None:
    out = PlainConsole(stderr=False, width=80)
    assert command_lines(["tool", "a b"], out, "     ") == "     tool 'a b'"


# Drawings show where frames go, and which NIC of a VNF they go through.


@pytest.mark.parametrize(
    ("paths", "nics", "drawn"),
    [
        (["phy0 phy1"], 2, ["phy0 ──┤ ovs ├── phy1"]),
        (["phy0 vm1 phy1"], 2, ["phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── phy1"]),
        (["phy0 vm1 phy1"], 1, ["phy0 ──┤ ovs ├── 0[vm1] ──┤ ovs ├── phy1"]),
        (
            ["phy0 vm1 vm2 phy1"],
            2,
            ["phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── 0[vm2]1 ──┤ ovs ├── phy1"],
        ),
        (
            ["phy0 vm1 phy1", "phy0 vm2 phy1"],
            2,
            [
                "phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── phy1",
                "phy0 ──┤ ovs ├── 0[vm2]1 ──┤ ovs ├── phy1",
            ],
        ),
        (["vm1 vm2"], 2, ["generator ── 0[vm1]1 ──┤ ovs ├── 0[vm2]1 ── generator"]),
    ],
)
def test_each_path_is_a_line(paths: list[str], nics: int, drawn: list[str]) -> None:
    topology = Topology.model_validate(
        {"name": "x", "paths": [path.split() for path in paths], "nics": nics}
    )
    first, *rest = draw(topology, "ovs").splitlines()
    assert [first.removeprefix("x    "), *(line.strip() for line in rest)] == drawn


# What is missing on this machine stands on top of a plan, with what mends it, and is no error.

NOWHERE = ("phy2phy_smoke", "--vswitch", "vpp", "--set", "vswitch.install=/nowhere")
LAB = """\
testbed:
  name: lab
  links:
    phy0: {speed: 25G, generator: 'fffe:ff:1f.6', switch: 'fffe:ff:1f.7'}
    phy1: {speed: 25G, generator: 'fffe:ff:1e.6', switch: 'fffe:ff:1e.7'}
vswitch: {kind: ovs-dpdk}
generator: {kind: tgen}
"""


@pytest.mark.parametrize("command", [["plan"], ["run", "--dry-run"]])
def test_a_switch_that_is_not_installed_is_told_before_the_plan(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([*command, *NOWHERE]) == ExitCode.OK
    said = capfd.readouterr().out
    head, _, plan = said.partition("a run of this is refused here until then")
    assert head.startswith("! missing here: ")
    assert "/nowhere" in head.splitlines()[0]
    assert any(line.startswith("    fix: ") for line in head.splitlines())
    assert "phy0 ──┤ vpp ├── phy1" in plan


def test_a_run_of_which_nothing_is_left_has_a_plan_as_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was killed between its last case and its end."""
    print_plans((), Plugins.load(), as_json=False)
    assert capsys.readouterr().out == "0 cases left: all are measured\n"


def test_nics_that_are_absent_are_told_before_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conf" / "testbeds").mkdir(parents=True)
    (tmp_path / "conf" / "testbeds" / "lab.yaml").write_text(LAB)
    monkeypatch.chdir(tmp_path)
    assert run_cli(["plan", "phy2phy_smoke", "--testbed", "lab"]) == ExitCode.OK
    head, _, plan = capfd.readouterr().out.partition("a run of this is refused here until then")
    for address in ("fffe:ff:1f.6", "fffe:ff:1f.7", "fffe:ff:1e.6", "fffe:ff:1e.7"):
        assert f"there is no NIC at {address}" in head
    fixes = [line for line in head.splitlines() if line.startswith("    fix: ")]
    assert len(fixes) == len(set(fixes)), "each remedy once"
    assert "ovs-dpdk" in plan


def test_a_program_that_is_missing_is_told_once_for_all_cases(
    capfd: pytest.CaptureFixture[str],
) -> None:
    argv = ["plan", "places_tcp_stream", "places_udp_stream", "--set", "program.path=/nowhere"]
    assert run_cli(argv) == ExitCode.OK
    assert capfd.readouterr().out.count("the program /nowhere cannot be run") == 1


def test_data_say_of_each_case_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plan", *NOWHERE, "--json"]) == ExitCode.OK
    (case,) = json.loads(capfd.readouterr().out)
    assert any("/nowhere" in one["what"] and one["fix"] for one in case["missing"])
    assert run_cli(["plan", "phy2phy_smoke", "--testbed", "sim", "--json"]) == ExitCode.OK
    (case,) = json.loads(capfd.readouterr().out)
    assert case["missing"] == []
