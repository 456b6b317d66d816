"""OVS of this machine against that of another release, from its tree: told apart and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from debian_trees import PACKAGE, PACKAGES, debian_tree, other_release
from real_runs import FIXED, Place, fixture_calibrations, fixture_place, wait_until
from trees import mount_namespaces, mounts

__all__ = ["fixture_calibrations", "fixture_place"]

PAGE = REPOSITORY / "docs" / "how-to" / "compare-two-versions-of-ovs.md"
VERSIONS = {"bookworm": ("3.1.", "22.11"), "trixie": ("3.5.", "24.11")}


@pytest.fixture(name="tree", scope="module")
def fixture_tree(require: Callable[[str], None]) -> Path:
    """Give the tree of a release that this machine is not of."""
    require("debian-trees")
    return debian_tree(other_release())


def test_each_release_has_an_open_vswitch_of_its_own(tree: Path) -> None:
    """This one needs no machine, so the tree is made while others use it."""
    assert f"VERSION_CODENAME={tree.name}" in (tree / "etc" / "os-release").read_text()
    packages = (tree / "var" / "lib" / "dpkg" / "status").read_text()
    (entry,) = (one for one in packages.split("\n\n") if f"Package: {PACKAGE}\n" in f"{one}\n")
    assert f"\nVersion: {VERSIONS[tree.name][0]}" in entry


def switch_of(place: Place) -> dict[str, Any]:
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.conditions is not None
    return dict(case.record.conditions.switch)


@pytest.mark.machine
def test_two_releases_are_measured_and_compared(tree: Path, place: Place) -> None:
    before, namespaces = mounts(), mount_namespaces()
    found = []
    for root, release in (("null", "own"), (tree, tree.name)):
        ended = place(*FIXED, f"--set=vswitch.root={root}", f"--label=release={release}")
        assert ended.code in (0, 5), ended.err  # a busy machine may cost the number
        found.append(switch_of(place))
    own, other = found
    ovs, dpdk = VERSIONS[tree.name]
    assert ovs in other["version"][0]
    assert dpdk in other["dpdk_version"]
    assert tree.name in other["tree"]["system"]
    assert other["tree"]["packages"][PACKAGE].startswith(ovs)
    assert ovs not in own["version"][0]
    assert "tree" not in own
    assert mounts() == before
    assert wait_until(lambda: mount_namespaces() <= namespaces, patience_s=30)
    compared = place("compare", "release=own", f"release={tree.name}", "--json")
    assert compared.code == 0, compared.err
    said = json.loads(compared.out)
    assert "switch.dpdk_version" in str(said)
    assert "switch.tree.root" in str(said)


def test_the_page_makes_trees_as_this_test_does() -> None:
    text = PAGE.read_text()
    assert f"debootstrap --variant=minbase --include={PACKAGES}" in text
    assert "vsperf compare release=bookworm release=trixie" in text
    assert '--set "vswitch.root=/srv/trees/$release" --label "release=$release"' in text
