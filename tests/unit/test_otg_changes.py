"""Changes of a configuration in place, and what of one is told to change nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from otg_documents import config, flow

from vsperf.otg.config import Config, Place, merged, read_config
from vsperf.otg.document import Document, RefusedError
from vsperf.otg.frames import checksum

PLACES = {"p1": Place(0, None), "p2": Place(1, 10_000_000_000)}


@pytest.mark.parametrize(
    ("content", "sum_of_it"),
    [
        ("0001f203f4f5f6f7", 0x220D),
        ("0000", 0xFFFF),
        ("ffff", 0),
        ("ffff0001", 0xFFFE),
        ("01", 0xFEFF),
    ],
)
def test_a_checksum_is_that_of_the_internet(content: str, sum_of_it: int) -> None:
    assert checksum(bytes.fromhex(content)) == sum_of_it


class TestChanges:
    """`PATCH /config`: rates and sizes of flows that are named."""

    def changed(self, **said: Any) -> Config:
        before = read_config(config(flow("f"), flow("g")), PLACES)
        document = Document({"choice": "flows", "flows": said})
        return read_config(merged(before, document), PLACES)

    def test_what_is_named_is_changed_and_nothing_else(self) -> None:
        change = flow("g", size={"fixed": 512}, rate={"pps": 7})
        found = self.changed(property_names=["size"], flows=[change]).flows
        assert [one.size for one in found] == [128, 512]
        assert found[0].rate_fps == found[1].rate_fps != 7

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"flows": [flow("f", rate={"pps": 7})]}, "flows.property_names: is needed"),
            (
                {"property_names": ["rate"], "flows": [{"name": "f"}]},
                "flows.flows[0].rate: is needed, as property_names has it",
            ),
            ({"property_names": ["wings"], "flows": []}, "'wings' is not supported"),
            ({"property_names": ["size"], "flows": [flow("x")]}, "there is no flow 'x'"),
        ],
    )
    def test_one_that_would_change_nothing_is_refused(self, said: dict[str, Any], why: str) -> None:
        with pytest.raises(RefusedError, match=re.escape(why)):
            self.changed(**said)


def test_what_no_port_changes_is_told() -> None:
    layer = {"name": "l", "port_names": ["a"], "mtu": 9000}
    (told,) = read_config({**config(flow()), "layer1": [layer]}, PLACES).warnings
    assert told == "layer1[0].mtu: no port changes its own, and takes what it can"
    assert not read_config({**config(flow()), "layer1": [layer | {"mtu": 1500}]}, PLACES).warnings
