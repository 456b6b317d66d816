"""OVS of Debian 12 against OVS of Debian 13, each from its tree: measured, told apart, compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from debian_trees import PACKAGE, PACKAGES, RELEASES, debian_tree
from real_runs import FIXED, Place, fixture_calibrations, fixture_place, wait_until
from trees import mount_namespaces, mounts

__all__ = ["fixture_calibrations", "fixture_place"]

PAGE = REPOSITORY / "docs" / "how-to" / "compare-two-versions-of-ovs.md"
VERSIONS = {"bookworm": ("3.1.", "22.11"), "trixie": ("3.5.", "24.11")}


@pytest.fixture(name="trees", scope="module")
def fixture_trees(require: Callable[[str], None]) -> dict[str, Path]:
    """Give the trees by the names of their releases."""
    require("debian-trees")
    return {release: debian_tree(release) for release in RELEASES}


def test_each_release_has_an_open_vswitch_of_its_own(trees: dict[str, Path]) -> None:
    """This one needs no machine, so the trees are made while others use it."""
    for release, tree in trees.items():
        assert f"VERSION_CODENAME={release}" in (tree / "etc" / "os-release").read_text()
        packages = (tree / "var" / "lib" / "dpkg" / "status").read_text()
        (entry,) = (one for one in packages.split("\n\n") if f"Package: {PACKAGE}\n" in f"{one}\n")
        assert f"\nVersion: {VERSIONS[release][0]}" in entry


def switch_of(place: Place) -> dict[str, Any]:
    (case,) = place.records().cases
    assert case.record is not None
    assert case.record.surroundings is not None
    return dict(case.record.surroundings.switch)


@pytest.mark.machine
def test_two_releases_are_measured_and_compared(trees: dict[str, Path], place: Place) -> None:
    before, namespaces = mounts(), mount_namespaces()
    for release, tree in trees.items():
        ended = place(*FIXED, f"--set=vswitch.root={tree}", f"--label=release={release}")
        assert ended.code in (0, 5), ended.err  # a busy machine may cost the number
        found, (ovs, dpdk) = switch_of(place), VERSIONS[release]
        assert ovs in found["version"][0]
        assert dpdk in found["dpdk_version"]
        assert release in found["tree"]["system"]
        assert found["tree"]["packages"][PACKAGE].startswith(ovs)
    assert mounts() == before
    assert wait_until(lambda: mount_namespaces() <= namespaces, patience_s=30)
    compared = place("compare", "release=bookworm", "release=trixie", "--json")
    assert compared.code == 0, compared.err
    said = json.loads(compared.out)
    assert "switch.dpdk_version" in str(said)
    assert "switch.tree.root" in str(said)


def test_the_page_makes_the_trees_as_this_test_does() -> None:
    text = PAGE.read_text()
    assert f"debootstrap --variant=minbase --include={PACKAGES}" in text
    assert "vsperf compare release=bookworm release=trixie" in text
    assert '--set "vswitch.root=/srv/trees/$release" --label "release=$release"' in text
