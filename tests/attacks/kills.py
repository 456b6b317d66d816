"""Kills at random moments: of a run, of its parts, of `vsperf clean`; and what holds afterwards.

Moments are shares of the time that an undisturbed run takes. After each run, killed or not: every
trial that it called recorded is in its records, `vsperf clean` leaves nothing, and `--resume` comes
to an end.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from real_runs import FIXED, Ended, Run, wait_until

from attacks.announced import Event, found, lost, wrongly_named
from attacks.arena import Arena
from attacks.stop import Stop
from attacks.tally import Tally
from vsperf.errors import ExitCode, VsperfError
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import RunView

RUN = "vsperf run"
CLEAN = "vsperf clean"
BESIDE = "something else that it runs"
"""What mirrors frames for the generator, or is asked what it can do, a moment long."""
POLL_S = 0.02
PATIENCE_S = 180.0
RETURNED_S = 5.0
"""Time for the kernel to take back what a program had that was killed."""
EARLY = 0.5
"""Most of what else runs does so before anything is measured."""
MOST_RUNS = 6
"""A run and its resumptions; the last one is not disturbed."""
UNDISTURBED = {ExitCode.OK, ExitCode.INVALID_RESULT}
"""How a real run may end of which nothing was killed: a busy machine may spoil its numbers."""
BEREAVED = {*UNDISTURBED, ExitCode.COMPONENT_FAILED}
"""How one may end that lost a part."""
MACHINES = (
    "--set=traffic.frame_size=64",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=200ms",
    "--set=trial.offered_tolerance=5%",
    "--set=search={kind: fixed, loads: [1kfps, 2kfps], duration: 400ms, loss_ratio: 20%}",
    "--set=latency=null",
)


@dataclass(frozen=True)
class Scenario:
    """A kind of run, and what of it can be killed."""

    name: str
    arguments: tuple[str, ...]
    parts: tuple[tuple[str, str], ...] = ()
    """Programs: what they are, and what the deployment calls them."""

    @property
    def real(self) -> bool:
        return bool(self.parts)


SWITCH = (("ovs-vswitchd", "ovs-vswitchd"), ("ovsdb-server", "ovsdb-server"), ("tgen", "tgen"))
SIMULATED = Scenario(
    "simulated",
    (
        "run",
        "phy2phy_tput",
        "--testbed=sim",
        "--set=traffic.frame_size=[64,128]",
        "--set=vswitch.behaviour.kind=random-loss",
        "--set=generator.realtime=0.005",
    ),
)
P2P = Scenario("p2p", FIXED, SWITCH)
PVP = Scenario("pvp", ("run", "pvp_tput", "--vnf=qemu", *MACHINES), (*SWITCH, ("QEMU", "vm1")))
PROCESSES = Scenario(
    "pvp-process", ("run", "pvp_tput", "--vnf=process", *MACHINES), (*SWITCH, ("testpmd", "vm1"))
)
TWO_SWITCHES = Scenario(
    "two-switches", (*FIXED, "--vswitch=ovs-dpdk,testpmd"), (*SWITCH, ("testpmd", "testpmd"))
)
IN_TURNS = Scenario(
    "in-turns",
    (
        *("run", "phy2phy_paired", "--vswitch=ovs-dpdk,testpmd", "--set=search.control=false"),
        *("--set=search.rounds=6", "--set=search.pairs=20", "--set=trial.warm_up=0s"),
    ),
    (*SWITCH, ("testpmd", "testpmd")),
)
OTG = Scenario(
    "otg",
    (
        *("run", "phy2phy_tput", "--set=vswitch.kind=linux-bridge", "--set=generator.kind=otg"),
        *("--set=generator.server=start", "--set=trial.stretch_tolerance=100%", *MACHINES),
    ),
    (("the OTG server", "otg-server"), ("tgen", "tgen")),
)


@dataclass
class Pace:
    """How long things take that nobody disturbs."""

    run_s: float = 0.0
    clean_s: float = 1.0
    found: Any = None
    """What an undisturbed run finds; None where that differs from run to run."""


@dataclass
class Round:
    """One run that is killed, and killed again, until it may come to its end."""

    scenario: Scenario
    arena: Arena
    chance: random.Random
    pace: Pace
    tally: Tally
    stop: Stop = field(default_factory=Stop)
    said: list[Event] = field(default_factory=list)
    """The trials and rounds that it called recorded."""
    problems: list[str] = field(default_factory=list)
    hit: set[str] = field(default_factory=set)
    """The programs that it lost, so that its case may have been given up."""
    just_hit: set[str] = field(default_factory=set)
    """Those that the run lost which ended last: of no others may it say that they ended."""
    hit_beside: bool = False
    """Whether one of these is no part, without which the run may not be ready."""

    def carry_out(self, disturbed: bool = True) -> list[str]:
        """Return what should not have happened."""
        try:
            self._carry_out(MOST_RUNS if disturbed else 1)
        except (AssertionError, VsperfError, subprocess.TimeoutExpired) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            self.arena.tidy()
        return self.problems

    def _carry_out(self, most: int) -> None:
        arguments = self.scenario.arguments
        for number in range(most):
            last = number == most - 1 or (number and self.chance.random() < 0.3)
            cleans = self._run_and_end(arguments, disturbed=not last)
            self._clean(cleans)
            stored = self.arena.stored()
            self._look_into(stored)
            if last and stored is None:
                self.problems.append("a run that came to its end left no records")
            if stored is None or stored.end is not None:
                return
            if last:
                self.problems.append("a run that came to its end has no end in its records")
            arguments = ("run", f"--resume={stored.folder.name}")  # `latest` may have been refused

    def _run_and_end(self, arguments: tuple[str, ...], disturbed: bool) -> int:
        """Run, and kill at a moment; return how often to kill `vsperf clean` afterwards."""
        began = time.monotonic()
        self.just_hit.clear()
        self.hit_beside = False
        run = self.arena.start(*arguments)
        victim = self.chance.choice(self._victims())
        if disturbed:
            self._strike(run, victim)
        ended = self._end(run)
        said = [*ended.of("TrialFinished"), *ended.of("RoundFinished")]
        self.said += said
        self.tally.announced += len(said)
        if ended.code != -signal.SIGKILL:
            self._judge(ended)
        if not disturbed:
            self._learn(time.monotonic() - began)
        return self.chance.randint(1, 4) if disturbed and victim == CLEAN else 0

    def _victims(self) -> tuple[str, ...]:
        beside = (BESIDE,) if self.scenario.real else ()
        return (RUN, CLEAN, *dict(self.scenario.parts), *beside)

    def _end(self, run: Run) -> Ended:
        """Wait for its end, without a traceback whatever its exit code."""
        with self.stop.waiting():
            ended = run.over(PATIENCE_S)
        if "Traceback" in ended.err:
            self.tally.tracebacks += 1
            self.problems.append(f"a traceback: {ended.err.strip()[-600:]}")
        return ended

    def _wait(self, run: Run, condition: Callable[[], bool]) -> None:
        """Wait for a condition, or for the end of the run."""
        while run.process.poll() is None and not condition():
            with self.stop.waiting():
                time.sleep(POLL_S)

    def _learn(self, took_s: float) -> None:
        """Take note of how long a run takes; a simulated one is shorter when it is resumed."""
        pace = self.pace
        whole = pace.run_s and self.scenario.real
        pace.run_s = (pace.run_s + took_s) / 2 if whole else max(pace.run_s, took_s)

    def _strike(self, run: Run, victim: str) -> None:
        """Wait for a moment, and kill; what shares a moment with others is killed, too."""
        moment = run.began + self.chance.random() * self.pace.run_s
        if victim in (RUN, CLEAN):
            number = self.chance.choice([signal.SIGKILL] * 8 + [signal.SIGTERM, signal.SIGINT])
            self._end_run(run, moment, signal.SIGKILL if victim == CLEAN else number)
            return
        if victim == BESIDE:
            self._wait(run, past(run.began + (moment - run.began) * EARLY))
            self._wait(run, lambda: self._hit_beside(run))
            return
        name = dict(self.scenario.parts)[victim]
        self._wait(run, lambda: name in self.arena.programs().values())
        self._wait(run, past(moment))
        self._wait(run, lambda: self._hit(run, victim, name))
        more = self.chance.random()
        if more < 0.5:
            self._strike(run, self.chance.choice([*dict(self.scenario.parts)]))
        elif more < 0.75:
            self._end_run(run, time.monotonic() + self.chance.uniform(0, 2), signal.SIGKILL)

    def _end_run(self, run: Run, moment: float, number: signal.Signals) -> None:
        self._wait(run, past(moment))
        if not run.events():
            number = signal.SIGKILL  # Python has its own way with others before vsperf runs
        if run.process.poll() is None:
            run.send(number)
            told = "" if number == signal.SIGKILL else f" by {number.name}"
            self.tally.killed(self.scenario.name, RUN + told, phase(run))

    def _hit(self, run: Run, victim: str, name: str) -> bool:
        before = phase(run)
        hit = self.arena.kill(name)
        if hit:
            self.hit.add(name)
            self.just_hit.add(name)
            self.tally.killed(self.scenario.name, victim, before)
        return hit

    def _hit_beside(self, run: Run) -> bool:
        before = phase(run)
        name = self.arena.kill_beside(run, dict(self.scenario.parts).values())
        if name is not None:
            self.hit.add(name)
            self.just_hit.add(name)
            self.hit_beside = True
            self.tally.killed(self.scenario.name, f"{BESIDE}, {name}", before)
        return name is not None

    def _judge(self, ended: Ended) -> None:
        """See that a run which was not killed ended as it may, names whom it lost, left nothing."""
        allowed = {128 + signal.SIGTERM, 128 + signal.SIGINT}
        allowed |= BEREAVED if self.hit else UNDISTURBED
        if self.hit_beside:
            allowed |= {ExitCode.NOT_READY}
        if not self.scenario.real:
            allowed -= {ExitCode.INVALID_RESULT}
        if ended.code not in allowed:
            self.problems.append(f"a run ended with {ended.code}: {ended.said.strip()[-600:]}")
        # What is said of a case stands in its record, which the events tell, too.
        if wrong := wrongly_named(ended.err, self.just_hit):
            self.tally.misnamed += 1
            self.problems.append(f"{wrong} is named, not {self.just_hit}: {ended.err[-2000:]}")
        self._nothing_left("a run that came to its end left")

    def _clean(self, kills: int) -> None:
        """Clean up, and be killed at it so many times before."""
        for _ in range(kills):
            cleaning = self.arena.start("clean")
            moment = cleaning.began + self.chance.uniform(0.3, 1.0) * self.pace.clean_s
            self._wait(cleaning, past(moment))
            if cleaning.process.poll() is None:
                cleaning.process.kill()
                self.tally.killed(self.scenario.name, CLEAN, "clean")
            self._end(cleaning)
        ended = self._end(self.arena.start("clean"))
        self.pace.clean_s = (self.pace.clean_s + ended.took_s) / 2
        if ended.code != ExitCode.OK:
            self.problems.append(f"clean ended with {ended.code}: {ended.out} {ended.err}")
        self._nothing_left("clean left")

    def _nothing_left(self, who: str) -> None:
        if not wait_until(lambda: not self.arena.traces(), RETURNED_S):
            left = self.arena.traces()
            self.tally.left += len(left)
            self.problems.append(f"{who}: {'; '.join(left)}")

    def _look_into(self, stored: RunView | None) -> None:
        """See that the records hold what was said, and that they are valid."""
        missing = self.said if stored is None else lost(self.said, stored)
        self.tally.lost += len(missing)
        if missing:
            self.problems.append(f"{len(missing)} of {len(self.said)} announced trials are lost")
        if stored is None or stored.end is None:
            return
        validate_file(stored.folder / RECORDS)
        if self.pace.found is not None and found(stored) != self.pace.found:
            self.problems.append("it found something else than an undisturbed run")


def past(moment: float) -> Callable[[], bool]:
    """Return a condition that holds from a moment on."""
    return lambda: time.monotonic() >= moment


def phase(run: Run) -> str:
    """Return the phase that a run is in, as far as it has told."""
    phases = [event["phase"] for event in run.events() if event["event"] == "PhaseEntered"]
    ended = any(event["event"] == "CaseFinished" for event in run.events())
    return "at its end" if ended else phases[-1] if phases else "before anything"
