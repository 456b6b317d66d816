"""Counts of things in settings: written with a suffix or without, and kept as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from config_world import CHECKOUT

from vsperf.cli.main import run_cli
from vsperf.config.document import document_schema
from vsperf.config.loader import Request, load_cases
from vsperf.config.lookup import Library
from vsperf.plugins import Plugins

MANY = 10_000
"""A number that nobody likes to count the zeros of."""
NO_COUNTS = {
    "clock_hz", "emc", "heap", "memory", "memory_mb", "mpls", "request", "response", "ring",
    "rpc_port", "rx_descriptors", "rx_ring", "tx_descriptors", "tx_ring",
}  # fmt: skip
"""Frequencies, chances, bytes, labels, ports, and powers of two, of which a thousand is none."""


def _ids(name: str, *options: str) -> list[str]:
    request = Request((name,), testbed="local", sets=options)
    cases = load_cases(request, Library.find({}, CHECKOUT), Plugins.load().specs())
    return [case.id for case in cases]


@pytest.mark.parametrize(
    ("name", "short", "long"),
    [
        ("lb_cc", "search.max_connections=20k", "search.max_connections=20000"),
        ("lb_cc", "search.rate=2.5k", "search.rate=2500"),
        ("lb_cps", "search.max_rate=1M", "search.max_rate=1000000"),
        ("places_http_open", "search.rate=1k", "search.rate=1000"),
        ("phy2phy_tput", "generator.in_flight=1k", "generator.in_flight=1000"),
    ],
)
def test_a_count_with_a_suffix_is_the_same_count(name: str, short: str, long: str) -> None:
    assert _ids(name, short) == _ids(name, long)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("20x", "'20x' is not a count\n"),
        ("20kcps", "'20kcps' is not a count\n"),
        ("1.5", "a count must be a whole number, 1.5 is not\n"),
        ("20M", "'20M' is refused: must be at most 4194304\n"),
        ("0", "0 is refused: must be at least 1\n"),
    ],
)
def test_what_is_no_count_is_refused_where_it_is_written(
    written: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    setting = f"search.max_connections={written}"
    assert run_cli(["plan", "lb_cc", "--set", setting]) == 2
    told = capfd.readouterr().err
    assert f"error: `search.max_connections`: {said}   at: --set {setting}:24\n" in told
    if "is not a count" in said:
        assert "  fix: a count is written like 1, 4096, 8k, 1M, 16.8M\n" in told


def test_every_large_count_of_things_takes_a_suffix() -> None:
    schema = document_schema(Plugins.load().specs())
    bare = {name for name, part in _settings(schema) if part.get("maximum", 0) >= MANY}
    assert bare == NO_COUNTS


def _settings(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all settings that are plain integers, by name."""
    if isinstance(part, list):
        for one in part:
            yield from _settings(one)
    if not isinstance(part, dict):
        return
    for name, setting in (part.get("properties") or {}).items():
        yield from ((name, one) for one in _integers(setting))
    for one in part.values():
        yield from _settings(one)


def _integers(setting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in [setting, *setting.get("anyOf", []), setting.get("items") or {}]:
        if choice.get("type") == "integer":
            yield choice
