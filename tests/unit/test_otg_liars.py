"""A server of the OTG model that lies gives a flag or an error, and never a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from otg_fakes import FRAMES, REQUEST, Direct, FakeGenerator, case_for
from otg_liars import (
    AnswersLate,
    Becomes,
    ChangesItsMind,
    CountsNowAndThen,
    ForgetsArrivals,
    GivesUp,
    HasNoLink,
    Hides,
    LosesTheLink,
    NeverRests,
    NeverStops,
    OnePercentMore,
    OverCounts,
    Resets,
    Rushes,
    SecretlyMore,
    TooSlow,
)
from simulated_cases import simulated_case

from vsperf.engine.judge import Asked, judge
from vsperf.errors import ComponentError, DiedError
from vsperf.record.flags import Flag, Severity
from vsperf.record.trial import TrialCounts
from vsperf.trafficgens.otg.client import Client
from vsperf.trafficgens.otg.session import OtgSession
from vsperf.trafficgens.otg.spec import OtgSpec
from vsperf.trafficgens.otg.traffic import Way

BOTH = (
    Way("phy0 to phy1", 0, 1, "phy0", "phy1"),
    Way("phy1 to phy0", 1, 0, "phy1", "phy0"),
)


@contextmanager
def session_with(generator: FakeGenerator, **settings: Any) -> Iterator[OtgSession]:
    """Prepare a session in virtual time, as the driver does."""
    case = case_for("http://nowhere", **settings)
    assert isinstance(case.generator, OtgSpec)
    direct = Direct(generator)
    session = OtgSession(
        client=cast(Client, direct),
        spec=case.generator,
        profile=case.traffic,
        policy=case.trial,
        ways=BOTH,
        locations={"phy0": "a", "phy1": "b"},
        versions=direct.version(),
        clock=generator.time.clock,
    )
    with session.measuring():
        yield session


def flags(counts: TrialCounts) -> tuple[Flag, ...]:
    asked = Asked(REQUEST.load_fps, REQUEST.duration_ns, 2)
    return judge(counts, asked, simulated_case().trial)


def test_an_honest_one_gives_counts_that_add_up() -> None:
    with session_with(FakeGenerator()) as session:
        counts = session.run(REQUEST)
    for way in counts.directions:
        assert way.intended_frames == way.sent_frames == way.good_frames == FRAMES
        assert way.foreign_frames == 0
        assert way.latency_histogram is None
    assert counts.settled
    assert flags(counts) == (Flag.UNTIMED,)  # and nobody takes it for one that times itself


LIES = [
    (SecretlyMore(), "port phy0 sent 220 frames, and its flows 200"),
    (Hides(), "port phy0 received 100 frames, and its flows 200"),
    (Resets(), "reset counters in mid-trial: phy0 to phy1 sent 100 frames, and then 7"),
    (GivesUp(), "ended phy0 to phy1 after 7 of 200 frames"),
    (Rushes(), "sends too fast: 200 frames of phy0 to phy1 within 25 ms"),
    (HasNoLink(), "has no link on phy0, phy1"),
    (LosesTheLink(), "has no link on phy0, phy1"),
    (ForgetsArrivals(), "reset counters in mid-trial"),
    (Becomes(), "became another one: another, model 1.62.0"),
    (NeverStops(), "still sends 10 s after it was told to stop"),
]


@pytest.mark.parametrize(
    ("liar", "words"),
    LIES,
    ids=lambda one: type(one).__name__ if isinstance(one, FakeGenerator) else "",
)
def test_a_lie_that_its_own_counters_show_is_an_error(liar: FakeGenerator, words: str) -> None:
    with pytest.raises(ComponentError, match=words), session_with(liar) as session:
        session.run(REQUEST)


@pytest.mark.parametrize(
    ("liar", "flag"),
    [
        (OverCounts(), Flag.RX_EXCEEDS_TX),
        (OnePercentMore(), Flag.OVERSENT),
        (NeverRests(), Flag.COUNTERS_MOVING),
    ],
    ids=["OverCounts", "OnePercentMore", "NeverRests"],
)
def test_a_lie_that_the_judge_sees_makes_the_trial_invalid(liar: FakeGenerator, flag: Flag) -> None:
    with session_with(liar) as session:
        found = flags(session.run(REQUEST))
    assert flag in found
    assert flag.severity is Severity.INVALID


def test_what_is_not_sent_in_its_time_stays_unsent_and_is_seen() -> None:
    with session_with(TooSlow()) as session:
        counts = session.run(REQUEST)
    for way in counts.directions:
        assert 0 < way.sent_frames == way.good_frames < way.intended_frames
    assert Flag.SHORT_OFFER in flags(counts)


def test_one_that_answers_late_is_believed_as_long_as_its_counters_fit() -> None:
    with session_with(AnswersLate()) as session:
        counts = session.run(REQUEST)
    assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
    assert flags(counts) == (Flag.UNTIMED,)


def test_old_counters_give_no_number_unless_it_is_said_how_old_they_may_be() -> None:
    with session_with(CountsNowAndThen()) as session:
        found = flags(session.run(REQUEST))
        assert any(flag.severity is Severity.INVALID for flag in found)
    with session_with(CountsNowAndThen(), refresh="2s") as session:
        counts = session.run(REQUEST)
        assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
        assert flags(counts) == (Flag.UNTIMED,)


def test_figures_that_change_after_the_end_end_the_session() -> None:
    liar = ChangesItsMind()
    with session_with(liar) as session:
        session.run(REQUEST)
        liar.changed = True
        with pytest.raises(ComponentError, match="sent 200 and received 200 frames, and later 200"):
            session.run(REQUEST)
        why = session.failure()
        assert why is not None and "generator.refresh" in why  # so all its trials are made anew


def test_figures_of_the_last_trial_are_looked_at_once_more() -> None:
    liar = ChangesItsMind()
    with pytest.raises(DiedError, match="changed its figures"), session_with(liar) as session:
        session.run(REQUEST)
        liar.changed = True


def test_one_that_somebody_else_has_configured_meanwhile_is_left_to_them() -> None:
    generator = FakeGenerator()
    with session_with(generator) as session:
        session.run(REQUEST)
        generator.config = {"of": "theirs"}
        with pytest.raises(ComponentError, match="figures of the last trial are gone"):
            session.run(REQUEST)
        assert session.failure() is not None
    assert generator.config == {"of": "theirs"}
