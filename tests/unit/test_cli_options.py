"""Options that stand for settings: `--vnf KIND` and `--mode trafficgen`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from vsperf.cli import selection
from vsperf.cli.main import cli
from vsperf.errors import SpecError, UsageError
from vsperf.plugins import Plugins
from vsperf.spec.case import Case
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


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_help_names_both_modes(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"]).output
    assert "--mode [full|trafficgen]" in shown
    assert "--vnf KIND" in shown
