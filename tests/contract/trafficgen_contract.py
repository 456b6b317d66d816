"""What every traffic generator driver promises; a driver joins by subclassing with three fixtures.

    class TestMyGenerator(TrafficGeneratorContract):
        @pytest.fixture(scope="class")
        @classmethod
        def driver(cls) -> TrafficGenerator: ...   # the driver
        @pytest.fixture(scope="class")
        @classmethod
        def case(cls) -> CaseSpec: ...             # a case that it can send for on this machine
        @pytest.fixture(scope="class")
        @classmethod
        def rig(cls, case) -> Iterator[Rig]: ...   # ports of a sound switch that is running

Tests that only send share one session, and those that end one have their own. A file whose
generator takes the machine therefore marks all of itself: `pytestmark = pytest.mark.machine`.

The load is light, so that any generator and any switch can carry it on any machine: all frames of a
trial find room in a ring, and a trial is so short that the machine is away at most once in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from audit import audited
from driver_contract import DriverContract
from kept import Kept, keeping
from kept_session import state_of
from leave_no_trace import Places, left_behind, snapshot
from places import PLACEMENT, refused, started_generator

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.demands import refusals
from vsperf.config.flows import TTL, link_mac
from vsperf.config.wiring import directions_of
from vsperf.drivers.generators.base import GeneratorSession, TrafficGenerator, TrialRequest
from vsperf.errors import ComponentError, VsperfError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.histogram import summary
from vsperf.records.run import Endpoint
from vsperf.records.trial import RateStep, Sample, TrialCounts, intended_frames

LIGHT = TrialRequest(load_fps=1_000, duration_ns=250_000_000)
LOOKED_AT = replace(LIGHT, headers=True)
WITH_LATENCY = replace(LIGHT, latency=True)
FROM_A_MOMENT_ON = replace(WITH_LATENCY, latency_after_ns=150_000_000)
TWO_LOADS = TrialRequest.of_steps(RateStep(1_000, 150_000_000), RateStep(400, 100_000_000))


@dataclass(frozen=True, slots=True)
class Rig:
    """Ports to send to, and the ways between them."""

    endpoints: tuple[Endpoint, ...]
    directions: tuple[tuple[str, str], ...]


class TrafficGeneratorContract(DriverContract):
    """Checks that hold for any generator."""

    drives: ClassVar[Callable[[], TrafficGenerator]]
    """What makes its driver; where more is needed than that, `driver` is a fixture of its own."""

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> TrafficGenerator:
        return cls.drives()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def kept(
        cls, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> Iterator[Kept[GeneratorSession]]:
        with keeping(
            lambda _: started_generator(driver, case, rig.endpoints, rig.directions), state_of
        ) as kept:
            yield kept

    @pytest.fixture(autouse=True)
    def _room(self, request: pytest.FixtureRequest, kept: Kept[GeneratorSession]) -> None:
        if "session" not in request.fixturenames:
            kept.take_down()

    @pytest.fixture
    def session(
        self, request: pytest.FixtureRequest, kept: Kept[GeneratorSession]
    ) -> GeneratorSession:
        """The session that those share who only send through it."""
        return kept.lent(request.node.name)

    def test_planning_touches_nothing_and_is_repeatable(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        first = driver.plan(case, rig.endpoints, PLACEMENT)  # imports what has to be imported
        with audited() as seen:
            second = driver.plan(case, rig.endpoints, PLACEMENT)
        assert seen == []
        assert first == second

    @pytest.fixture
    def can(self, driver: TrafficGenerator, case: CaseSpec) -> Capabilities:
        return driver.capabilities(case)

    def test_what_it_can_do_is_data_that_asks_nobody(
        self, driver: TrafficGenerator, case: CaseSpec
    ) -> None:
        first = driver.capabilities(case)
        with audited() as seen:
            second = driver.capabilities(case)
        assert seen == []
        assert first == second
        assert (first.clock is not None) == first.can(Ability.LATENCY)
        needing = (Ability.EVERY_LATENCY, Ability.LATENCY_FROM, Ability.LATENCY_RANGES)
        claimed = [one for one in needing if first.can(one)]
        assert claimed == [] or first.can(Ability.LATENCY), f"without latency: {claimed}"
        assert driver_lacks_what(case, driver) == []

    def test_the_plan_says_who_does_what(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        steps = driver.plan(case, rig.endpoints, PLACEMENT)
        assert {step.component for step in steps} == {"generator"}
        assert [step for step in steps if not step.action] == [], "steps without words"

    def test_a_port_that_it_cannot_speak_to_is_refused_with_a_way_out(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        foreign = tuple(
            endpoint.model_copy(update={"kind": "carrier-pigeon"}) for endpoint in rig.endpoints
        )
        with pytest.raises(VsperfError, match="carrier-pigeon") as planned:
            driver.plan(case, foreign, PLACEMENT)
        assert planned.value.problems[0].fix, planned.value.problems[0].what
        refused(
            VsperfError, started_generator(driver, case, foreign, rig.directions), "carrier-pigeon"
        )

    def test_a_direction_over_a_link_without_endpoint_is_refused(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        refused(
            VsperfError,
            started_generator(driver, case, rig.endpoints, (("nowhere", rig.directions[0][1]),)),
            "nowhere",
        )

    def test_no_direction_at_all_is_refused(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        refused(VsperfError, started_generator(driver, case, rig.endpoints, ()))

    def test_settings_of_another_driver_are_refused(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        foreign = case.model_copy(update={"generator": DriverSpec(kind="something-else")})
        with pytest.raises(VsperfError, match="something-else"):
            driver.plan(foreign, rig.endpoints, PLACEMENT)

    def test_each_direction_is_counted_under_a_name_of_its_own(
        self, session: GeneratorSession, rig: Rig
    ) -> None:
        names = [way.name for way in session.run(LIGHT).directions]
        assert len(names) == len(rig.directions)
        for name, (enters, leaves) in zip(names, rig.directions, strict=True):
            assert name == f"{enters} to {leaves}"

    def test_it_tells_the_headers_of_frames_that_arrive_when_they_are_wanted(
        self, session: GeneratorSession, case: CaseSpec, can: Capabilities
    ) -> None:
        if not can.can(Ability.HEADERS):
            assert {way.first_headers for way in session.run(LOOKED_AT).directions} == {()}
            return
        assert {way.first_headers for way in session.run(LIGHT).directions} == {()}
        for way in session.run(LOOKED_AT).directions:
            assert way.first_headers, f"no frame of {way.name} was looked at"
            ends = [case.topology.links.index(link) for link in way.name.split(" to ")]
            for headers in way.first_headers:
                macs = (headers.source_mac, headers.destination_mac)
                assert macs == (link_mac(ends[0]), link_mac(ends[1]))
                assert (headers.layer3, headers.ttl, headers.vlans) == ("ipv4", TTL, ())

    def test_counters_are_whole_and_add_up(self, session: GeneratorSession) -> None:
        for way in session.run(LIGHT).directions:
            no_counts = {"name", "latency_histogram", "range_histograms", "steps", "first_headers"}
            for name, count in way.model_dump(exclude=no_counts).items():
                assert count is None or type(count) is int, name
            assert way.intended_frames == intended_frames(LIGHT.load_fps, LIGHT.duration_ns)
            assert 0 <= way.sent_frames <= way.intended_frames
            assert 0 <= way.good_frames <= way.sent_frames
            assert way.sent_frames + way.unsent_frames == way.intended_frames

    def test_a_light_load_is_honoured_and_arrives(
        self, session: GeneratorSession, case: CaseSpec
    ) -> None:
        counts = session.run(LIGHT)
        for way in counts.directions:
            tolerated = case.trial.offered_tolerance.value * way.intended_frames
            assert way.unsent_frames <= tolerated
            assert way.lost_frames <= tolerated
        assert counts.settled, "counters still moved when it was over"

    def test_an_absurd_load_is_sent_or_its_shortfall_is_visible(
        self, session: GeneratorSession
    ) -> None:
        request = TrialRequest(load_fps=1_000_000_000, duration_ns=10_000_000)
        for way in session.run(request).directions:
            assert way.intended_frames == 10_000_000
            assert 0 < way.sent_frames < way.intended_frames

    def test_times_are_those_of_the_request(
        self, session: GeneratorSession, case: CaseSpec
    ) -> None:
        counts = session.run(LIGHT)
        assert counts.elapsed_ns >= (counts.sending_ns or 0)
        if counts.sending_ns is None or any(way.unsent_frames for way in counts.directions):
            return
        # A machine that was away makes it longer, and nothing makes it shorter.
        last_due_ns = LIGHT.duration_ns - NANOSECONDS // LIGHT.load_fps
        assert counts.sending_ns >= last_due_ns * (1 - case.trial.offered_tolerance.value)

    def test_each_trial_is_counted_from_zero(self, session: GeneratorSession) -> None:
        first, second = session.run(LIGHT), session.run(LIGHT)
        assert _intended(first) == _intended(second)
        for way in second.directions:
            assert 0 < way.received_frames <= way.sent_frames, way.name

    def test_latency_is_measured_when_asked_for_and_only_then(
        self, session: GeneratorSession, can: Capabilities
    ) -> None:
        if not can.can(Ability.LATENCY):
            return refuses(session, WITH_LATENCY)
        for way in session.run(LIGHT).directions:
            assert way.latency_histogram is None
        for way in session.run(WITH_LATENCY).directions:
            found = summary(way.latency_histogram)
            assert found is not None
            assert 0 < found.minimum_ns <= found.mean_ns <= found.maximum_ns
            assert 0 < found.count <= way.received_frames
            if can.can(Ability.EVERY_LATENCY):
                assert found.count == way.good_frames

    def test_of_latencies_those_from_a_moment_on_can_be_asked_for(
        self, session: GeneratorSession, can: Capabilities
    ) -> None:
        if not can.can(Ability.LATENCY_FROM):
            return refuses(session, FROM_A_MOMENT_ON)
        for way in session.run(FROM_A_MOMENT_ON).directions:
            found = summary(way.latency_histogram)
            assert found is not None, f"{way.name}: no latency was told"
            assert found.count > 0
            assert (way.first_latency_ns or 0) > 0
            assert (way.first_sent_ns or 0) >= 150_000_000

    def test_ranges_of_frames_have_latencies_of_their_own(
        self, session: GeneratorSession, can: Capabilities
    ) -> None:
        if not can.can(Ability.LATENCY_RANGES):
            return refuses(session, replace(WITH_LATENCY, latency_ranges=((0, 9),)))
        request = replace(WITH_LATENCY, latency_ranges=((0, 9), (90, 99), (500, 600)))
        for way in session.run(request).directions:
            first, tenth, beyond = way.range_histograms
            assert first is not None and tenth is not None, f"{way.name}: {first}, {tenth}"
            assert summary(first).count == summary(tenth).count == 10
            assert beyond is None

    def test_loads_follow_each_other_and_each_frame_has_its_step(
        self, session: GeneratorSession, can: Capabilities
    ) -> None:
        if not can.can(Ability.STEPS):
            return refuses(session, TWO_LOADS)
        for way in session.run(TWO_LOADS).directions:
            assert way.intended_frames == TWO_LOADS.frames == 190
            assert [step.intended_frames for step in way.steps] == [150, 40]
            assert sum(step.sent_frames for step in way.steps) == way.sent_frames
            first, second = (step.began_ns for step in way.steps)
            assert first is not None and second is not None, f"{way.name}: {first}, {second}"
            assert second > first
            assert second >= 150_000_000
            if way.lost_frames == 0:
                assert way.recovery_ns() == 0

    def test_a_trial_tells_how_it_goes_once_a_second(
        self, session: GeneratorSession, can: Capabilities
    ) -> None:
        if not can.can(Ability.SECONDS):
            return
        heard: list[Sample] = []
        counts = session.run(TrialRequest(load_fps=1_000, duration_ns=2_500_000_000), heard.append)
        # A machine that was away makes it longer, or misses a second: there are no more than fit.
        assert 1 <= len(heard) <= counts.elapsed_ns // NANOSECONDS + 1
        for before, after in pairwise(heard):
            assert before.elapsed_ns < after.elapsed_ns
        for one, total in zip(heard[-1].directions, counts.directions, strict=True):
            assert one.name == total.name
            assert 0 < one.sent_frames <= total.sent_frames
            assert one.lost_frames is not None and one.lost_frames <= total.lost_frames

    def test_a_trial_of_nothing_is_an_error_and_the_session_goes_on(
        self, session: GeneratorSession
    ) -> None:
        for request in (TrialRequest(0, LIGHT.duration_ns), TrialRequest(LIGHT.load_fps, 0)):
            with pytest.raises(ComponentError):
                session.run(request)
        assert session.run(LIGHT).directions, "it makes no trials any more"

    def test_a_session_that_has_ended_makes_no_trials(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        with started_generator(driver, case, rig.endpoints, rig.directions) as session:
            session.run(LIGHT)
        with pytest.raises(ComponentError):
            session.run(LIGHT)

    def test_it_can_be_started_again(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig
    ) -> None:
        for _ in range(2):
            with started_generator(driver, case, rig.endpoints, rig.directions) as session:
                assert session.run(LIGHT).directions[0].received_frames > 0

    def test_it_leaves_nothing_behind_even_when_the_measurement_fails(
        self, driver: TrafficGenerator, case: CaseSpec, rig: Rig, tmp_path: Path
    ) -> None:
        with (
            _nothing_left(tmp_path),
            started_generator(driver, case, rig.endpoints, rig.directions) as session,
        ):
            session.run(LIGHT)
        with (
            _nothing_left(tmp_path),
            pytest.raises(ZeroDivisionError),
            started_generator(driver, case, rig.endpoints, rig.directions),
        ):
            raise ZeroDivisionError


def refuses(session: GeneratorSession, request: TrialRequest) -> None:
    """See that what a generator does not claim to tell is refused, and not made up."""
    with pytest.raises(ComponentError):
        session.run(request)


def driver_lacks_what(case: CaseSpec, driver: TrafficGenerator) -> list[str]:
    """Return what a case needs and its generator does not claim to be able to do."""
    ways = directions_of(case.topology, case.traffic.direction)
    problems = refusals(case, driver.capabilities(case), len(ways))
    return [problem.what for problem in problems]


def _intended(counts: TrialCounts) -> list[int]:
    return [way.intended_frames for way in counts.directions]


@contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    places = Places()
    before = snapshot(places, folder)
    yield
    assert left_behind(before, lambda: snapshot(places, folder)) == []
