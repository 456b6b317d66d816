"""Machines and switches whose truth is known, and a bench on which they take turns."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vsperf.config.traffic import TrafficProfile
from vsperf.methods.paired import PairedTurns
from vsperf.methods.turns import TurnsAsked
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, SearchResult
from vsperf.records.turn_columns import Turn, TurnColumns
from vsperf.records.turns import Named, Round
from vsperf.search.base import Budget, Loads
from vsperf.simulation.restless import Restless, RestlessHost
from vsperf.simulation.switch import SwitchModel
from vsperf.simulation.turns import RING_FRAMES, SimulatedTurns

LINE_FPS = 14_880_952
FASTEST_FPS = 4_000_000
TRAFFIC = TrafficProfile.model_validate({"frame_size": 64, "flows": 1, "direction": "both"})
NOISE = {"noise": "1.5%"}


@dataclass(frozen=True, slots=True)
class PairedModel:
    """A machine and a first switch; the others have a share of its rate."""

    name: str
    host: Mapping[str, Any] = field(default_factory=dict)
    switch: Mapping[str, Any] = field(default_factory=dict)
    slow_fps: float = 0
    """What the generator can send for a third of the time, per direction, more or less; 0 where it
    is never slow."""


MODELS = (
    PairedModel("noise", NOISE),
    PairedModel("draws", NOISE, {"draw": "3%"}),
    PairedModel("large-draws", NOISE, {"draw": "4.5%"}),
    PairedModel("telegraph", {**NOISE, "far": "60%"}, {"draw": "3%"}),
    PairedModel(
        "fast-telegraph",
        {**NOISE, "far": "60%", "near_lasts": "200ms", "far_lasts": "500ms"},
        {"draw": "1%"},
    ),
    PairedModel("drift", {**NOISE, "drift": "30%"}, {"draw": "1%"}),
    PairedModel("wave", {**NOISE, "wave": "10%", "wave_lasts": "700ms"}, {"draw": "1%"}),
    PairedModel("away", {**NOISE, "away": "20%"}, {"draw": "3%"}),
    PairedModel("gaps", {**NOISE, "gaps": "2%"}, {"draw": "1%"}),
    PairedModel("taken", {**NOISE, "taken": "50%"}, {"draw": "1%"}),
    PairedModel("slow-generator", NOISE, {"draw": "3%"}, 0.9 * FASTEST_FPS),
    PairedModel("slow-after-a-rest", NOISE, {"draw": "1%", "warms_in": "1500us"}),
)
"""What a session has to see through; in the last one within the guard."""

Most = Callable[[int, int, int], int]
"""What a generator can send per direction, by the deployment, the side, and which turn it is."""


def slow_at_times(slow_fps: float, seed: int) -> Most:
    """Return that of one which is slow in a third of stretches of 16 turns, as its machine is."""

    def most(deployment: int, _side: int, turn: int) -> int:
        stretch = random.Random(f"{seed} {deployment} {turn // 16}")  # noqa: S311 - a model
        turns = random.Random(f"{seed} {deployment} {turn} turn")  # noqa: S311
        fps = slow_fps if stretch.random() < 1 / 3 else 2 * FASTEST_FPS
        return math.floor(fps * math.exp(turns.gauss(0, 0.08)))

    return most


@dataclass
class TurnsOfSlowOnes(SimulatedTurns):
    """Turns of a generator that is slow at times, once the load is known."""

    most: Most = lambda *_: LINE_FPS

    def _turn(
        self, side: int, began_ns: int, load_fps: int, turn_ns: int, guard_ns: int, *, rested: bool
    ) -> Turn:
        turn = began_ns // (turn_ns + guard_ns)
        looked_for = load_fps == LINE_FPS
        self.most_fps = LINE_FPS if looked_for else self.most(self.deployment, side, turn)
        return super()._turn(side, began_ns, load_fps, turn_ns, guard_ns, rested=rested)


@dataclass
class ModelTurns:
    """Switches in turns on a machine whose clock goes on from deployment to deployment."""

    model: PairedModel
    shares: tuple[float, ...]
    """The rate of each side, as a share of that of the first."""
    letters: tuple[str, ...]
    seed: int
    budget: Budget = field(default_factory=Budget)
    loads: Loads = field(default_factory=lambda: Loads(1, LINE_FPS, LINE_FPS))
    rounds: list[Round] = field(default_factory=list)
    most_fps: int = LINE_FPS
    """That the generator can send, per direction."""
    warm_up_ns: int = 0
    least: Mapping[str, float] = field(default_factory=dict)
    """Criteria: what a ratio has to be at least, by its name."""
    most: Most | None = None
    """Where that is less at times."""
    deployment: int = 1
    host: RestlessHost = field(init=False)
    turns: SimulatedTurns = field(init=False)

    def __post_init__(self) -> None:
        self.host = RestlessHost(Restless.model_validate(self.model.host), self.seed)
        if self.model.slow_fps:
            self.most = slow_at_times(self.model.slow_fps, self.seed)
        self.turns = self._deployed()

    @property
    def sides(self) -> tuple[Named, ...]:
        return tuple(Named(letter=letter, name=letter) for letter in self.letters)

    def round(self, asked: TurnsAsked) -> Round:
        if asked.anew:
            self.deployment += 1
            self.turns = self._deployed()
        times = (asked.turn_ns, asked.guard_ns)
        how = (asked.latency, asked.rings)
        turns = self.turns.run(asked.order, asked.load_fps, *times, *how)
        made = Round(
            index=len(self.rounds) + 1,
            role=asked.role,
            started_at="",
            deployment=self.deployment,
            sides=self.sides,
            load_fps=asked.load_fps,
            directions=2,
            turn_ns=asked.turn_ns,
            guard_ns=asked.guard_ns,
            elapsed_ns=asked.length_ns,
            turns=TurnColumns.of(turns),
            ring_frames=RING_FRAMES,
            warm_passes=asked.warm_passes,
        )
        self.budget.require(asked.length_ns)
        self.budget.spend(asked.length_ns)
        self.rounds.append(made)
        return made

    def judged(self, result: SearchResult) -> tuple[tuple[str, bool | None], ...]:
        """Return what each criterion makes of a result."""
        found = {one.name: one for one in result.figures if Flag.CONTROL_DIFFERS not in one.flags}
        return tuple((name, _met(found.get(name), least)) for name, least in self.least.items())

    def _deployed(self) -> SimulatedTurns:
        switches = [self._switch(share) for share in self.shares]
        made = (switches, TRAFFIC, 2, self.most_fps, self.host, self.deployment)
        if self.most is None:
            return SimulatedTurns(*made)
        return TurnsOfSlowOnes(*made, most=self.most)

    def _switch(self, share: float) -> SwitchModel:
        capacity = f"{math.floor(FASTEST_FPS * share)}fps"
        settings = {**self.model.switch, "capacity": capacity, "ports": ["phy0", "phy1"]}
        return SwitchModel.model_validate(settings)


def _met(figure: Figure | None, least: float) -> bool | None:
    if figure is None or figure.value is None:
        return None
    if figure.lower is not None and figure.lower >= least:
        return True
    return False if figure.upper is not None and figure.upper <= least else None


def method(**settings: Any) -> PairedTurns:
    """Return the method with these settings."""
    return PairedTurns.model_validate({"kind": "paired", **settings})


def session(model: PairedModel, seed: int, *shares: float, control: bool = True) -> ModelTurns:
    """Return a bench with a first switch, its control, and rivals with shares of its rate."""
    letters = ("A", *(("A′",) if control else ()), *"BCDEFGH"[: len(shares)])
    own = (1.0, 1.0) if control else (1.0,)
    return ModelTurns(model, (*own, *shares), letters, seed)
