"""How tgen itself fared in a trial, as the record has it."""

from __future__ import annotations

from typing import Any

import pytest

from vsperf.record.generator import GeneratorActivity
from vsperf.trafficgens.tgen.messages import counts

WORKER = {"busy_ppm": 5, "longest_gap_ns": 6, "gaps_over_10us": 7, "paused_ns": 8}


def activity(*ports: dict[str, Any]) -> GeneratorActivity:
    """Return it for a trial whose ports say this."""
    listed = [{"port": number, **port} for number, port in enumerate(ports)]
    result = {"streams": [], "settled": True, "workers": [WORKER], "ports": listed}
    found = counts(result, (), None, 0).generator
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("ports", "missed"),
    [
        (({"missed": 3}, {"missed": 4}), 7),
        (({"missed": 3}, {}), 3),
        (({}, {}), 0),
    ],
)
def test_of_what_was_missed_as_much_counts_as_devices_told(
    ports: tuple[dict[str, Any], ...], missed: int
) -> None:
    assert activity(*ports).missed_frames == missed


def test_the_port_that_was_behind_longest_says_for_how_long_tgen_was() -> None:
    assert activity({"receive_behind_ns": 9}, {"receive_behind_ns": 70}).behind_ns == 70
