"""The plan of an OVS from a tree: each of its programs is run inside, and the plan shows how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case
from places import PLACEMENT

from vsperf.errors import NotReadyError
from vsperf.host.tree import Tree
from vsperf.record.plan import Step
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.vswitches.ovs.programs import find_programs, planned_programs

DAEMON = "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def planned(root: Path, links: dict[str, Any] | None = None, **switch: Any) -> list[Step]:
    case = ovs_case({"root": str(root), "flows": "learn", **switch}, links=links)
    return [step for step in OvsDpdk().plan(case, PLACEMENT).steps if step.argv]


def inside(argv: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """Return what stands before the program, and the program with its arguments."""
    words = list(argv or ())
    return words[: words.index("--")], words[words.index("--") + 1 :]


def test_every_program_is_run_in_the_tree_with_the_folder_of_the_deployment(tmp_path: Path) -> None:
    found = [inside(step.argv) for step in planned(tmp_path)]
    programs = [Path(program[0]).name for _, program in found]
    assert programs == ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd-dpdk", "ovs-ofctl", "ovs-ofctl"]
    for before, _ in found:
        assert str(tmp_path) in before
        assert "--folder=RUN" in before


def test_the_network_is_its_own_before_the_tree_is_entered(tmp_path: Path) -> None:
    (start,) = (step for step in planned(tmp_path) if "start the switch" in step.action)
    assert start.argv is not None
    assert start.argv[:2] == ("unshare", "--net")


@pytest.mark.parametrize(
    ("switch", "links", "devices"),
    [
        ({}, {}, ["net/tun", "hugepages"]),
        ({"hugepages": False}, {}, ["net/tun"]),
        (
            {},
            {"phy0": {"switch": "0000:03:00.0", "generator": "0000:04:00.0"}},
            ["net/tun", "hugepages", "vfio", "infiniband"],
        ),
    ],
)
def test_the_daemon_gets_the_devices_that_it_needs_and_no_tool_any(
    switch: dict[str, Any], links: dict[str, Any], devices: list[str], tmp_path: Path
) -> None:
    for step in planned(tmp_path, links, **switch):
        before, (program, *_) = inside(step.argv)
        found = [w.removeprefix("--device=") for w in before if w.startswith("--device=")]
        assert found == (devices if "vswitchd" in program else [])


def test_programs_are_found_in_the_tree_and_not_on_the_machine(tmp_path: Path) -> None:
    (tmp_path / "usr" / "sbin").mkdir(parents=True)
    (tmp_path / "usr" / "sbin" / "ovs-vswitchd").symlink_to("/etc/alternatives/ovs-vswitchd")
    (tmp_path / "etc" / "alternatives").mkdir(parents=True)
    (tmp_path / "etc" / "alternatives" / "ovs-vswitchd").symlink_to(f"/{DAEMON}")
    found = planned_programs(None, Tree(tmp_path))
    assert found.daemon == Path("/", DAEMON), "nothing is there, so the first place is named"
    (tmp_path / DAEMON).parent.mkdir(parents=True)
    (tmp_path / DAEMON).touch()
    (tmp_path / "usr" / "local" / "sbin").mkdir(parents=True)
    (tmp_path / "usr" / "local" / "sbin" / "ovs-vswitchd").touch()
    assert planned_programs(None, Tree(tmp_path)).daemon == Path("/", DAEMON)
    other = planned_programs("/usr/local", Tree(tmp_path))
    assert other.daemon == Path("/usr/local/sbin/ovs-vswitchd")


def test_a_tree_without_ovs_is_refused_with_what_puts_it_there(
    tmp_path: Path, require: Any
) -> None:
    require("root")
    with pytest.raises(NotReadyError, match=f"of the tree {tmp_path} is not there") as caught:
        find_programs(None, Tree(tmp_path))
    assert f"chroot {tmp_path} apt-get install" in (caught.value.problems[0].fix or "")


def test_a_case_from_a_tree_is_another_case_and_without_one_the_same_as_ever() -> None:
    plain, rooted = ovs_case(), ovs_case({"root": "/srv/trixie"})
    assert "root" not in plain.measured()["vswitch"]
    assert plain.measured() != rooted.measured()
