"""What a search of connections printed is what its trials come to, by a program of its own."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY
from connection_models import Device, goodput, held, packets, rate

from vsperf.methods.connection_search import ConnectionSearch
from vsperf.records.result import SearchResult

sys.path.insert(0, str(REPOSITORY / "tools" / "bench"))
from reread_connections import answers_of_connections, since_check

DEVICES: dict[str, dict[str, Any]] = {
    "a device": {"rate": 12_345, "room": 54_321},
    "one that takes all": {},
    "one that takes nothing": {"rate": 3, "room": 3},
    "a slow generator": {"generator": 7_000},
    "a generator that begins nothing in time": {"generator": 100},
    "one that is slow with requests": {"requests": 23_456},
    "one that answers none": {"requests": 1},
    "a generator that is slow with requests": {"asks": 34_567},
}
ALL = (
    rate(),
    rate(failed="5%"),
    held(max_connections=200_000),
    packets(),
    packets(failed="5%"),
    goodput(response=1460),
    rate(syn_flood="5k"),
    packets(syn_flood="5k", half_open=True),
)


def played(method: ConnectionSearch, device: Device) -> SearchResult:
    device.connect(method.checking())
    return method.play(device)


def differing(method: ConnectionSearch, device: Device, result: SearchResult) -> list[str]:
    settings = method.model_dump(mode="json")
    found = answers_of_connections(settings, device.made, result)
    return [f"{name}: {text}" for name, against in found for text in against]


@pytest.mark.parametrize("name", DEVICES)
def test_what_was_printed_is_what_the_trials_say(name: str) -> None:
    wrong = []
    for method in ALL:
        device = Device(**DEVICES[name])
        wrong += differing(method, device, played(method, device))
    none_wrong(wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 12_000}, "value"),
        ({"upper": 99_999}, "upper bound"),
        ({"value": None, "reason": "gone"}, "value"),
    ],
)
def test_what_is_another_is_told(change: dict[str, Any], said: str) -> None:
    device = Device(rate=12_345)
    result = played(rate(), device)
    first = result.figures[0].model_copy(update=change)
    changed = result.model_copy(update={"figures": (first, *result.figures[1:])})
    assert said in "; ".join(differing(rate(), device, changed))


def test_packets_of_another_number_are_told() -> None:
    device = Device(requests=50_000)
    result = played(packets(), device)
    first = result.figures[0]
    assert first.value is not None
    changed = first.model_copy(update={"value": first.value + 1})
    wrong = result.model_copy(update={"figures": (changed, *result.figures[1:])})
    assert "value" in "; ".join(differing(packets(), device, wrong))


def test_what_was_before_the_last_look_at_the_path_says_nothing() -> None:
    device = Device(rate=12_345)
    result = played(rate(), device)
    before = [one.model_copy(update={"rate_cps": 1}) for one in device.made]
    assert since_check([*before, *device.made]) == since_check(device.made)
    assert differing(rate(), device, result) == []
