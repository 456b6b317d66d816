"""All methods of this package keep the promises of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from all_methods import METHODS
from bench_models import method as with_short_trials
from method_contract import EVENTS, MethodContract
from search_models import METHODS as SEARCHES
from search_models import NDR_PDR, RANGE

from vsperf.methods.base import Method

THROUGHPUT = ("mlr", "rfc2544", "tst009")
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    **{
        kind: {"goals": NDR_PDR, **RANGE, **SEARCHES[kind]} for kind in ("mlr", "rfc2544", "tst009")
    },
    "fixed": {"loads": ["1Mfps", "50%"], "duration": "1s"},
    "latency": {"repeats": 2},
    "reset": {"events": list(EVENTS), "repeats": 1},
    "soak": {"duration": "10s"},
}
"""What some are told, so that they come to an answer soon."""
OTHERS = {
    "paired": "asks for rounds in place of trials",
    "connection_soak": "asks for connections in place of frames",
    "cps": "asks for connections in place of frames",
    "cc": "asks for connections in place of frames",
    "goodput": "asks for connections in place of frames",
    "pps": "asks for connections in place of frames",
    "reconnect": "asks for connections in place of frames",
    "crr": "asks programs in place of a generator",
    "http": "asks programs in place of a generator",
    "latency_under_load": "asks programs in place of a generator",
    "rr": "asks programs in place of a generator",
    "stream": "asks programs in place of a generator",
    "broadcast": "asks for frames to everybody",
    "learning": "asks for a switch that learns addresses",
    "caching": "asks for a switch that learns addresses",
    "churn": "asks for a switch whose rules change",
    "flow_setup": "asks for many flows",
    "wake_up": "asks for a switch that sleeps",
}
"""What the plain switch of the contract does not do for them; each has tests of its own."""


@pytest.mark.parametrize("method", sorted(METHODS.keys() - OTHERS), indirect=True)
class TestEach(MethodContract):
    @pytest.fixture
    def method(self, request: pytest.FixtureRequest) -> Method:
        kind = request.param
        told = {name: value for name, value in SETTINGS.get(kind, {}).items() if name != "kind"}
        return with_short_trials(kind, **told)
