"""The schema and the settable paths describe exactly what the loader accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from all_wrong import hold_each, relative
from config_world import CHECKOUT, DRIVERS, MINIMAL, library, problems, write
from jsonschema import Draft202012Validator

from vsperf.spec.document import document_schema, settable_paths
from vsperf.spec.loader import Request

SCHEMA = document_schema(DRIVERS)


def refused(document: Any) -> list[str]:
    """Return what the schema has against a document."""
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def test_the_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_accepts_the_files_of_the_project() -> None:
    def check(path: Path) -> None:
        assert refused(yaml.safe_load(path.read_text())) == []

    files = (CHECKOUT / "testcases").rglob("*.yaml")
    hold_each([*sorted(files), CHECKOUT / "conf/defaults.yaml"], check, relative)


@pytest.mark.parametrize(
    "document",
    [
        {"name": "part"},
        {"topology": "pvvp3"},
        {"topology": {"name": "pvvp", "vms": 3}},
        {"topology": {"paths": [["phy0", "phy1"]]}},
        {"traffic": {"frame_size": ["64B", 128], "flows": [1, "1M"], "direction": ["both"]}},
        {"search": {"width": "1%"}},
        {"vswitch": {"behaviour": {"kind": "lossy"}}},
        {"vswitch": "other"},
        {"vswitches": {"other": {"cpus": "1"}, "sim": None}},
        {"vswitch": ["sim", {"kind": "other", "cpus": "1"}, {"kind": "sim", "name": "twin"}]},
        {"use": {"preset": "quick"}},
        {"latency": None},
        {"extends": "base"},
        {"methods": {"fixed": {"duration": "1s"}, "mlr": None}},
        {"testcases": {"one": {}, "two": {"extends": "one", "traffic": {"flows": [1, 2]}}}},
    ],
    ids=str,
)
def test_the_schema_accepts_a_part_of_a_document(document: Any) -> None:
    assert refused(document) == []


@pytest.mark.parametrize(
    "document",
    [
        {"traffics": {}},
        {"traffic": {"size": 64}},
        {"traffic": {"frame_size": []}},
        {"topology": 3},
        {"topology": {"name": "pvp", "machines": 1}},
        {"search": {"kind": "mrl"}},
        {"search": {"kind": "fixed", "width": "1%"}},
        {"vswitch": {"kind": "xpp"}},
        {"vswitch": "xpp"},
        {"vswitches": {"xpp": {}}},
        {"vswitches": {"sim": {"cpus": "1"}}},
        {"vswitch": []},
        {"vswitch": ["sim", "xpp"]},
        {"vswitch": ["sim", {"kind": "sim", "cpus": "1"}]},
        {"vswitch": {"kind": "sim", "name": "twin"}},
        {"generator": ["sim", "xpp"]},
        {"search": ["mlr", "fixed"]},
        {"trial": {"learning": "yes"}},
        {"extends": ["base"]},
        {"methods": {"fixd": {"duration": "1s"}}},
        {"methods": {"fixed": {"width": "1%"}}},
        {"testcases": {}},
        {"testcases": {"one": None}},
        {"testcases": {"one": {"name": "one"}}},
        {"testcases": {"one": {"testcases": {"two": {}}}}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_the_loader_refuses(document: Any) -> None:
    assert refused(document)


def test_paths_name_settings_of_all_kinds_and_drivers() -> None:
    found = settable_paths(DRIVERS)
    assert {
        "traffic.frame_size",
        "trial.drain",
        "search.kind",
        "search.width",
        "search.resolution",
        "search.goals.NAME.loss_ratio",
        "testbed.links.NAME.speed",
        "vswitch.behaviour.probability",
        "vswitch.cpus",
        "generator.max_rate",
        "vnf.queues",
        "topology",
        "topology.vms",
        "use.testbed",
        "latency.loads",
    } <= set(found)
    assert found == sorted(set(found))


def test_every_listed_path_is_known_to_the_loader(tmp_path: Path) -> None:
    write(tmp_path, {"testcases/mine.yaml": MINIMAL})

    def check(path: str) -> None:
        setting = f"{path.replace('NAME', 'phy0' if 'links' in path else 'ndr')}=junk"
        # A setting of another kind is known where that kind is chosen.
        kinds = {
            "burst": "generator.kind=tgen",
            "workers": "generator.kind=tgen",
            "cpus": "vswitch.kind=other",
            "emc": "vswitch.kind=ovs",
            "forwarding": "vswitch.kind=vpp",
            "probability": "vswitch.behaviour.kind=lossy",
            "queues": "vnf.kind=loop",
        }
        last = path.rsplit(".", 1)[-1]
        of_a_driver = path.startswith(("vswitch", "generator", "vnf"))
        sets = [kinds[last]] if of_a_driver and last in kinds else []
        if path.startswith("search."):
            setting_of = path.split(".")[1]
            searches = [
                kind for kind, one in DRIVERS["search"].items() if setting_of in one.model_fields
            ]
            sets = [f"search.kind={searches[0]}"]
        request = Request(("mine",), testbed="sim", sets=(*sets, setting))
        told = [problem.what for problem in problems(library(tmp_path, tmp_path), request)]
        assert not [what for what in told if f"{last!r} is not known" in what]

    hold_each(settable_paths(DRIVERS), check)
