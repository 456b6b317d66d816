"""Other switches than OVS from a tree of files: they forward as the machine's own do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import switch_trees
from entered import left_alone
from ovs_traffic import SLOWLY, generator, send
from places import PLACEMENT, hugepages
from switch_cases import driver_of, started, switch_case
from vpp_cases import vpp_install

from vsperf.errors import NotReadyError

pytestmark = pytest.mark.machine

UP_S = 20.0


@dataclass(frozen=True)
class Rooted:
    """A switch, and the tree that it comes from."""

    kind: str
    tree: Path
    settings: dict[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        return {"root": str(self.tree), **self.settings}


@pytest.fixture(
    name="rooted",
    scope="module",
    params=["testpmd", pytest.param("vpp", marks=pytest.mark.thorough)],
)
def fixture_rooted(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    require: Callable[[str], None],
) -> Rooted:
    """Give a tree with a switch and what it loads, and nothing else."""
    kind = request.param
    for part in ("root", "ldd", "hugepages", "namespaces", "tgen"):
        require(part)
    require("dpdk-testpmd" if kind == "testpmd" else kind)
    folder = tmp_path_factory.mktemp("trees") / kind
    if kind == "testpmd":
        return Rooted(kind, switch_trees.testpmd_tree(folder), {})
    return Rooted(kind, switch_trees.vpp_tree(folder, vpp_install()), {"install": vpp_install()})


def test_frames_go_through_and_facts_tell_of_the_tree(rooted: Rooted) -> None:
    case = switch_case(rooted.kind, rooted.spec)
    endpoints = driver_of(rooted.kind).plan(case, PLACEMENT).endpoints
    with (
        left_alone(rooted.tree),
        hugepages(),
        started(case) as (running, place),
        generator(endpoints, running, place, ready=False) as tgen,
    ):
        running.await_ports(("phy0", "phy1"), UP_S)
        assert send(tgen, SLOWLY) == (40_000, 40_000)
        assert running.failure() is None
        facts = running.facts()
        running.restart(kill=True)
        running.await_ports(("phy0", "phy1"), UP_S)
        assert running.failure() is None
    assert facts["tree"]["root"] == str(rooted.tree)


def test_a_tree_without_the_switch_is_refused_with_its_name(rooted: Rooted, tmp_path: Path) -> None:
    case = switch_case(rooted.kind, rooted.spec | {"root": str(tmp_path), "foreign_root": True})
    with pytest.raises(NotReadyError, match=str(tmp_path)):
        driver_of(rooted.kind).require(case)
