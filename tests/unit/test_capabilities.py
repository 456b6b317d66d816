"""What a generator cannot do is refused in the plan; what is told less exactly, trials say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from bench_models import method
from simulated_cases import SECOND, simulated_case

from vsperf.deploy.planner import Drivers, make_plan
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ExitCode, SpecError
from vsperf.host.cpus import read_topology
from vsperf.methods.base import Bench, Manner
from vsperf.methods.range import WithinRange
from vsperf.plugins import Plugins
from vsperf.record.flags import Flag, Severity
from vsperf.record.histogram import encode
from vsperf.record.result import Compliance, SearchResult
from vsperf.record.trial import Direction, Purpose, TrialCounts
from vsperf.search.base import Budget
from vsperf.spec.abilities import EVERYTHING, Ability, Capabilities
from vsperf.spec.case import CaseSpec
from vsperf.spec.demands import demands, refusals
from vsperf.trafficgens.base import OnSample, TrialRequest
from vsperf.trafficgens.exactness import LESS_EXACT, reservations
from vsperf.trafficgens.sim import SimulatedGenerator
from vsperf.units import Rate
from vsperf.vswitches.sim import SimulatedSwitch

RANGE: dict[str, Any] = {
    "duration": "1s",
    "min_load": "1%",
    "max_load": "100%",
    "resolution": "1%",
    "goals": {"ndr": {"loss_ratio": 0}},
}
UNPACED = ("fixed", "loss")
PLAIN = frozenset({Ability.PACED, Ability.EXACT, Ability.PER_DIRECTION})


def without(*lacking: Ability) -> Capabilities:
    return replace(EVERYTHING, does=EVERYTHING.does - set(lacking))


class Lacking(SimulatedGenerator):
    """A generator that cannot do everything."""

    def __init__(self, *lacking: Ability) -> None:
        self.can = without(*lacking)

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return self.can


def planned(generator: Lacking, **sections: Any) -> tuple[str, ...]:
    case = simulated_case(**sections)
    return make_plan(case, Drivers(SimulatedSwitch(), generator), read_topology()).plan.notes


ASKING: dict[Ability, dict[str, Any]] = {
    Ability.IPV6: {"traffic": {"layer3": "ipv6", "frame_size": "128B"}},
    Ability.VLAN: {"traffic": {"vlans": [7], "frame_size": "128B"}},
    Ability.QINQ: {"traffic": {"vlans": [7, 8], "frame_size": "128B"}},
    Ability.MPLS: {"traffic": {"mpls": [16], "frame_size": "128B"}},
    Ability.MIX: {"traffic": {"imix": "7a4d1g", "frame_size": None}},
    Ability.VARY_PORT: {"traffic": {"flows": 100, "vary": "port"}},
    Ability.VARY_IP: {"traffic": {"flows": 2}},
    Ability.SHUFFLED: {"traffic": {"flows": 100, "flow_order": "shuffled"}},
    Ability.BURSTS: {"traffic": {"bursts": {"frames": 10, "gap": "1ms"}}},
    Ability.UNEQUAL: {"traffic": {"reverse_load": "50%"}},
    Ability.BROADCAST: {"traffic": {"destination": "broadcast"}},
    Ability.MULTICAST: {"traffic": {"destination": "multicast"}},
    Ability.SOME_BROADCASTS: {"traffic": {"broadcasts": "1%"}},
    Ability.VXLAN: {"traffic": {"encapsulation": {"kind": "vxlan", "id": 1}, "frame_size": "256B"}},
    Ability.REPLAY: {"traffic": {"replay": {"file": "/tmp/x.pcap"}}},
    Ability.PER_DIRECTION: {"traffic": {"direction": "both"}},
    Ability.EXACT: {"search": {"kind": "fixed", "loads": ["1kfps"], "frames": 100}},
    Ability.SILENCE: {
        "search": {
            "kind": "fixed",
            "loads": ["1kfps"],
            "duration": "5s",
            "event": "restart-switch",
        }
    },
}


@pytest.mark.parametrize("ability", ASKING, ids=str)
def test_what_a_case_asks_for_and_the_generator_cannot_do_is_refused(ability: Ability) -> None:
    with pytest.raises(SpecError) as refused:
        planned(Lacking(ability), **ASKING[ability])
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    (problem,) = refused.value.problems
    assert problem.what == f"generator sim cannot {ability.words}"
    assert problem.why and problem.why.endswith("asks for it")
    assert problem.fix


@pytest.mark.parametrize("ability", ASKING, ids=str)
def test_what_a_case_does_not_ask_for_may_be_lacking(ability: Ability) -> None:
    if ability is not Ability.PER_DIRECTION:
        planned(Lacking(ability))
    else:
        planned(Lacking(ability), traffic={"direction": "forward"})


def test_all_that_is_lacking_is_told_at_once() -> None:
    with pytest.raises(SpecError) as refused:
        planned(
            Lacking(Ability.VLAN, Ability.BURSTS),
            traffic={"vlans": [1], "frame_size": "128B", "bursts": {"frames": 2, "gap": "1ms"}},
        )
    assert len(refused.value.problems) == 2


def test_flows_and_directions_have_a_most() -> None:
    few = replace(EVERYTHING, flows=10, directions=1)
    case = simulated_case(traffic={"flows": 11})
    assert [problem.what for problem in refusals(case, few, 2)] == [
        "generator sim cannot send 11 flows",
        "generator sim cannot send in 2 directions at once",
    ]
    assert refusals(simulated_case(traffic={"flows": 10}), few, 1) == []


@pytest.mark.parametrize(
    ("kind", "settings", "needs"),
    [
        ("fixed", {"loads": ["100%"], "duration": "1s"}, set()),
        ("loss", {"duration": "1s"}, set()),
        ("rfc2544", RANGE, {Ability.PACED, Ability.EXACT}),
        ("soak", {"duration": "10s"}, {Ability.SECONDS}),
        ("recovery", {"duration": "1s"}, {Ability.STEPS, Ability.LAST_LOSS}),
        ("reset", {"duration": "4s"}, {Ability.SILENCE}),
        ("latency", {"duration": "2s", "tag_after": "1s"}, {Ability.LATENCY_FROM}),
        ("flow_setup", {}, {Ability.LATENCY_RANGES}),
        ("broadcast", {}, {Ability.LATENCY}),
        ("back2back", {"throughput": "1Mfps"}, {Ability.BRIEF}),
        ("learning", {}, {Ability.BRIEF}),
        ("caching", {}, {Ability.BRIEF}),
    ],
)
def test_each_method_says_what_it_cannot_do_without(
    kind: str, settings: dict[str, Any], needs: set[Ability]
) -> None:
    asked = method(kind, **settings).asks_generator
    assert needs <= asked
    assert (kind in UNPACED) == (Ability.PACED not in asked)


class Foreign(WithinRange):
    """A method that no driver has heard of."""

    kind: Literal["foreign"]
    min_load: Rate = Rate.parse("1%")
    max_load: Rate = Rate.parse("100%")
    asks: frozenset[Ability] = frozenset({Ability.PACED})

    @property
    def asks_generator(self) -> frozenset[Ability]:
        return self.asks

    def run(self, bench: Bench) -> SearchResult:
        raise NotImplementedError

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        return ()


@pytest.mark.parametrize("kind", ["xena", "spirent", "ixnetwork", "trex", "otg", "testpmd"])
@pytest.mark.parametrize("ability", [Ability.PACED, Ability.BRIEF, Ability.STEPS])
def test_a_method_that_no_driver_knows_is_held_against_what_it_asks_for(
    kind: str, ability: Ability
) -> None:
    driver = Plugins.load().driver("generator", kind)
    asked = Foreign(kind="foreign", asks=frozenset({ability}))
    case = simulated_case().model_copy(
        update={"search": asked, "generator": driver.Spec.model_construct(kind=kind)}
    )
    can = driver.capabilities(case)

    refused = [
        problem for problem in refusals(case, can, 1) if "search.kind" in (problem.why or "")
    ]

    assert bool(refused) == (not can.can(ability))


def test_a_chassis_makes_no_trial_of_a_moment() -> None:
    """… and so has no bursts; what else it cannot do follows from its other abilities."""
    for kind, brief in (("xena", False), ("trex", True), ("otg", True), ("sim", True)):
        driver = Plugins.load().driver("generator", kind)
        case = simulated_case().model_copy(
            update={"generator": driver.Spec.model_construct(kind=kind)}
        )
        assert driver.capabilities(case).can(Ability.BRIEF) == brief


def test_latency_trials_need_some_latency_and_not_that_of_each_frame() -> None:
    case = simulated_case(
        search={"kind": "rfc2544", **RANGE},
        latency={"goal": "ndr", "loads": ["50%"], "duration": "1s"},
    )
    needed = {demand.ability for demand in demands(case, 2)}
    assert Ability.LATENCY in needed
    assert Ability.EVERY_LATENCY not in needed


@pytest.mark.parametrize(("ability", "flag"), LESS_EXACT.items(), ids=str)
def test_what_is_told_less_exactly_stands_in_the_plan(ability: Ability, flag: Flag) -> None:
    notes = planned(Lacking(ability))
    assert any(note.startswith(f"generator sim, {flag}: ") for note in notes)
    assert flag.severity is not Severity.INVALID
    assert not any("generator sim" in note for note in planned(Lacking()))


class Counted:
    """A generator whose trials are sound."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        frames = request.frames
        histogram = encode([1000]) if request.latency else None
        way = Direction(
            name="phy0 to phy1",
            intended_frames=frames,
            sent_frames=frames,
            received_frames=frames,
            latency_histogram=histogram,
        )
        return TrialCounts(
            directions=(way,), sending_ns=request.duration_ns, elapsed_ns=SECOND, settled=True
        )

    def failure(self) -> str | None:
        return None

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}


def flags_of(can: Capabilities, purpose: Purpose = Purpose.SEARCH) -> tuple[Flag, ...]:
    generator = Counted()
    policy = simulated_case().trial
    measurer = Measurer(generator, Watch(None, generator), policy, Budget(), 1, generator_can=can)
    return measurer.measure(1_000, SECOND, Manner(purpose)).flags


def test_a_sampled_latency_never_looks_like_one_of_every_frame() -> None:
    sampled = without(Ability.EVERY_LATENCY)
    assert flags_of(sampled, Purpose.LATENCY) == (Flag.LATENCY_SAMPLED,)
    assert flags_of(sampled) == ()  # where none is measured, none is sampled
    assert flags_of(EVERYTHING, Purpose.LATENCY) == ()


def test_every_trial_says_what_is_not_known_of_it() -> None:
    assert flags_of(without(Ability.NUMBERED)) == (Flag.UNCHECKED,)
    assert flags_of(without(Ability.OWN_COUNTS)) == (Flag.COUNTED_BY_SWITCH,)
    assert flags_of(without(Ability.PACED)) == (Flag.UNPACED,)
    bare = Capabilities(PLAIN - {Ability.PACED})
    assert set(reservations(bare, latency=True)) == set(LESS_EXACT.values())


@pytest.mark.parametrize("kind", Plugins.load().drivers("generator"))
def test_every_driver_declares_what_it_can_do(kind: str) -> None:
    driver = Plugins.load().driver("generator", kind)
    spec = driver.Spec.model_construct(kind=kind)
    case = simulated_case().model_copy(update={"generator": spec})
    assert isinstance(driver.capabilities(case), Capabilities)
