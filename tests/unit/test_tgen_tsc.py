"""The speed of the TSC is in the record, and no trial is believed in which it was another."""

from __future__ import annotations

from typing import Any

import pytest

from vsperf.engine.instruments import looked_back
from vsperf.errors import ComponentError
from vsperf.record.host import Surroundings
from vsperf.stats.environment import case_facts
from vsperf.trafficgens.tgen.tsc import Tsc

HZ = 2_600_000_000
HELLO = {"tsc_hz": HZ, "tsc_hz_dpdk": 2_610_000_000}


def heard(*meanwhile_hz: int, elapsed_ns: int = 1_000_000_000) -> Tsc:
    """Return what is known after trials with these speeds."""
    tsc = Tsc.of(HELLO)
    for hz in meanwhile_hz:
        tsc.hear({"tsc_hz": HZ, "tsc_hz_meanwhile": hz, "elapsed_ns": elapsed_ns})
    return tsc


def test_both_speeds_are_known_from_the_beginning() -> None:
    assert Tsc.of(HELLO).facts() == {"hz": HZ, "hz_dpdk": 2_610_000_000}
    assert Tsc.of({}).facts() == {}


def test_the_greatest_deviation_of_all_trials_is_kept_either_way() -> None:
    assert heard(HZ + 26, HZ - 5200, HZ + 2600).facts()["most_off_ppm"] == 2.0
    assert heard(HZ).facts()["most_off_ppm"] == 0.0


@pytest.mark.parametrize("hz", [HZ * 998 // 1000, HZ * 1002 // 1000])
def test_a_trial_with_another_speed_is_refused_with_both(hz: int) -> None:
    with pytest.raises(ComponentError, match=r"no rate and no time .* holds.*2\.0 ms") as error:
        heard(hz)
    assert f"{HZ} Hz when tgen started, and {hz} Hz" in str(error.value.problems[0].why)


def test_where_another_clock_answers_for_it_the_speed_is_only_kept() -> None:
    tsc = Tsc.of(HELLO)
    result = {"tsc_hz": HZ, "tsc_hz_meanwhile": HZ // 2, "elapsed_ns": 10**9}
    tsc.hear(result, refuse=False)
    assert tsc.facts()["most_off_ppm"] == 500_000.0


def test_a_moment_says_nothing_of_a_clock() -> None:
    assert "most_off_ppm" not in heard(HZ // 2, elapsed_ns=99_999_999).facts()
    tsc = Tsc.of(HELLO)
    tsc.hear({"tsc_hz": HZ, "elapsed_ns": 10**9})
    assert "most_off_ppm" not in tsc.facts()


class Generator:
    """As much of a session as is asked for what its trials have shown."""

    def late_facts(self) -> dict[str, Any]:
        return {"tsc": heard(HZ + 26).facts()}


def test_the_record_has_what_the_trials_have_shown_beside_what_was_known_before() -> None:
    before = Surroundings(generator={"tgen": "0.1.0", "tsc": {"hz": HZ}})
    generator: Any = Generator()
    assert looked_back(before, generator).generator == {
        "tgen": "0.1.0",
        "tsc": {"hz": HZ, "hz_dpdk": 2_610_000_000, "most_off_ppm": 0.01},
    }
    other: Any = object()
    assert looked_back(before, other) is before, "not every generator knows more later"


def test_two_runs_do_not_differ_by_the_last_digits_of_a_speed() -> None:
    record: Any = type("Record", (), {})()
    record.surroundings = Surroundings(generator={"tgen": "0.1.0", "tsc": {"hz": HZ}})
    planned: Any = None
    assert case_facts(planned, None, record) == {"generator.tgen": "0.1.0"}
