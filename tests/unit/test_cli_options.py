"""Options that stand for settings: `--vswitch KIND,…` and its sisters, and `--mode trafficgen`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from vsperf.cli import selection
from vsperf.cli.main import cli
from vsperf.errors import SpecError, UsageError
from vsperf.plugins import Plugins
from vsperf.spec.case import Case
from vsperf.spec.document import ALTERNATIVES
from vsperf.spec.loader import Request, Shorthand
from vsperf.spec.topology import Topology

PROCESS = Shorthand("--vnf process", "vnf.kind=process", keeps=True)
OUTSIDE = Shorthand("--mode trafficgen", "vswitch.kind=external")


@pytest.fixture(name="plugins")
def fixture_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """Give the installed drivers, in a folder that holds no specifications."""
    monkeypatch.chdir(tmp_path)
    return Plugins.load()


def first(plugins: Plugins, name: str, *shorthands: Shorthand, sets: tuple[str, ...] = ()) -> Case:
    request = Request((name,), testbed="local", sets=sets, shorthands=shorthands)
    return selection.load(request, plugins).cases[0]


def setting(case: Case, name: str) -> object:
    return case.spec.model_dump(mode="json")["vnf"][name]


def test_the_kind_of_machines_can_be_chosen_and_the_record_says_by_what(plugins: Plugins) -> None:
    case = first(plugins, "pvp_tput", PROCESS)
    assert setting(case, "kind") == "process"
    assert case.origins["vnf.kind"] == "--vnf process"


def test_what_the_testcase_sets_for_machines_stays(plugins: Plugins) -> None:
    case = first(plugins, "pvp_mq_tput", PROCESS)
    assert (setting(case, "kind"), setting(case, "queues")) == ("process", 2)


def test_a_driver_that_a_testcase_names_is_replaced_with_its_settings(
    plugins: Plugins, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\ntopology: pvp\ntraffic: {frame_size: 64, flows: 1, direction: both}\n"
        "vnf: {kind: qemu, vcpus: 2, accelerator: tcg}\n"
    )
    case = first(plugins, "./own.yaml", PROCESS)
    assert (setting(case, "kind"), setting(case, "vcpus")) == ("process", None)


def test_a_setting_of_the_command_line_wins_over_the_option(plugins: Plugins) -> None:
    case = first(plugins, "pvp_tput", PROCESS, sets=("vnf.kind=qemu",))
    assert (setting(case, "kind"), case.origins["vnf.kind"]) == ("qemu", "--set vnf.kind=qemu")


def test_an_unknown_kind_is_refused_with_those_that_there_are(plugins: Plugins) -> None:
    with pytest.raises(SpecError) as caught:
        first(plugins, "pvp_tput", Shorthand("--vnf xen", "vnf.kind=xen", keeps=True))
    (problem,) = set(caught.value.problems)
    assert "xen" in problem.what
    assert "--vnf xen" in str(problem.where)
    assert "process, qemu" in str(problem.fix)


def test_seen_from_outside_there_is_one_device_between_the_links(plugins: Plugins) -> None:
    for name in ("phy2phy_tput", "pvp_tput", "pvvp_tput", "pvpv_tput"):
        case = first(plugins, name, OUTSIDE)
        assert case.spec.vswitch.kind == "external"
        assert case.spec.topology.paths == (("phy0", "phy1"),)
        assert case.spec.topology.name == "p2p"
    assert case.origins["topology"] == "--mode trafficgen"
    assert case.origins["vswitch.kind"] == "--mode trafficgen"


def test_a_case_measured_from_outside_is_another_case(plugins: Plugins) -> None:
    assert first(plugins, "pvp_tput", OUTSIDE).id != first(plugins, "pvp_tput").id


def test_links_keep_their_partners_from_outside(plugins: Plugins) -> None:
    case = first(
        plugins,
        "pvp_tput",
        OUTSIDE,
        sets=(
            "topology={paths: [[phy0, vm1, phy1], [phy1, vm2, phy0], [phy2, phy3]]}",
            "testbed.links.phy2={speed: 10G}",
            "testbed.links.phy3={speed: 10G}",
        ),
    )
    assert case.spec.topology == Topology(name="custom", paths=(("phy0", "phy1"), ("phy2", "phy3")))


def test_what_begins_in_a_machine_cannot_be_seen_from_outside(plugins: Plugins) -> None:
    with pytest.raises(UsageError, match="cannot be measured from outside"):
        first(plugins, "v2v_tput", OUTSIDE)


class TestSwitches:
    def shown(self, *options: str, testcase: str = "phy2phy_smoke") -> Any:
        argv = ["show", testcase, *options, "--json"]
        return CliRunner().invoke(cli, argv, catch_exceptions=False)

    def kinds(self, *options: str, testcase: str = "phy2phy_smoke") -> list[str]:
        found = json.loads(self.shown("--testbed", "local", *options, testcase=testcase).output)
        return [one["spec"]["vswitch"]["kind"] for one in found]

    @pytest.mark.usefixtures("plugins")
    def test_one_takes_the_place_of_the_testbeds(self) -> None:
        assert self.kinds("--vswitch", "sim") == ["sim"]

    @pytest.mark.usefixtures("plugins")
    @pytest.mark.parametrize(
        "options",
        [("--vswitch", "sim,ovs-dpdk"), ("--vswitch", "sim, ovs-dpdk"),
         ("--vswitch", "sim", "--vswitch", "ovs-dpdk")],
    )  # fmt: skip
    def test_several_are_a_list(self, options: tuple[str, ...]) -> None:
        assert self.kinds(*options) == ["sim", "ovs-dpdk"]

    @pytest.mark.usefixtures("plugins")
    def test_what_the_testcase_sets_for_whichever_switch_stays(self) -> None:
        argv = ("--testbed", "local", "--vswitch", "sim,ovs-dpdk")
        found = json.loads(self.shown(*argv, testcase="phy2phy_scalability").output)
        assert {one["spec"]["vswitch"]["flows"] for one in found} == {"network"}
        assert found[0]["origins"]["vswitch.kind"] == "--vswitch sim,ovs-dpdk"

    @pytest.mark.usefixtures("plugins")
    @pytest.mark.parametrize("kinds", ["sim,", ",", "sim,]", "a=b"])
    def test_what_cannot_be_a_kind_is_refused(self, kinds: str) -> None:
        with pytest.raises(UsageError, match="names no kind of vswitch"):
            self.shown("--vswitch", kinds)

    @pytest.mark.usefixtures("plugins")
    def test_an_unknown_one_is_refused_with_those_that_there_are(self) -> None:
        with pytest.raises(SpecError) as caught:
            self.shown("--testbed", "local", "--vswitch", "ovs-dpdk,ovs-dpkd")
        (problem,) = caught.value.problems
        assert "ovs-dpkd" in problem.what and "--vswitch ovs-dpdk,ovs-dpkd" in str(problem.where)
        assert "ovs-dpdk" in str(problem.fix)

    @pytest.mark.usefixtures("plugins")
    def test_none_can_be_chosen_from_outside(self) -> None:
        with pytest.raises(UsageError, match="exclude each other"):
            CliRunner().invoke(
                cli,
                ["plan", "phy2phy_smoke", "--vswitch", "sim", "--mode", "trafficgen"],
                catch_exceptions=False,
            )

    @pytest.mark.usefixtures("plugins")
    def test_completion_goes_on_behind_a_comma(self) -> None:
        switch, context = click.Option(["--vswitch"]), click.Context(cli)
        assert "sim,ovs-dpdk" in selection.complete_driver(context, switch, "sim,ovs")
        assert selection.complete_driver(context, switch, "sim,si") == []


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_help_names_both_modes(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"]).output
    assert "--mode [full|trafficgen]" in shown
    for section in ALTERNATIVES:
        assert f"--{section} KIND,..." in shown
