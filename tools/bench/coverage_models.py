"""Switches and generators whose truth is known, as time goes by: what a search is held against.

Each model is a small story of what happens on real machines, exact in whole frames. Time counts:
the same load may pass now and fail a minute later. A model never explains itself; what a search
knows is what a generator and a switch would have counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from coverage_world import EITHER, MOMENT_NS, NOBODY, Lane, World, activity, slots_of

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.records.threads import GENERATOR, SWITCH
from vsperf.records.trial import Direction, TrialCounts, intended_frames

BATCH = 32
WAYS = ("phy0 to phy1", "phy1 to phy0")
LINE_RATE = 14_880_952

Story = Callable[[World, int, int], Lane]
"""(world, load, duration) → one direction of a trial."""
Course = Callable[[World, int], float]
"""(world, time [ns]) → what there is of the capacity then, as a share of it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A story, and what is true in it."""

    name: str
    story: Story
    truth: Callable[[World], tuple[float, float]] = lambda world: (world.capacity, world.capacity)
    """Lowest and highest load [fps] that may rightly be called the capacity."""
    lossless: Callable[[World], tuple[float, float]] | None = None
    """The same for a goal that allows no loss, where that is another one."""
    plain: bool = False
    """Whether nothing happens that a search could be excused by."""
    limit: str = "dut"
    """Whose loss it is."""
    pace: float = 1.0
    """Real sending time over the intended one."""
    reverse: Story | None = None
    """The other direction, where it differs."""
    stalls: str | None = None
    """Who stands still now and then, so that there are slots of time: the generator, the switch as
    the kernel sees it, nobody that is seen from outside, or either of these two in turn."""
    stalls_per_second: int | None = None
    """How many there are; as on real machines unless told."""
    resets: bool = False
    """Whether the switch's counters begin anew now and then."""
    course: Course | None = None
    """What the capacity does by itself, whatever is offered. What is true of it is asked of a goal
    as RFC 9971 asks it: the highest load at which no greater share of full-length trials fails than
    may, of all that could be made in a long time. In the time of few trials that may be another
    one, which is as much as can be seen in them."""
    seeming: Callable[[World, int], tuple[float, float]] | None = None
    """(world, duration [ns]) → the lowest and highest load of which trials say no other than of the
    truth, since generator and switch do not tell."""
    timed: bool = True
    """Whether the generator tells when frames arrived."""
    counters: bool = True
    """Whether the switch counts."""
    numbered: bool = True
    """Whether the generator can tell copies from frames."""
    regimes: tuple[float, float] | None = None
    """For how many seconds in the mean the CPUs are near each other and far, which the round trip
    between them tells; None where nobody can tell."""

    def round_trip_ns(self, world: World) -> int | None:
        """Return how far the CPUs are from each other now."""
        return None if self.regimes is None else world.round_trip_ns(*self.regimes)

    def trial(
        self, world: World, load: int, duration_ns: int
    ) -> tuple[TrialCounts, SwitchCounters | None]:
        """Make a trial, and let the time pass."""
        world.trials += 1
        if self.stalls is not None:
            world.stand_still(duration_ns, self.stalls, self.stalls_per_second)
        stories = (self.story, self.reverse or self.story)
        lanes = [story(world, load, duration_ns) for story in stories]
        counts = TrialCounts(
            directions=tuple(
                Direction(
                    name=name,
                    intended_frames=lane.intended,
                    sent_frames=lane.sent,
                    received_frames=lane.received,
                    duplicate_frames=lane.duplicates if self.numbered else None,
                    refused_frames=lane.refused,
                    receiving_ns=(
                        round(duration_ns * self.pace) + lane.late_ns if self.timed else None
                    ),
                )
                for name, lane in zip(WAYS, lanes, strict=True)
            ),
            sending_ns=round(duration_ns * self.pace),
            elapsed_ns=round(duration_ns * self.pace) + NANOSECONDS // 8,
            settled=True,
            generator=activity(world.stalls),
            slots=slots_of(lanes, world.stalls, duration_ns) if self.stalls else None,
        )
        world.now_ns += counts.elapsed_ns
        if not self.counters:
            return counts, None
        ports = tuple(
            PortCounters(
                name=name,
                link=name[-4:],
                received_frames=lane.sent,
                sent_frames=lane.received,
                drops={"tx dropped": lane.dropped},
            )
            for name, lane in zip(WAYS, lanes, strict=True)
        )
        if self.resets and world.chance.random() < 0.3:
            ports = tuple(
                port.model_copy(update={"drops": {"tx dropped": -1000}}) for port in ports
            )
        return counts, SwitchCounters(ports=ports)


def over(load: int, duration_ns: int, capacity: float, extra: int = 0, buffer: int = 0) -> Lane:
    """Pass what the capacity allows, and drop the rest and `extra` frames, all of it counted."""
    intended = intended_frames(load, duration_ns)
    passed = min(intended, intended_frames(int(capacity), duration_ns) + buffer)
    passed = max(0, passed - extra)
    late_ns = max(0, int(passed * NANOSECONDS / capacity) - duration_ns) if buffer else 0
    return Lane(intended, intended, passed, dropped=intended - passed, late_ns=late_ns)


def ideal(world: World, load: int, duration_ns: int) -> Lane:
    """A sharp capacity."""
    return over(load, duration_ns, world.capacity)


def refusing(world: World, load: int, duration_ns: int) -> Lane:
    """A sharp capacity, on a virtual port: what it cannot take stays with the generator."""
    found = over(load, duration_ns, world.capacity)
    short = found.intended - found.received
    return Lane(found.intended, found.received, found.received, refused=short)


def batches(share: float, per_second: float) -> Story:
    """The switch itself drops a batch now and then, above a share of its capacity."""

    def story(world: World, load: int, duration_ns: int) -> Lane:
        busy = load > share * world.capacity
        extra = BATCH * world.events(per_second, duration_ns) if busy else 0
        return over(load, duration_ns, world.capacity, extra)

    return story


def hysteresis(world: World, load: int, duration_ns: int) -> Lane:
    """For five seconds after overload it forwards a tenth less."""
    tired_until = world.memory.setdefault("tired_until", -1)
    tired = world.now_ns < tired_until
    capacity = world.capacity * (0.9 if tired else 1)
    if load > capacity:
        world.memory["tired_until"] = world.now_ns + duration_ns + 5 * NANOSECONDS
    return over(load, duration_ns, capacity)


def shares(
    course: Course, world: World, at_ns: int, duration_ns: int, step_ns: int = MOMENT_NS
) -> list[float]:
    """Return what there is of the capacity in each moment of a trial that begins then."""
    return [course(world, at_ns + later_ns) for later_ns in range(0, duration_ns, step_ns)]


def by_itself(course: Course) -> Story:
    """A capacity that changes with time, in the middle of trials, too."""

    def story(world: World, load: int, duration_ns: int) -> Lane:
        there = shares(course, world, world.now_ns, duration_ns)
        passed = sum(min(load, share * world.capacity) for share in there) / len(there)
        return over(load, duration_ns, passed if passed < load else world.capacity)

    return story


def two_levels(least_s: float, most_s: float) -> Course:
    """It is either of two, by chance, each for so many seconds in the mean."""

    def course(world: World, at_ns: int) -> float:
        means = [world.drawn(name, least_s, most_s) for name in ("high for", "low for")]
        return world.drawn("low", 0.7, 0.97) if world.is_low(at_ns, *means) else 1.0

    return course


def two_regimes(near_s: float, far_s: float) -> Course:
    """It is less while the CPUs are far from each other, each for so many seconds in the mean."""

    def course(world: World, at_ns: int) -> float:
        return far(world) if world.is_low(at_ns, near_s, far_s) else 1.0

    return course


def far(world: World) -> float:
    """What there is of the capacity while the CPUs are far from each other."""
    return world.drawn("low", 0.5, 0.95)


def regimes(name: str, near_s: float, far_s: float) -> Model:
    """Return a switch on a machine that moves its CPUs."""
    course = two_regimes(near_s, far_s)
    return Model(name, by_itself(course), course=course, regimes=(near_s, far_s))


def and_stalls(model: Model) -> Model:
    """Return the same on a machine that stalls its generator besides."""

    def story(world: World, load: int, duration_ns: int) -> Lane:
        return losing_in_stalls(world, model.story(world, load, duration_ns))

    return replace(
        model, name=f"{model.name}, stalled", story=story, stalls=GENERATOR, limit="host"
    )


def wave(least_s: float, most_s: float) -> Course:
    """It goes up and down between itself and a few percent less."""

    def course(world: World, at_ns: int) -> float:
        turn = at_ns / NANOSECONDS / world.drawn("period", least_s, most_s)
        phase = world.drawn("phase", 0, 1)
        depth = world.drawn("depth", 0.02, 0.08)
        return 1 - depth * (1 + math.sin(2 * math.pi * (turn + phase))) / 2

    return course


def jitter(world: World, at_ns: int) -> float:
    """Each second it is another one, up to a percent less."""
    second = at_ns // NANOSECONDS
    depth = world.drawn("depth", 0.001, 0.01)
    return 1 - depth * Random(f"{world.seed} {second}").random()  # noqa: S311 - a simulation


def tired_until_rest(world: World, load: int, duration_ns: int) -> Lane:
    """Overload tires it, and it forwards less until it is offered much less."""
    tired, rests = world.drawn("tired", 0.6, 0.9), world.drawn("rests", 0.3, 0.55)
    if load <= rests * world.capacity:
        world.memory["tired"] = 0
    elif load > world.capacity:
        world.memory["tired"] = 1
    return over(load, duration_ns, world.capacity * (tired if world.memory.get("tired") else 1))


def buffer_s(world: World) -> float:
    """How much a buffer takes, as time at capacity."""
    return world.drawn("buffer", 0.02, 0.5)


def buffer_drawn(world: World, load: int, duration_ns: int) -> Lane:
    """A buffer of some size."""
    return buffer_of_time(buffer_s(world))(world, load, duration_ns)


def with_buffer(world: World, duration_ns: int) -> tuple[float, float]:
    """What passes in so long, counted frames alone."""
    return (
        world.capacity,
        world.capacity * (1 + buffer_s(world) * NANOSECONDS / duration_ns),
    )


def copies(world: World) -> float:
    """Which share of the frames arrives twice."""
    return world.drawn("copied", 0.0005, 0.005)


def received_twice(world: World, load: int, duration_ns: int) -> Lane:
    """The generator counts some frames twice, in some trials."""
    found = over(load, duration_ns, world.capacity)
    if world.chance.random() < world.drawn("trials with copies", 0.1, 1):
        found.received += int(found.received * copies(world))
    return found


def copied_under_overload(world: World, load: int, duration_ns: int) -> Lane:
    """The switch sends some frames twice while it is offered too many."""
    found = over(load, duration_ns, world.capacity)
    if load > world.capacity:
        found.received += int(found.received * copies(world))
    return found


def with_copies(world: World, duration_ns: int) -> tuple[float, float]:
    """What passes if copies count as frames."""
    del duration_ns
    return world.capacity, world.capacity * (1 + copies(world))


def after(share_of: Callable[[World], float]) -> Story:
    """A capacity that changes with time."""
    return lambda world, load, duration_ns: over(
        load, duration_ns, world.capacity * share_of(world)
    )


def drift(world: World) -> float:
    """It loses 5 % in a minute."""
    return _drifted(world.now_ns)


def _drifted(now_ns: int) -> float:
    return max(0.95, 1 - 0.05 * max(0, now_ns) / (60 * NANOSECONDS))


def around_drift(world: World) -> tuple[float, float]:
    """Return the truth of the time in which bounds are tried at the end, each at its moment."""
    before = _drifted(world.now_ns - 10 * NANOSECONDS)
    return drift(world) * world.capacity, before * world.capacity


def step(world: World) -> float:
    """After some time it forwards a tenth less."""
    return 0.9 if world.now_ns > _moment_ns(world) else 1.0


def _moment_ns(world: World) -> int:
    moment: int = world.memory.setdefault("moment", world.chance.randrange(5, 60))
    return moment * NANOSECONDS


def around_step(world: World) -> tuple[float, float]:
    """Return the truth at the end; of a step within the last seconds nobody can know."""
    if abs(world.now_ns - _moment_ns(world)) < 3 * NANOSECONDS:
        return 0.9 * world.capacity, world.capacity
    return now(step)(world)


def turbo(world: World) -> float:
    """For the first 20 s its clock is faster."""
    return 1.1 if world.now_ns < 20 * NANOSECONDS else 1.0


def cold(world: World, load: int, duration_ns: int) -> Lane:
    """For two seconds it loses a hundredth at any load."""
    extra = intended_frames(load, duration_ns) // 100 if world.now_ns < 2 * NANOSECONDS else 0
    return over(load, duration_ns, world.capacity, extra)


def buffered(frames: int) -> Story:
    """A buffer takes what is too much, for as long as it has room."""
    return lambda world, load, duration_ns: over(load, duration_ns, world.capacity, buffer=frames)


def buffer_of_time(seconds: float) -> Story:
    """A buffer of so many seconds at capacity."""
    return lambda world, load, duration_ns: over(
        load, duration_ns, world.capacity, buffer=int(seconds * world.capacity)
    )


def vanishing(world: World, load: int, duration_ns: int) -> Lane:
    """One in 20,000 frames vanishes, and nobody counts it."""
    found = over(load, duration_ns, world.capacity)
    found.received -= found.received // 20_000
    return found


def late(world: World, load: int, duration_ns: int) -> Lane:
    """A few frames of a trial are counted in the next one."""
    found = over(load, duration_ns, world.capacity)
    waiting = world.memory.setdefault("waiting", 0)
    world.memory["waiting"] = found.received // 5000
    found.received += waiting - found.received // 5000
    return found


def duplicating(world: World, load: int, duration_ns: int) -> Lane:
    """One frame in 1000 arrives twice, and the generator cannot tell."""
    found = over(load, duration_ns, world.capacity)
    found.received += found.received // 1000
    return found


def rare(world: World, load: int, duration_ns: int) -> Lane:
    """One trial in thirty seconds of sending loses three frames at any load."""
    return over(load, duration_ns, world.capacity, 3 * world.events(1 / 30, duration_ns))


def slower(world: World, load: int, duration_ns: int) -> Lane:
    """The load that was really offered is a little less: there is more time for each frame."""
    return over(load, duration_ns, world.capacity * 1.009)


def losing(found: Lane, moments: Sequence[int]) -> Lane:
    """Lose a batch at each of these moments."""
    lost = min(found.received, BATCH * len(moments))
    found.received -= lost
    found.dropped += lost
    found.moments = tuple((at_ns, BATCH) for at_ns in moments[: lost // BATCH])
    return found


def stalled(world: World, load: int, duration_ns: int) -> Lane:
    """In each stall of half a millisecond a batch is lost before a ring that is full."""
    return losing_in_stalls(world, over(load, duration_ns, world.capacity))


def losing_in_stalls(world: World, found: Lane) -> Lane:
    """Lose a batch in each stall of half a millisecond."""
    return losing(found, [stall.at_ns for stall in world.stalls if stall.ns > NANOSECONDS // 2000])


def dropping(world: World, load: int, duration_ns: int) -> Lane:
    """The switch itself drops a batch twice a second above a fifth of its capacity."""
    busy = load > 0.2 * world.capacity
    drops = world.events(2.0, duration_ns) if busy else 0
    moments = [world.chance.randrange(duration_ns) for _ in range(drops)]
    return losing(over(load, duration_ns, world.capacity), moments)


def now(share_of: Callable[[World], float]) -> Callable[[World], tuple[float, float]]:
    """Return the truth at the end: what somebody would get who used the switch from then on."""
    return lambda world: (share_of(world) * world.capacity,) * 2


def at(*shares: float) -> Callable[[World], tuple[float, float]]:
    """Return the truth as shares of the capacity."""
    return lambda world: (min(shares) * world.capacity, max(shares) * world.capacity)


MODELS = (
    Model("ideal", ideal, plain=True),
    Model("refusing", refusing, plain=True),
    Model(
        "one direction is slower",
        ideal,
        plain=True,
        truth=at(0.7),
        reverse=lambda world, load, ns: over(load, ns, 0.7 * world.capacity),
    ),
    Model(
        "small buffer",
        buffered(1000),
        plain=True,
        truth=lambda world: (world.capacity, world.capacity + 4000),
    ),
    Model("rare loss", rare, plain=True),
    Model("buffer of 50 ms", buffer_of_time(0.05)),
    Model("buffer of 500 ms", buffer_of_time(0.5)),
    Model("batches above 20 %", batches(0.2, 2.0), lossless=at(0.2, 0.21)),
    Model("hysteresis", hysteresis, truth=at(0.9, 1.0)),
    Model("drift", after(drift), truth=around_drift),
    Model("step", after(step), truth=around_step),
    Model("turbo", after(turbo), truth=now(turbo)),
    Model("cold start", cold),
    Model("vanishing, uncounted", vanishing, truth=lambda world: (0, 1), limit="uncounted"),
    Model("slow generator", slower, pace=1.009),
    Model(
        "fast generator", lambda world, load, ns: over(load, ns, world.capacity / 1.1), pace=1 / 1.1
    ),
    Model("late frames", late),
    Model("unseen duplicates", duplicating),
    Model("counters that reset", ideal, resets=True),
    Model("stalls that lose", stalled, stalls=GENERATOR, limit="host"),
    *(
        Model(
            f"{number} stalls a second",
            stalled,
            stalls=GENERATOR,
            stalls_per_second=number,
            limit="host",
        )
        for number in (5, 40, 80, 150)
    ),
    Model("stalls that do not lose", ideal, stalls=GENERATOR, plain=True),
    Model("stalls beside drops", dropping, stalls=GENERATOR, lossless=at(0.2, 0.21)),
    Model("stalls beside a step", after(step), stalls=GENERATOR, truth=around_step),
    Model("stalls beside hysteresis", hysteresis, stalls=GENERATOR, truth=at(0.9, 1.0)),
    Model("stalls, and a buffer", buffer_of_time(0.05), stalls=GENERATOR),
    Model("the switch is stalled", stalled, stalls=SWITCH, limit="host"),
    Model("the switch stalls itself", stalled, stalls=NOBODY, lossless=at(0.0, 1.0)),
    Model("stalled, and by itself", stalled, stalls=EITHER, lossless=at(0.0, 1.0)),
    *(
        Model(name, by_itself(course), course=course)
        for name, course in (
            ("two levels, of minutes", two_levels(60, 300)),
            ("two levels, of 30 s", two_levels(20, 45)),
            ("two levels, of 10 s", two_levels(5, 20)),
            ("two levels, of seconds", two_levels(0.5, 5)),
            ("slow wave", wave(60, 600)),
            ("wave", wave(5, 60)),
            ("jitter", jitter),
        )
    ),
    regimes("regimes, of 8 and 18 s", 8, 18),
    regimes("regimes, of 60 and 120 s", 60, 120),
    and_stalls(regimes("regimes", 8, 18)),
    Model("tired until it rests", tired_until_rest),
    Model("buffer, no arrival times", buffer_drawn, timed=False, seeming=with_buffer),
    Model("received twice", received_twice, numbered=False),
    Model(
        "received twice, no counters",
        received_twice,
        numbered=False,
        counters=False,
        seeming=with_copies,
    ),
    Model("copies under overload", copied_under_overload, numbered=False),
    Model(
        "copies, no counters",
        copied_under_overload,
        numbered=False,
        counters=False,
        seeming=with_copies,
    ),
)
