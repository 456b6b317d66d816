"""OVS of Debian 12 against OVS of Debian 13, each from its tree: measured, told apart, compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from debian_trees import PACKAGE, PACKAGES, RELEASES, debian_tree
from real_runs import Place, fixture_calibrations, fixture_place
from trees import mount_namespaces, mounts

__all__ = ["fixture_calibrations", "fixture_place"]

PAGE = REPOSITORY / "docs" / "how-to" / "compare-two-versions-of-ovs.md"
VERSIONS = {"bookworm": ("3.1.", "22.11"), "trixie": ("3.5.", "24.11")}


@pytest.fixture(name="trees", scope="module")
def fixture_trees(require: Callable[[str], None]) -> dict[str, Path]:
    """Give the trees by the names of their releases; others use the machine meanwhile."""
    require("debian-trees")
    return {release: debian_tree(release) for release in RELEASES}


def switch_of(place: Place) -> dict[str, Any]:
    (case,) = place.records().cases
    assert case.record is not None
    assert case.record.surroundings is not None
    return dict(case.record.surroundings.switch)


@pytest.mark.machine
def test_two_releases_are_measured_and_compared(trees: dict[str, Path], place: Place) -> None:
    before, namespaces = mounts(), mount_namespaces()
    for release, tree in trees.items():
        ended = place(
            *("run", "phy2phy_smoke", f"--set=vswitch.root={tree}", f"--label=release={release}")
        )
        assert ended.code in (0, 5), ended.err  # a busy machine may cost the number
        found, (ovs, dpdk) = switch_of(place), VERSIONS[release]
        assert ovs in found["version"][0]
        assert dpdk in found["dpdk_version"]
        assert release in found["tree"]["system"]
        assert found["tree"]["packages"][PACKAGE].startswith(ovs)
    assert mounts() == before
    assert mount_namespaces() <= namespaces
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
