"""What generators can do, and what is known of them before a case."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from bench_models import method
from conftest import REPOSITORY
from pydantic import ValidationError
from search_models import case_of
from simulated_cases import SECOND, simulated_case, trials

from vsperf.cli import selection
from vsperf.config.abilities import EVERYTHING, Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import Case, CaseSpec
from vsperf.config.demands import demands, refusals
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Library
from vsperf.config.traffic import Bursts, TrafficProfile
from vsperf.config.wiring import load_shares
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.base import LESS_EXACT, OnSample, TrialRequest, reservations
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.generators.tgen.driver import check_hosts
from vsperf.drivers.generators.tgen.messages import counts, trial_message
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ports import places_of, vhost_endpoint
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.engine import readiness
from vsperf.engine.conditions import uneven
from vsperf.engine.measurer import Measurer
from vsperf.engine.run import plan_cases
from vsperf.engine.session import begin
from vsperf.engine.standing import NoSession
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError, ExitCode, NotReadyError, SpecError
from vsperf.host.cpus import CpuNeed, Needs, read_topology
from vsperf.host.doctor.wants import Want
from vsperf.methods.base import Bench, TrialOptions, loads_of
from vsperf.methods.range import WithinRange
from vsperf.plugins import Plugin, Plugins
from vsperf.quantities.units import Rate
from vsperf.records.flags import Flag, Severity
from vsperf.records.histogram import encode
from vsperf.records.result import SearchResult
from vsperf.records.run import Placeholder, Placement, Step
from vsperf.records.trial import Direction, Purpose, RateStep, TrialCounts
from vsperf.search.base import Budget

# What a generator cannot do is refused in the plan; what is told less exactly, trials say.

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
        "search": {"kind": "fixed", "loads": ["1kfps"], "duration": "5s", "event": "restart-switch"}
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


class Counted(NoSession):
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


def flags_of(can: Capabilities, purpose: Purpose = Purpose.SEARCH) -> tuple[Flag, ...]:
    generator = Counted()
    policy = simulated_case().trial
    measurer = Measurer(generator, Watch(None, generator), policy, Budget(), 1, generator_can=can)
    return measurer.measure(1_000, SECOND, TrialOptions(purpose)).flags


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


# Less load in one direction than in the other: who is offered what, and what a result means.

WHOLE, HALF = Fraction(1), Fraction(1, 2)
WAYS = (
    TrafficDirection("phy0 to phy1", 0, 1),
    TrafficDirection("phy1 to phy0", 1, 0, share=Fraction(1, 3)),
)


def test_the_reverse_direction_is_offered_its_share() -> None:
    case = simulated_case(traffic={"reverse_load": "50%"})
    assert load_shares(case.topology, case.traffic) == (WHOLE, HALF)
    (trial,) = trials(case, 1_000_001)
    assert [way.intended_frames for way in trial.directions] == [1_000_001, 500_000]


def test_both_directions_are_offered_the_same_unless_told() -> None:
    case = simulated_case()
    assert load_shares(case.topology, case.traffic) == (WHOLE, WHOLE)
    assert Case(simulated_case(traffic={"reverse_load": "100%"})).id == Case(case).id
    assert uneven(case) == ()


def test_a_result_says_whose_rates_it_has() -> None:
    (warning,) = uneven(simulated_case(traffic={"reverse_load": "12.5%"}))
    assert "forward direction" in warning
    assert "12.5%" in warning


def test_a_model_has_one_core_for_both_directions() -> None:
    """What the reverse direction does not need, the forward one can have."""
    fps = {
        share: trials(
            simulated_case({"behaviour": {"kind": "ideal"}}, traffic={"reverse_load": share}),
            14_880_952,
        )[0].directions[0].received_frames
        for share in ("100%", "50%")
    }  # fmt: skip
    assert fps["50%"] == pytest.approx(fps["100%"] * 4 / 3, rel=1e-6)


def test_tgen_is_told_the_rate_and_the_frames_of_each_direction() -> None:
    case = simulated_case()
    request = TrialRequest(1_000, 2 * SECOND)
    message = trial_message(request, WAYS, TgenSpec(kind="tgen"), case.trial)
    assert (message["rate_fps"], message["frames"]) == ([1_000, 333], [2_000, 666])
    streams = [
        {"sent": sent, "received": sent, "misrouted": 0, "duplicates": 0, "beyond_window": 0,
         "corrupted": 0}
        for sent in (2_000, 666)
    ]  # fmt: skip
    found = counts({"streams": streams, "settled": True}, WAYS, message["frames"], SECOND)
    assert [way.intended_frames for way in found.directions] == [2_000, 666]
    assert [way.lost_frames for way in found.directions] == [0, 0]


def test_a_direction_is_offered_a_frame_at_least() -> None:
    assert RateStep(1, SECOND).shared(Fraction(1, 100)).load_fps == 1
    assert RateStep(999, SECOND).shared(HALF) == RateStep(499, SECOND)


# Bursts at a stated gap: how many fill a trial, what tgen is asked for, and who refuses them.

WAYS_GAPS = (TrafficDirection("phy0 to phy1", 0, 1), TrafficDirection("phy1 to phy0", 1, 0))
BURSTS = Bursts.model_validate({"frames": 100, "gap": "9ms"})
CASE = simulated_case(traffic={"bursts": {"frames": 100, "gap": "9ms"}})


@pytest.mark.parametrize(
    ("duration_ns", "count"),
    [(SECOND, 100), (SECOND - 9_000_000, 100), (SECOND - 9_000_001, 99), (1, 1), (20_000_000, 2)],
)
def test_as_many_bursts_are_sent_as_there_is_time_for(duration_ns: int, count: int) -> None:
    """At 100 kfps a burst of 100 frames takes a millisecond; behind the last one is no gap."""
    assert BURSTS.count(100_000, duration_ns) == count


def test_tgen_is_asked_for_bursts_at_the_load_and_the_gaps_between_them() -> None:
    message = trial_message(
        TrialRequest(100_000, SECOND), WAYS_GAPS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS
    )
    asked = {"rate_fps": 100_000, "frames": 100, "bursts": 100, "gap_ns": 9_000_000}
    assert asked.items() <= message.items()
    assert "duration_ns" not in message
    assert message["timeout_ns"] > SECOND - 9_000_000


def test_a_single_burst_has_no_gap() -> None:
    message = trial_message(
        TrialRequest(100_000, 1000), WAYS_GAPS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS
    )
    assert message["frames"] == 100
    assert not {"bursts", "gap_ns"} & set(message)


def test_a_result_says_that_its_rates_are_those_within_bursts() -> None:
    assert not CASE.traffic.evenly
    (warning,) = uneven(CASE)
    assert warning == "rates are those within bursts of 100 frames, 9ms apart"


def test_loads_do_not_change_while_frames_come_in_bursts() -> None:
    request = TrialRequest.of_steps(RateStep(2_000, SECOND), RateStep(1_000, SECOND))
    with pytest.raises(ComponentError, match="in bursts"):
        trial_message(request, WAYS_GAPS, TgenSpec(kind="tgen"), CASE.trial, bursts=BURSTS)


@pytest.mark.parametrize("kind", ["recovery", "back2back"])
def test_methods_that_have_a_rhythm_of_their_own_are_refused(kind: str) -> None:
    case = case_of("mlr", traffic=CASE.traffic, search=method(kind))
    with pytest.raises(SpecError, match=r"in bursts"):
        loads_of(case)


NO_RHYTHM = {"file": "/tmp/x.pcap", "rhythm": "file"}
SPACED = {"frames": 64, "gap": "1ms"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reverse_load": "0"}, "reverse_load"),
        ({"reverse_load": "50%", "direction": "forward"}, "reverse_load"),
        ({"reverse_load": "50%", "replay": NO_RHYTHM}, "reverse_load"),
        ({"bursts": {"frames": 64, "gap": "0s"}}, "bursts without a gap"),
        ({"bursts": {"frames": 64}}, "gap"),
        ({"bursts": SPACED, "reverse_load": "50%"}, "bursts come equally"),
        ({"bursts": SPACED, "replay": {"file": "/tmp/x.pcap"}}, "frames of its own"),
    ],
)
def test_shares_and_bursts_that_mean_nothing_are_refused(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        TrafficProfile.model_validate({"frame_size": "64B", **settings})


# Before the first case of a run starts, every switch of all its cases is asked.


class PresentSpec(DriverSpec):
    kind: Literal["present"]


class AbsentSpec(DriverSpec):
    kind: Literal["absent"]


class Present:
    """A switch that is installed."""

    kind: ClassVar[str] = "present"
    summary: ClassVar[str] = "a switch of a test"
    Spec: ClassVar[type[DriverSpec]] = PresentSpec

    wants: frozenset[Want] = frozenset()
    sockets: tuple[str, ...] = ()

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def needs(self, case: CaseSpec) -> Needs:
        return Needs(cpus=(CpuNeed("pmd", 1),))

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        ends = tuple(vhost_endpoint(place, "vhost-user") for place in places_of(case.topology))
        return SwitchPlan((Step(component="vswitch", action="start it"),), ends)

    def require(self, case: CaseSpec) -> None:
        self.asked.append(self.kind)

    def start(self, *arguments: Any) -> Any:
        pytest.fail("nothing may be started yet")


def _itself(driver: Present) -> Present:
    return driver


class Absent(Present):
    """One that is not."""

    kind = "absent"
    Spec = AbsentSpec

    def require(self, case: CaseSpec) -> None:
        super().require(case)
        raise NotReadyError("the switch of a test is not installed", fix="install it")


def test_a_run_begins_when_each_of_its_switches_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # What else this machine may lack is no matter here.
    monkeypatch.setattr(readiness, "examine_for", lambda *_: [])
    monkeypatch.setattr(readiness, "refuse_beside_dead", lambda: None)
    monkeypatch.setattr(readiness, "require_memory", lambda *_: None)
    asked: list[str] = []
    own = (Present(asked), Absent(asked))
    found = tuple(Plugin("vswitch", one.kind, partial(_itself, one)) for one in own)
    plugins = Plugins((*Plugins.load().all, *found))
    request = Request(("phy2phy_smoke",), testbed="local", sets=("vswitch=[present,absent]",))
    loaded = selection.load(request, plugins)
    planned = plan_cases(loaded.cases, plugins)
    results = tmp_path / "results"
    with pytest.raises(NotReadyError, match="is not installed"):
        begin(loaded, planned, results, (), plugins)
    assert asked == ["present", "absent"]
    assert not results.exists()


def asked_before(
    driver: Present, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[dict[str, Any]]:
    """Plan a case with a switch of another package, and return what was asked of the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(readiness, "refuse_beside_dead", lambda: None)
    monkeypatch.setattr(readiness, "require_memory", lambda *_: None)
    monkeypatch.setattr(readiness, "demand", lambda *_: None)
    plugins = Plugins((*Plugins.load().all, Plugin("vswitch", driver.kind, lambda: driver)))
    request = Request(("phy2phy_smoke",), testbed="local", sets=(f"vswitch={driver.kind}",))
    planned = plan_cases(selection.load(request, plugins).cases, plugins)
    return readiness.require_ready(planned, plugins, tmp_path)


def test_what_a_driver_of_another_package_wants_is_looked_at_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wants_nothing = {one["name"] for one in asked_before(Present([]), monkeypatch, tmp_path)}
    wanting = Present([])
    wanting.wants = frozenset({Want.HUGEPAGES, Want.TAPS})
    found = {one["name"] for one in asked_before(wanting, monkeypatch, tmp_path)}
    assert found - wants_nothing == {"hugepages", "tap devices"}


def test_a_socket_that_a_driver_makes_has_to_fit_into_the_folder_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = Present([])
    deep.sockets = (f"{Placeholder.RUN}/{'deep' * 20}",)
    with pytest.raises(NotReadyError, match="too long for sockets"):
        asked_before(deep, monkeypatch, tmp_path)


def test_each_case_has_the_memory_and_the_cpus_of_its_own_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plugins = Plugins.load()
    two = "vswitch=[{kind: ovs-dpdk, name: a}, {kind: ovs-dpdk, name: b, hugepages: false}]"
    request = Request(("phy2phy_smoke",), testbed="local", sets=(two, "vswitch.main_cpus=0"))
    loaded = selection.load(request, plugins)
    first, second = plan_cases(loaded.cases, plugins)
    assert sum(first.plan.plan.hugepage_bytes.values()) > sum(
        second.plan.plan.hugepage_bytes.values()
    )
    asked = Plugins((*plugins.all, Plugin("vswitch", "present", lambda: Present([]))))
    request = Request(("phy2phy_smoke",), testbed="local", sets=("vswitch=[ovs-dpdk,present]",))
    ovs, other = plan_cases(selection.load(request, asked).cases, asked)
    assert ovs.plan.plan.placement.of("switch main")
    assert other.plan.plan.placement.of("switch main") == ()


# Whatever is shipped can be measured by the presets that standards are named after.


@pytest.mark.parametrize("preset", ["rfc2544-strict", "tst009"])
def test_every_testcase_goes_with_it(preset: str) -> None:
    library = Library.find({}, REPOSITORY)
    names = tuple(library.files("testcases"))
    loaded = load(Request(names, testbed="local", preset=preset), library, Plugins.load().specs())
    assert {case.spec.name for case in loaded.cases} == set(names)
    ours = [case.spec for case in loaded.cases if isinstance(case.spec.generator, TgenSpec)]
    assert len({spec.name for spec in ours}) > len(names) // 2
    for spec in ours:
        assert isinstance(spec.generator, TgenSpec)
        check_hosts(spec, spec.generator)
