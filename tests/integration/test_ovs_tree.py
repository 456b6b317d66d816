"""OVS from a tree of files: it forwards and counts like the machine's own, and leaves nothing."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from entered import left_alone
from ovs_cases import deployed, ovs_case
from ovs_traffic import SLOWLY, generator, send
from places import PLACEMENT, hugepages
from real_runs import FIXED, Place, fixture_calibrations, fixture_place
from switch_trees import ovs_tree

from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.programs import planned_programs
from vsperf.errors import NotReadyError
from vsperf.records.trial import Purpose

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory: pytest.TempPathFactory, require: Callable[[str], None]) -> Path:
    """Give a tree with this machine's OVS and what it loads, and nothing else."""
    for part in ("root", "ldd", "ovs-dpdk", "hugepages", "namespaces"):
        require(part)
    return ovs_tree(tmp_path_factory.mktemp("trees") / "own")


@pytest.fixture(name="tree")
def fixture_tree(made: Path) -> Iterator[Path]:
    """Give the tree, and see that it stays as it was and that no mount is left."""
    with left_alone(made):
        yield made


@pytest.mark.needs("tgen")
def test_frames_go_through_and_facts_tell_of_the_tree(tree: Path) -> None:
    case = ovs_case({"root": str(tree)})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with (
        hugepages(),
        deployed(case) as (running, place),
        generator(endpoints, running, place) as tgen,
    ):
        before = running.counters()
        assert send(tgen, SLOWLY) == (40_000, 40_000)
        growth = running.counters().since(before)
        assert running.failure() is None
        ran = {Path(f"/proc/{one.pid}/exe").stat().st_ino for one in running.daemons.values()}
        facts = running.facts()
        by_hand = running.access()
    assert [port.received_frames for port in growth.ports] == [20_000, 20_000]
    own = planned_programs(None)
    programs = [tree / one.relative_to("/") for one in (own.daemon, own.database_server)]
    assert ran == {program.stat().st_ino for program in programs}
    assert (facts["daemon"], facts["tree"]["root"]) == (str(own.daemon), str(tree))
    assert facts["daemon_sha256"] == own.tree.digest(own.daemon)
    assert "(Open vSwitch)" in facts["version"][0]
    assert all(str(tree) in command for command in by_hand[1:])


@pytest.mark.parametrize("kill", [False, True])
def test_it_is_started_again_from_the_tree(tree: Path, kill: bool) -> None:
    with hugepages(), deployed(ovs_case({"root": str(tree)})) as (running, _):
        first = running.daemons["ovs-vswitchd"].pid
        running.restart(kill=kill)
        assert running.daemons["ovs-vswitchd"].pid != first
        assert running.failure() is None


def test_without_hugepages_it_comes_up_too(tree: Path) -> None:
    with deployed(ovs_case({"root": str(tree), "hugepages": False})) as (running, _):
        assert running.failure() is None


def in_tree(tree: Path) -> tuple[str, ...]:
    return (*FIXED, f"--set=vswitch.root={tree}")


def test_a_run_from_the_tree_says_so_in_its_record(tree: Path, place: Place) -> None:
    ended = place(*in_tree(tree))
    assert ended.code == 0, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.conditions is not None
    found: dict[str, Any] = dict(case.record.conditions.switch)
    assert found["tree"]["root"] == str(tree)


@pytest.mark.parametrize("first", ["vsperf", "switch"])
def test_after_kill_9_of_vsperf_and_the_switch_nothing_is_left(
    first: str, tree: Path, place: Place
) -> None:
    run = place.start(*in_tree(tree))
    run.wait_for("TrialStarted", purpose=str(Purpose.SEARCH))
    if first == "switch":
        place.signal("ovs-vswitchd", signal.SIGKILL)
    run.process.kill()
    run.end()
    if first == "vsperf":
        place.signal("ovs-vswitchd", signal.SIGKILL)
    cleaned = place("clean")
    assert (cleaned.code, place.traces()) == (0, [])


def lacking(tree: Path, folder: Path, *names: str) -> Path:
    """Return a copy of a tree that lacks files, named by patterns."""
    copy = folder / "copy"
    shutil.copytree(tree, copy, symlinks=True, copy_function=_link)
    for name in names:
        for file in copy.rglob(name):
            file.unlink()
    return copy


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def refusal(root: Path) -> NotReadyError:
    driver = OvsDpdk()
    with pytest.raises(NotReadyError) as caught:
        driver.require(ovs_case({"root": str(root)}))
    return caught.value


@pytest.mark.parametrize(
    ("names", "what", "why"),
    [
        (("ovs-vswitchd*",), "ovs-vswitchd", "not installed"),
        (("ovsdb-tool",), "ovsdb-tool", "not installed"),
        (("vswitch.ovsschema",), "schema", ""),
        (("ld-linux*",), "cannot be loaded", "dynamic linker"),
        (("libunbound*",), "does not tell its version", "libunbound"),
    ],
)
def test_what_a_tree_lacks_is_named_before_anything_starts(
    names: tuple[str, ...], what: str, why: str, made: Path, tmp_path: Path
) -> None:
    error = refusal(lacking(made, tmp_path, *names))
    assert what in str(error)
    assert why in (error.problems[0].why or "")
