"""The load beside a case: when it has settled, what a trial says of it, and how it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from simulated_cases import simulated_case

from vsperf.config.case import Case
from vsperf.config.noise import NOISE
from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.drivers.loads.memory import MemorySpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.engine import background_load as module
from vsperf.engine.assignment import CaseRun
from vsperf.engine.background_load import BackgroundLoad, background_load, with_noise
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError, DiedError
from vsperf.host.workspace import Nowhere
from vsperf.progress import Event, PhaseEntered
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.run import Placement, Plan
from vsperf.records.switch import NoiseActivity

SECOND = 1_000_000_000


def did(seconds: float, megabytes: float, cpu: float = 1.0, name: str = "noise 1") -> NoiseActivity:
    count = int(megabytes * 1e6)
    return NoiseActivity(
        instance=name,
        elapsed_ns=int(seconds * SECOND),
        read_bytes=count,
        written_bytes=0,
        cpu_ns=int(seconds * cpu * SECOND),
    )


@dataclass
class Load:
    """Says in turn what it has done, and the last of it again and again."""

    said: list[NoiseActivity]
    why: str | None = None
    words: str | None = None
    asked: int = 0

    def failure(self) -> str | None:
        return self.why

    def counts(self) -> tuple[NoiseActivity, ...]:
        found = self.said[min(self.asked, len(self.said) - 1)]
        self.asked += 1
        return (found,)

    def last_words(self, instance: str) -> str | None:
        return self.words

    def facts(self) -> dict[str, Any]:
        return {"argv": ["load"]}


@dataclass
class Driver:
    """Starts a load that was made before."""

    load: Load
    steady: bool = True
    ended: list[bool] = field(default_factory=list)

    def judged(self, case: object) -> bool:
        return self.steady

    @contextmanager
    def start(self, case: object, placement: object, workspace: object) -> Iterator[Load]:
        try:
            yield self.load
        finally:
            self.ended.append(True)


def steadily(rate: float, count: int = 40) -> list[NoiseActivity]:
    return [did(0.25 * step, 0.25 * step * rate) for step in range(1, count)]


@contextmanager
def beside(
    driver: Driver, *, shared: bool = False, told: list[Event] | None = None, **settings: Any
) -> Iterator[BackgroundLoad]:
    spec = MemorySpec.model_validate({"kind": "memory", **settings})
    case = Case(simulated_case().model_copy(update={"noise": spec}))
    plan = CasePlan(
        Plan(steps=(), endpoints=(), directions=(), placement=Placement(cpus={NOISE: (1,)})),
        SwitchPlan((), ()),
        shared_roles=frozenset({NOISE} if shared else ()),
    )
    drivers = Drivers(None, None, noise=driver)  # type: ignore[arg-type]
    emit = (told if told is not None else []).append
    nobody: Any = None
    run = CaseRun(case, plan, drivers, nobody, emit, budget=nobody, calibrator=nobody)
    with background_load(run, Nowhere()) as found:
        assert found is not None
        yield found


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.0)


class TestSettling:
    def test_it_has_settled_when_two_windows_agree(self) -> None:
        driver = Driver(Load(steadily(1000)))
        told: list[Event] = [PhaseEntered(Case(simulated_case()), "before")]
        with beside(driver, told=told) as found:
            assert found.rates == {"noise 1": pytest.approx(1e9)}
            assert found.least == pytest.approx(0.8)
            assert not driver.ended
        assert driver.ended
        assert [one.phase for one in told if isinstance(one, PhaseEntered)][1:] == [
            "settle the noise"
        ]

    def test_what_warms_up_is_waited_for(self) -> None:
        slow = [did(0.25 * step, 5 * step) for step in range(1, 9)]
        fast = [did(2 + 0.25 * step, 40 + 250 * step) for step in range(1, 30)]
        with beside(Driver(Load([*slow[:3], *fast]))) as found:
            assert found.rates == {"noise 1": pytest.approx(1e9)}

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            ("[    0.1] Kernel panic", "its last words are: [    0.1] Kernel panic"),
            (None, "has not said a word: a guest that hangs"),
        ],
    )
    def test_who_hangs_is_named_with_what_it_said_last(self, words: str | None, why: str) -> None:
        silent = Load([NoiseActivity(instance="noise 1")], words=words)
        driver = Driver(silent)
        said = "nothing was heard of noise 1 within 20ms"
        with (
            pytest.raises(ComponentError, match=said) as caught,
            beside(driver, settle_timeout="20ms"),
        ):
            pass
        assert why in caught.value.with_why
        assert driver.ended, "nothing is left of it"

    def test_what_never_gets_steady_is_given_up_with_what_it_did(self) -> None:
        rates = [did(0.25 * step, 4.0**step) for step in range(1, 60)]
        with (
            pytest.raises(ComponentError, match="was not steady within 1s") as caught,
            beside(Driver(Load(rates)), settle_timeout="1s"),
        ):
            pass
        assert "noise 1 did" in caught.value.with_why

    def test_what_died_at_once_is_told_with_its_last_words(self) -> None:
        dead = Load(steadily(1), why="noise 1 ended with exit code 3; its last words: no memory")
        with (
            pytest.raises(ComponentError, match="the noise did not start") as caught,
            beside(Driver(dead)),
        ):
            pass
        assert "no memory" in caught.value.with_why

    @pytest.mark.parametrize("steady", [True, False])
    def test_what_dies_between_two_looks_is_told_in_the_same_way(
        self, steady: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The deployment attends to all programs, and may see its end before it is asked for."""
        load = Load(steadily(1))

        def attend(nowhere: Nowhere, when: str) -> None:
            load.why = "noise 1 ended with exit code 3"
            raise DiedError(f"noise-1 was lost {when}", why="noise-1 ended with exit code 3")

        monkeypatch.setattr(Nowhere, "attend", attend)
        with (
            pytest.raises(ComponentError, match="the noise did not start") as caught,
            beside(Driver(load, steady)),
        ):
            pass
        assert "noise 1 ended with exit code 3" in caught.value.with_why

    def test_what_has_no_rate_only_has_to_run_and_to_be_heard_of(self) -> None:
        """Such as `io`: it may do ever less, and that it did nothing is no fault either."""
        driver = Driver(Load([did(1, 1000), did(2, 2000), did(3, 2000, cpu=0.0)]), steady=False)
        with beside(driver) as found:
            assert found.rates == {}
            for _ in range(2):
                found.begin()
                assert not found.slackened(found.end())

    @pytest.mark.parametrize("heard", [(0, 0), (1, 0), (0, 1)])
    def test_a_guest_that_hangs_is_not_believed_whatever_its_load(
        self, heard: tuple[int, int]
    ) -> None:
        """It runs, and has no rate that it could fall behind: only its silence tells of it."""
        silent, load = NoiseActivity(instance="noise 1"), Load([])
        load.said = [did(9, 9000) if said else silent for said in heard]
        with beside(Driver(load, steady=False)) as found:
            found.begin()
            assert found.slackened(found.end())

    def test_what_has_no_rate_and_ends_at_once_did_not_start(self) -> None:
        load = Load([NoiseActivity(instance="noise 1")])
        driver = Driver(load, steady=False)

        def ended() -> str | None:
            load.asked += 1
            return "noise 1 ended with exit code 2" if load.asked > 3 else None

        load.failure = ended  # type: ignore[method-assign]
        with pytest.raises(ComponentError, match="the noise did not start"), beside(driver):
            pass

    def test_the_record_has_what_it_settled_at(self) -> None:
        with beside(Driver(Load(steadily(1000)))) as found:
            around = with_noise(Conditions(), found)
        assert around.noise["settled"] == {"noise 1": pytest.approx(1e9)}
        assert around.noise["argv"] == ["load"]
        assert with_noise(Conditions(), None) == Conditions()


class TestTrials:
    @pytest.mark.parametrize(
        ("megabytes", "slack"), [(1000, False), (801, False), (799, True), (0, True)]
    )
    def test_falling_behind_beyond_the_tolerance_is_seen(
        self, megabytes: float, slack: bool
    ) -> None:
        found = BackgroundLoad(
            Load([did(9, 9000), did(10, 9000 + megabytes)]), {"noise 1": 1e9}, 0.8
        )
        found.begin()
        assert found.slackened(found.end()) is slack

    def test_who_was_not_heard_of_in_a_trial_made_no_noise_that_is_known(self) -> None:
        found = BackgroundLoad(Load([did(9, 9000), did(9, 9000)]), {"noise 1": 1e9}, 0.0)
        found.begin()
        assert found.slackened(found.end())

    def test_on_a_shared_cpu_only_silence_counts(self) -> None:
        with beside(Driver(Load([*steadily(1000, 6), did(9, 1), did(10, 2)])), shared=True) as one:
            assert one.least == 0.0
            one.load = Load([did(9, 1), did(10, 2)])
            one.begin()
            assert not one.slackened(one.end())

    def test_cpu_time_is_judged_where_no_bytes_are_counted(self) -> None:
        def ran(seconds: float, cpu: float) -> NoiseActivity:
            return NoiseActivity(
                instance="noise 1", elapsed_ns=int(seconds * SECOND), cpu_ns=int(cpu * SECOND)
            )

        for cpu, slack in ((0.95, False), (0.5, True)):
            found = BackgroundLoad(Load([ran(9, 9), ran(10, 9 + cpu)]), {"noise 1": 1.0}, 0.8)
            found.begin()
            assert found.slackened(found.end()) is slack


class _Generator:
    def failure(self) -> str | None:
        return None


def test_the_watch_tells_who_was_lost_and_what_was_done() -> None:
    load = Load([did(9, 9000), did(10, 9500)])
    watch = Watch(None, _Generator(), background_load=BackgroundLoad(load, {"noise 1": 1e9}, 0.8))  # type: ignore[arg-type]
    watch.begin()
    seen = watch.end()
    assert (seen.noise_slackened, seen.failure) == (True, None)
    assert [one.read_bytes for one in seen.noise] == [500_000_000]
    load.why = "noise 1 was killed by SIGKILL"
    watch.begin()
    seen = watch.end()
    assert (seen.failure, seen.flag) == ("noise 1 was killed by SIGKILL", Flag.NOISE_ERROR)
