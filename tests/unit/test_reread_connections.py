"""What a search of connections printed is what its trials come to, by a program of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from all_wrong import none_wrong
from connection_models import Device, goodput, held, packets, rate
from reread_connections import OF_PARTS, answers_of_connections, since_check
from test_connection_soak import Keeper
from test_connection_soak import method as soak
from test_reconnect import Restarted
from test_reconnect import method as reconnect
from test_reread_figures import changed

from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connection_soak import ConnectionSoak
from vsperf.methods.reconnect import Reconnect
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import Limit, SearchResult
from vsperf.search.base import Budget

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
    held(max_connections=16_000, failed="5%"),
    packets(),
    packets(failed="5%"),
    goodput(response=1460),
    rate(syn_flood="5k"),
    packets(syn_flood="5k", half_open=True),
    rate(protocol="udp"),
    packets(protocol="udp"),
)


Asked = ConnectionSearch | ConnectionSoak | Reconnect
EVERY: tuple[tuple[Asked, Device], ...] = (
    (rate(syn_flood="5k"), Device(rate=12_345)),
    (held(syn_flood="5k", max_connections=8_000), Keeper(room=5_000)),
    (packets(syn_flood="5k"), Device(requests=50_000)),
    (goodput(syn_flood="5k"), Device(requests=50_000)),
    (rate(protocol="udp"), Device(rate=12_345)),
    (packets(protocol="udp"), Device(requests=50_000)),
    (soak(), Keeper(rate=999)),
    (reconnect(), Restarted(failed=12)),
)
"""Each method, on a device of which it has all there is to tell."""


def played(method: ConnectionSearch, device: Device) -> SearchResult:
    device.connect(method.checking())
    return method.play(device)


def differing(method: Asked, device: Device, result: SearchResult) -> list[str]:
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


def with_first(result: SearchResult, **change: Any) -> SearchResult:
    """Return a result whose first figure is another one."""
    first = result.figures[0].model_copy(update=change)
    return result.model_copy(update={"figures": (first, *result.figures[1:])})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 12_000}, "value"),
        ({"upper": 99_999}, "upper bound"),
        # It reads as `12,000 or more` then, and the trials say that 12,500 failed.
        ({"upper": None}, "upper bound printed None"),
        ({"value": None, "reason": "gone"}, "value"),
        ({"limit": Limit.SETTING}, "limit printed setting, and 12,"),
    ],
)
def test_what_is_another_is_told(change: dict[str, Any], said: str) -> None:
    device = Device(rate=12_345)
    changed = with_first(played(rate(), device), **change)
    assert said in "; ".join(differing(rate(), device, changed))


@pytest.mark.parametrize("busy_ppm", [300_000, 990_000])
def test_where_the_time_ended_a_load_is_an_upper_bound_if_nobody_else_can_have_failed_there(
    busy_ppm: int,
) -> None:
    for method in (rate(), packets(), goodput()):
        budget = Budget(9 * NANOSECONDS)
        device = Device(rate=12_345, requests=50_000, busy_ppm=busy_ppm, budget=budget)
        result = played(method, device)
        answer = result.figures[0]
        assert (answer.limit, answer.upper is None) == (Limit.BUDGET, busy_ppm > 950_000)
        none_wrong(differing(method, device, result))
        changed = with_first(result, upper=1 if answer.upper is None else None)
        assert "upper bound printed" in "; ".join(differing(method, device, changed))


@pytest.mark.parametrize("number", range(len(EVERY)))
def test_each_number_of_each_method_is_read_again(number: int) -> None:
    """Values, bounds and repeats of figures, and rows of curves; none knows parts of the time."""
    method, device = EVERY[number]
    device.made.clear()
    result = method.play(device)
    told = {name for name in method.metrics() if not name.endswith(OF_PARTS)}
    assert {one.name for one in result.figures} == told
    none_wrong(differing(method, device, result))
    others = [*changed(result), *moved(result)]
    none_wrong(name for name, other in others if not differing(method, device, other))


def test_what_a_generator_does_not_tell_is_nothing_that_differs() -> None:
    """Neither times nor who answered in another's place, as dperf and TRex have it."""
    untold = dict.fromkeys(("times", "launching_ns", "completing_ns", "paused_ns"))
    device = Device(rate=12_345, change=lambda index: dict(untold))
    result = played(rate(), device)
    for number, one in enumerate(device.made):
        assert one.counts is not None and one.counts.client is not None
        client = one.counts.client.model_copy(update={"misanswered": None, "wrong_payload": None})
        counts = one.counts.model_copy(update={"client": client})
        device.made[number] = one.model_copy(update={"counts": counts})
    assert differing(rate(), device, result) == []


def moved(result: SearchResult) -> Iterator[tuple[str, SearchResult]]:
    """Yield the result with each bound and each end of repeats another one, and with none."""
    for number, one in enumerate(result.figures):
        changes: list[dict[str, Any]] = []
        for name in ("lower", "upper"):
            if (bound := getattr(one, name)) is not None:
                changes += [{name: bound + 1}, {name: None}]
        if one.spread is not None:
            ends = {"runs": 9, "minimum": -1.0, "maximum": 1e12, "deviation": 0.5}
            for each in ends.items():
                changes.append({"spread": one.spread.model_copy(update=dict([each]))})
        for change in changes:
            other = one.model_copy(update=change)
            told = (*result.figures[:number], other, *result.figures[number + 1 :])
            yield f"{one.name} {', '.join(change)}", result.model_copy(update={"figures": told})


def test_accounts_that_do_not_add_up_are_told() -> None:
    device = Device(rate=12_345)
    result = played(rate(), device)
    made = device.made[-1]
    assert made.counts is not None
    assert made.counts.client is not None
    for name in ("intended", "completed", "refused", "reset"):
        changed = {name: getattr(made.counts.client, name) + 1}
        client = made.counts.client.model_copy(update=changed)
        counts = made.counts.model_copy(update={"client": client})
        device.made[-1] = made.model_copy(update={"counts": counts})
        assert any("which come to" in text for text in differing(rate(), device, result)), name


def test_packets_of_another_number_are_told() -> None:
    device = Device(requests=50_000)
    result = played(packets(), device)
    wrong = with_first(result, value=(result.figures[0].value or 0) + 1)
    assert "value" in "; ".join(differing(packets(), device, wrong))


def test_what_was_before_the_last_look_at_the_path_says_nothing() -> None:
    device = Device(rate=12_345)
    result = played(rate(), device)
    before = [one.model_copy(update={"rate_cps": 1}) for one in device.made]
    assert since_check([*before, *device.made]) == since_check(device.made)
    assert differing(rate(), device, result) == []
