"""DPDK goes on with fewer ports than it was asked for; tgen and vsperf do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vsperf.errors import ComponentError
from vsperf.trafficgens.dpdk_ports import Port
from vsperf.trafficgens.tgen.guest import GuestTgen

ANSWER = {"ports": [{"name": "0000:00:02.0", "port": 1, "link_up": True}]}


@pytest.fixture(name="tgen")
def fixture_tgen(monkeypatch: pytest.MonkeyPatch) -> GuestTgen:
    """Give a tgen in a guest, whose ports are not those that it was started with."""
    program: Any = None
    monkeypatch.setattr(GuestTgen, "ask", lambda tgen, verb: ANSWER)
    return GuestTgen("tgen-vm", Path("none"), program)


def port(name: str) -> Port:
    return Port(name=name, device=name, pci=True)


def test_a_port_has_the_number_that_dpdk_gave_it(tgen: GuestTgen) -> None:
    assert tgen.port_numbers({"east": port("0000:00:02.0")}) == {"east": 1}


def test_a_port_that_a_guest_does_not_have_is_named(tgen: GuestTgen) -> None:
    with pytest.raises(ComponentError, match=r"tgen has no port 0000:00:03\.0"):
        tgen.port_numbers({"east": port("0000:00:02.0"), "west": port("0000:00:03.0")})
