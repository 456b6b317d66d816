"""What the path check makes of the switch's counters."""

from __future__ import annotations

import pytest
from search_models import trial, way

from vsperf.engine.checks import diagnosis
from vsperf.record.switch import PortCounters, SwitchCounters
from vsperf.record.trial import Trial

SECOND = 1_000_000_000


def seen(first: tuple[int, int], second: tuple[int, int], **drops: int) -> Trial:
    """Return a lost trial with what the switch took and gave at each port."""
    ports = tuple(
        PortCounters(name=name, link=name, received_frames=took, sent_frames=gave)
        for name, (took, gave) in zip(("phy0", "phy1"), (first, second), strict=True)
    )
    switch = SwitchCounters(ports=ports, drops=drops)
    return trial(100, SECOND, [way(100, lost=100)]).model_copy(update={"switch": switch})


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((0, 0), (0, 0), "nothing reached the switch by phy0; the switch says: phy0 took 0 and"),
        ((100, 0), (0, 0), "the switch took frames from phy0 and gave none to phy1; the switch"),
        ((100, 100), (0, 0), "the switch took frames from phy0 and gave none to phy1; the switch"),
        ((100, 100), (100, 100), "the switch gave frames to phy1, and none of them arrived as one"),
    ],
)
def test_the_diagnosis_says_how_far_frames_came(
    first: tuple[int, int], second: tuple[int, int], words: str
) -> None:
    found = diagnosis(seen(first, second))
    assert found is not None
    assert found.startswith(words)
    assert found.endswith("dropped: nothing")


def test_the_diagnosis_is_silent_on_ways_whose_frames_arrive() -> None:
    lost = seen((100, 0), (100, 100))
    ways = (way(100), way(100, lost=100, name="phy1 to phy0"))
    found = diagnosis(lost.model_copy(update={"directions": ways}))
    assert found is not None
    assert found.startswith("the switch took frames from phy1 and gave none to phy0; the switch")


def test_the_diagnosis_names_what_dropped_frames_and_leaves_out_what_did_not() -> None:
    found = diagnosis(seen((100, 0), (0, 0), datapath_drop_lock=3, datapath_drop_nsh=0))
    assert found is not None
    assert found.endswith("dropped: 3 datapath_drop_lock")


def test_without_counters_of_the_switch_there_is_no_diagnosis() -> None:
    assert diagnosis(trial(100, SECOND, [way(100, lost=100)])) is None
