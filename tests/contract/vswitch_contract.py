"""What every virtual switch driver promises; a driver joins by subclassing with two fixtures.

class TestMySwitch(ForwardingContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> VSwitch: ...      # the driver; the hugepages that it asks for are there
    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec: ...       # a case that it can deploy on this machine, with a
                                          # generator that can send to its ports: `real_case`

`VSwitchContract` alone is for a switch that no generator of this machine can reach, or that takes
connections and no frames of a test: what passes it has tests of its own. What a switch cannot do is
said by `restarts` and `changes_rules`; then it has to refuse it in words. What it does not count
is said by `counts_at_ports`, or it has to count it.

A deployment stands from one test to the next, and is looked at in between: it is as the last test
found it, or that test is named. A file whose switch takes the machine therefore marks
all of itself: `pytestmark = pytest.mark.machine`.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import switch_cases
from audit import audited
from driver_contract import DriverContract
from kept import Kept, State, keeping
from leave_no_trace import Places, left_behind, snapshot
from places import PLACEMENT, room, started_switch
from standing import Standing, failure_of, forwards, sent_and_arrived, stopped

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.topology import Topology
from vsperf.config.wiring import nics
from vsperf.deploy.deployment import PORTS_S, deploy
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.errors import VsperfError
from vsperf.host.cpus import read_topology
from vsperf.host.hugepages import reserve
from vsperf.plugins import Plugins
from vsperf.records.run import Endpoint, Step, shown

POLLING_ROLE = "pmd"
IDLE_RULES = 10_000
"""As many rules, routes or addresses as tables in the field hold."""
DEVICES = ("0000:af:00.0", "0000:af:00.1")
"""Two ends of a cable, as a testbed may name them."""
PVP = Topology(name="pvp", paths=(("phy0", "vm1", "phy1"),))


def real_case(vswitch: DriverSpec, **sections: Any) -> CaseSpec:
    """Return a case for a real switch with these settings, on a machine that others use, too."""
    settings = vswitch.model_dump(mode="json", exclude_unset=True)
    return switch_cases.real_case(vswitch.kind, settings, **sections)


@dataclass(frozen=True, slots=True)
class Life:
    """What a switch said from its start to its end, and what it left."""

    failures: tuple[str | None, str | None]
    facts: dict[str, Any]
    access: tuple[str, ...]
    afterwards: str | None
    """Its failure when it was stopped."""
    left: list[str]


def lived(driver: VSwitch, case: CaseSpec, plan: SwitchPlan, folder: Path, *, fails: bool) -> Life:
    """Start a switch without a generator, ask it, and stop it, by an error where it `fails`."""
    places = Places()
    before = snapshot(places, folder)
    ending = pytest.raises(ZeroDivisionError) if fails else nullcontext()
    with ending, started_switch(driver, case, plan) as running:
        failures = (running.failure(), running.failure())
        facts, access = running.facts(), running.access()
        if fails:
            raise ZeroDivisionError
    left = left_behind(before, lambda: snapshot(places, folder))
    return Life(failures, facts, access, running.failure(), left)


def thorough(value: Any) -> Any:
    """Give a parameter that is tried in `make test-all` only: another one stands for it."""
    return pytest.param(value, marks=pytest.mark.thorough)


class VSwitchContract(DriverContract):
    """Checks that hold for any switch."""

    has_nics: ClassVar[bool] = True
    """Whether VNFs are plugged into it; a model has them inside of it, and no NIC to plug in."""

    drives: ClassVar[Callable[[], VSwitch]]
    """What makes its driver; where more is needed than that, `driver` is a fixture of its own."""

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> VSwitch:
        return cls.drives()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        raise NotImplementedError

    def test_planning_touches_nothing(self, driver: VSwitch, case: CaseSpec) -> None:
        driver.plan(case, PLACEMENT)  # whatever has to be imported is imported now
        with audited() as seen:
            driver.plan(case, PLACEMENT)
        assert seen == []

    def test_planning_twice_gives_the_same_plan(self, driver: VSwitch, case: CaseSpec) -> None:
        assert driver.plan(case, PLACEMENT) == driver.plan(case, PLACEMENT)

    def test_the_plan_says_who_does_what(self, driver: VSwitch, case: CaseSpec) -> None:
        plan = driver.plan(case, PLACEMENT)
        assert {step.component for step in plan.steps} == {"vswitch"}
        assert [step for step in plan.steps if not step.action] == [], "steps without words"

    def test_what_it_asks_of_the_machine_is_known_beforehand(
        self, driver: VSwitch, case: CaseSpec
    ) -> None:
        driver.needs(case)
        with audited() as seen:
            first, second = driver.needs(case), driver.needs(case)
        assert seen == []
        assert first == second
        roles = [need.role for need in first.cpus]
        assert len(set(roles)) == len(roles), f"a role is asked for twice: {roles}"
        for need in first.cpus:
            # Others look for threads that poll by this name; all else is told to be the switch's.
            if need.busy:
                told = (
                    f"the role of threads that never sleep is {POLLING_ROLE!r}, not {need.role!r}"
                )
                assert need.role == POLLING_ROLE, told
            else:
                told = f"the role of what sleeps begins with 'switch', and {need.role!r} does not"
                assert need.role.startswith("switch"), told

    def test_vnfs_are_plugged_in_or_refused_in_words(self, driver: VSwitch, case: CaseSpec) -> None:
        with_vnf = case.model_copy(update={"topology": PVP})
        try:
            plan = driver.plan(with_vnf, PLACEMENT)
        except VsperfError as error:
            return _says_why(error)
        facing = {nic.port for nic in nics(PVP) if nic.faces is not None}
        plugged = {f"{wire.vnf}_{wire.nic}" for wire in plan.wires}
        assert plugged == (facing if self.has_nics else set())

    def test_each_link_of_the_topology_has_one_endpoint(
        self, driver: VSwitch, case: CaseSpec
    ) -> None:
        endpoints = driver.plan(case, PLACEMENT).endpoints
        assert tuple(endpoint.link for endpoint in endpoints) == case.topology.links
        assert [one for one in endpoints if not (one.kind and one.address)] == []

    def test_the_plan_survives_being_stored(self, driver: VSwitch, case: CaseSpec) -> None:
        """Placeholders are written down as words, and stay words; all else is as it was."""
        plan = driver.plan(case, PLACEMENT)
        for endpoint in plan.endpoints:
            stored = endpoint.model_dump_json()
            assert Endpoint.model_validate_json(stored).model_dump_json() == stored
            assert Endpoint.model_validate_json(stored).address == shown(endpoint.address)
        for step in plan.steps:
            stored = step.model_dump_json()
            assert Step.model_validate_json(stored).model_dump_json() == stored

    def test_settings_of_another_driver_are_refused(self, driver: VSwitch, case: CaseSpec) -> None:
        foreign = case.model_copy(update={"vswitch": DriverSpec(kind="something-else")})
        with pytest.raises(VsperfError, match="something-else"):
            driver.plan(foreign, PLACEMENT)

    @pytest.fixture(scope="class")
    @classmethod
    def lives(
        cls, driver: VSwitch, case: CaseSpec, tmp_path_factory: pytest.TempPathFactory
    ) -> tuple[Life, Life]:
        """Start it twice by one plan; the second time, the measurement fails."""
        plan = driver.plan(case, PLACEMENT)
        folder = tmp_path_factory.mktemp("lives")
        return (
            lived(driver, case, plan, folder, fails=False),
            lived(driver, case, plan, folder, fails=True),
        )

    @pytest.mark.everyday
    def test_it_has_no_failure_while_it_works(self, lives: tuple[Life, Life]) -> None:
        assert lives[0].failures == (None, None)

    @pytest.mark.everyday
    def test_what_it_says_of_itself_can_be_recorded(self, lives: tuple[Life, Life]) -> None:
        facts = lives[0].facts
        assert json.loads(json.dumps(facts)) == facts
        access = lives[0].access
        assert isinstance(access, tuple), f"`access` is a tuple of commands, and not {access!r}"
        odd = [one for one in access if not (isinstance(one, str) and one)]
        assert odd == [], "commands for people"

    @pytest.mark.everyday
    def test_a_stopped_switch_does_not_claim_to_work(self, lives: tuple[Life, Life]) -> None:
        assert lives[0].afterwards, "it was stopped, and says nothing is wrong"

    @pytest.mark.everyday
    def test_it_leaves_nothing_behind(self, lives: tuple[Life, Life]) -> None:
        assert lives[0].left == []

    @pytest.mark.everyday
    def test_it_leaves_nothing_behind_when_the_measurement_fails(
        self, lives: tuple[Life, Life]
    ) -> None:
        assert lives[1].left == []

    @pytest.mark.everyday
    def test_it_can_be_started_again(self, lives: tuple[Life, Life]) -> None:
        assert lives[1].failures == (None, None)


class ForwardingContract(VSwitchContract):
    """Checks of a switch that frames are sent through."""

    restarts: ClassVar[bool] = True
    """Whether it can be ended and started again while its neighbours go on."""
    runs_programs: ClassVar[bool] = True
    """Whether it is a program: not a model, the kernel or nothing at all."""
    changes_rules: ClassVar[bool] = True
    """Whether rules can be added that no frame meets."""
    counts_at_ports: ClassVar[bool] = True
    """Whether it counts the frames of each link; what nobody counts is missing, and never 0."""

    @contextmanager
    def short_patience(self, switch: Any) -> Iterator[None]:
        """Have a switch that waits for answers of its programs do so for a moment only."""
        yield

    @classmethod
    def rules_of(cls, standing: Standing) -> list[str]:
        """Return what the switch was told to do, where it can be asked: no test may change that."""
        return []

    def is_found_again(self, driver: VSwitch, case: CaseSpec) -> bool:
        """Whether its neighbours are at its ports after a restart: none calls it twice."""
        return all(end.kind != "vhost-user" for end in driver.plan(case, PLACEMENT).endpoints)

    @pytest.fixture(scope="class")
    @classmethod
    def kept(cls, driver: VSwitch, case: CaseSpec) -> Iterator[Kept[Standing]]:
        def look(standing: Standing) -> State:
            rules = cls.rules_of(standing)
            return {**standing.state(case.topology.links), "its rules": rules}

        with keeping(lambda _: cls.deployed(driver, case), look) as kept:
            yield kept

    @pytest.fixture(autouse=True)
    def _room(self, request: pytest.FixtureRequest, kept: Kept[Standing]) -> None:
        if "shared" not in request.fixturenames:
            kept.take_down()

    @pytest.fixture
    def shared(self, request: pytest.FixtureRequest, kept: Kept[Standing]) -> Standing:
        return kept.lent(request.node.name)

    @classmethod
    @contextmanager
    def deployed(cls, driver: VSwitch, case: CaseSpec) -> Iterator[Standing]:
        generator = Plugins.load().driver("generator", case.generator.kind)
        drivers = Drivers(driver, generator)
        plan = make_plan(case, drivers, read_topology())
        memory = plan.plan.hugepage_bytes
        with room("a test of a switch") as place, reserve(memory, place), ExitStack() as stack:
            yield Standing(deploy(case, plan, drivers, place, stack), place)

    @pytest.mark.everyday
    def test_a_device_of_the_testbed_is_used_or_refused_in_words(
        self, driver: VSwitch, case: CaseSpec
    ) -> None:
        ends = {"switch": DEVICES[0], "generator": DEVICES[1]}
        links = {name: one.model_copy(update=ends) for name, one in case.testbed.links.items()}
        testbed = case.testbed.model_copy(update={"links": links})
        try:
            plan = driver.plan(case.model_copy(update={"testbed": testbed}), PLACEMENT)
        except VsperfError as error:
            assert [one.what for one in error.problems if not one.fix] == [], "without a way out"
            return
        assert DEVICES[0] in repr(plan.steps), "neither used nor refused"

    def test_it_forwards_every_frame(self, shared: Standing) -> None:
        forwards(shared)

    def counting_ports(self, case: CaseSpec) -> bool:
        """Whether frames are counted at the ports of a case."""
        return self.counts_at_ports

    def test_its_counters_only_grow_and_see_every_frame(
        self, shared: Standing, case: CaseSpec
    ) -> None:
        switch = shared.parts.switch
        shared.send()  # what is counted for the first time is there from now on
        found = [switch.counters()]
        arrived = []
        for _ in range(2):
            arrived.append(min(good for _, good in sent_and_arrived(shared.send())))
            found.append(switch.counters())
        known = [one for one in found if one is not None]
        counting = self.counting_ports(case)
        assert len(known) in ((len(found),) if counting else (0, len(found)))
        links = set(case.topology.links) if counting else set()
        for one in known:
            assert {port.link for port in one.ports if port.link is not None} == links
            assert [port.name for port in one.ports] == [port.name for port in known[0].ports]
        # Where nobody counts there is nothing to compare.
        for (before, after), frames in zip(itertools.pairwise(known), arrived, strict=bool(known)):
            grown = after.since(before)
            assert grown.least_growth >= 0
            for port in grown.ports:
                if port.link is not None:
                    counted = (port.received_frames, port.sent_frames)
                    told = f"{port.name} counted {counted} frames in and out, of {frames} each way"
                    assert min(counted) >= frames, told

    def test_what_was_lost_nowhere_is_counted_nowhere(self, shared: Standing) -> None:
        shared.send()
        before = shared.parts.switch.counters()
        forwards(shared)
        after = shared.parts.switch.counters()
        assert (before is None) is (after is None)
        if before is not None and after is not None:
            grown = after.since(before)
            assert grown.dropped_frames == 0, f"all frames arrived, and as lost are told {grown}"

    def test_it_forwards_after_it_has_forgotten_all_flows(self, shared: Standing) -> None:
        shared.send()
        shared.parts.switch.forget_flows()
        forwards(shared)

    def test_rules_that_no_frame_meets_change_nothing(self, shared: Standing) -> None:
        switch = shared.parts.switch
        if not self.changes_rules:
            return refuses(lambda: switch.change_rules(IDLE_RULES))
        for count in (IDLE_RULES, -IDLE_RULES):
            switch.change_rules(count)
            forwards(shared)

    @pytest.mark.parametrize("kill", [False, True], ids=["kindly", "killed"])
    def test_it_forwards_again_after_a_restart(
        self, shared: Standing, driver: VSwitch, case: CaseSpec, kill: bool
    ) -> None:
        switch = shared.parts.switch
        if not self.restarts:
            return refuses(lambda: switch.restart(kill=kill))
        if not self.is_found_again(driver, case):
            return None  # nobody is at its ports then, and so there is nothing to promise
        shared.send()
        before = shared.programs()
        switch.restart(kill=kill)
        switch.await_ports(case.topology.links, PORTS_S)
        assert switch.failure() is None
        assert not before or shared.programs() != before, f"none of {before} was started anew"
        forwards(shared)

    def test_each_of_its_programs_is_missed_while_it_hangs(self, shared: Standing) -> None:
        programs = shared.programs()
        assert bool(programs) is self.runs_programs, f"its programs: {sorted(programs)}"
        for pid in programs.values():
            assert shared.parts.switch.failure() is None
            with self.short_patience(shared.parts.switch), stopped(pid):
                assert failure_of(shared), "it says why"

    @pytest.mark.everyday
    def test_each_of_its_programs_is_missed_when_killed_and_nothing_is_left(
        self, driver: VSwitch, case: CaseSpec, tmp_path: Path
    ) -> None:
        """One alone each time, and all the others after the last."""
        missed: set[str] = set()
        everything = False
        places = Places()
        while not everything:
            before = snapshot(places, tmp_path)
            with self.deployed(driver, case) as standing:
                programs = standing.programs()
                assert bool(programs) is self.runs_programs, f"its programs: {sorted(programs)}"
                for name in sorted(programs.keys() - missed)[:1]:
                    assert standing.parts.switch.failure() is None
                    with self.short_patience(standing.parts.switch):
                        os.kill(programs.pop(name), signal.SIGKILL)
                        assert failure_of(standing), "it says why"
                    missed.add(name)
                if everything := missed >= programs.keys():
                    for pid in programs.values():
                        os.kill(pid, signal.SIGKILL)
            assert left_behind(before, lambda: snapshot(places, tmp_path)) == []


def refuses(asked: Callable[[], None]) -> None:
    """See that something is refused, and why."""
    with pytest.raises(VsperfError) as caught:
        asked()
    _says_why(caught.value)


def _says_why(error: VsperfError) -> None:
    problem = error.problems[0]
    assert problem.why or problem.fix, f"neither why, nor what to do: {problem.what}"
