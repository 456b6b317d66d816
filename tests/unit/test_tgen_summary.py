"""What is said of a trial by hand: a rate that was not reached is named."""

from __future__ import annotations

import pytest

from vsperf.drivers.generators.tgen.summary import short

SAID = "the rate was not reached: 0 to itself sent"


@pytest.mark.parametrize(
    ("intended", "unsent", "said"),
    [
        (30_000_000, 20_991_104, [f"{SAID} 3.000 Mfps, and 69.97%"]),
        (30_000_000, 30_000, []),
        (0, 0, []),
    ],
)
def test_of_a_stream_that_was_not_sent_whole_it_is_said_how_much_is_missing(
    intended: int, unsent: int, said: list[str]
) -> None:
    stream = {"intended": intended, "unsent": unsent, "sent": 9_000_001, "sending_ns": 3 * 10**9}
    found = short(["0 to itself"], [stream])
    assert [text.partition(" of its")[0] for text in found] == said


def test_flat_out_there_is_no_rate_to_reach() -> None:
    assert short(["0 to 1"], [{"sent": 5, "sending_ns": 10}]) == []
