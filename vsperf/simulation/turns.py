"""Turns on simulated switches, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from vsperf.config.traffic import TrafficProfile
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.turn_columns import Turn
from vsperf.simulation.base import Chance
from vsperf.simulation.path import BATCH_FRAMES, FLOOR_NS
from vsperf.simulation.restless import RestlessHost
from vsperf.simulation.switch import SwitchModel

COLD = 0.5
"""Share of its rate that a switch has until its caches are its own again."""
AWAY = 3
"""One part in so many of a turn the generator is kept from running, where it is."""
RING_FRAMES = 1024
"""Of each direction may wait on either side of a switch."""
SLOT_ENDS = (5, 10, 20, 40, 100)
"""Where slots of a turn end, in percent of it."""
SLOTS = tuple(pairwise((0, *SLOT_ENDS)))
FIRST_PART, LAST_PART = 4, 16
"""Parts of a ring that is emptied which are not measured, at its begin and its end."""
RECEIVES = 2
"""Times as many frames the generator can receive alone as it can send and receive."""
SILENCE_NS = 500_000
"""Nothing that comes for no longer is none."""


@dataclass
class SimulatedTurns:
    """Switches that take turns, as one deployment made them."""

    switches: Sequence[SwitchModel]
    traffic: TrafficProfile
    directions: int
    most_fps: int
    """That the generator can send, per direction."""
    host: RestlessHost
    deployment: int = 0
    """Which it is: the same gives the same draw."""
    capacities: tuple[float, ...] = field(init=False)
    """Of each switch, per direction."""
    pace: float = 1.0
    """The share of their rate that switches had in the last turn."""
    delays: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.delays = Chance.of(self.host.seed, "delays", self.deployment)
        size, flows = self.traffic.frame_size, int(self.traffic.flows)
        self.capacities = tuple(
            switch.capacity_fps(size, flows, self.directions)
            * switch.drawn(self.host.seed, place, self.deployment)
            for place, switch in enumerate(self.switches)
        )

    def run(
        self,
        order: Sequence[int],
        load_fps: int,
        turn_ns: int,
        guard_ns: int,
        latency: bool = False,
        rings: bool = False,
    ) -> list[Turn]:
        turns: list[Turn] = []
        before: int | None = None
        for number, side in enumerate(order):
            began_ns = number * (guard_ns + turn_ns)
            rested = side != before
            turn = self._turn(side, began_ns, load_fps, turn_ns, guard_ns, rested=rested)
            if latency:
                turn = self._timed(turn, min(load_fps, self.most_fps))
            turns.append(self._emptied(turn) if rings else turn)
            before = side
        return turns

    def _turn(
        self, side: int, began_ns: int, load_fps: int, turn_ns: int, guard_ns: int, *, rested: bool
    ) -> Turn:
        self.pace = pace = self.host.pace(guard_ns + turn_ns)
        away_ns = turn_ns // AWAY if self.host.is_away() else round(self.host.gap() * turn_ns)
        taken_ns = round(self.host.taken() * turn_ns)
        cold_ns = self.switches[side].warms_in.ns if rested else 0
        sending_fps = min(load_fps, self.most_fps)
        rate = self.capacities[side] * pace
        guarded = self._frames(min(sending_fps, rate * COLD), min(cold_ns, guard_ns))
        guarded += self._frames(min(sending_fps, rate), guard_ns - min(cold_ns, guard_ns))
        left_ns = max(0, min(cold_ns - guard_ns, turn_ns))
        ran_ns = turn_ns - away_ns
        busy_ns = max(0, ran_ns - taken_ns)
        received = self._frames(min(sending_fps, rate * COLD), min(left_ns, busy_ns))
        received += self._frames(min(sending_fps, rate), max(0, busy_ns - left_ns))
        received += self._from_rings(sending_fps, rate, away_ns, taken_ns, busy_ns)
        intended = self._frames(load_fps, ran_ns)
        sent = self._frames(sending_fps, ran_ns)
        whole_sent, whole = sent + self._frames(sending_fps, guard_ns), received + guarded
        return Turn(
            side=side,
            began_ns=began_ns,
            ended_ns=began_ns + guard_ns + turn_ns,
            measured_ns=turn_ns,
            sent_frames=sent,
            received_frames=received,
            slots_ns=tuple(end * turn_ns // 100 - begin * turn_ns // 100 for begin, end in SLOTS),
            received_by_slot=self._by_slot(
                received, left_ns, turn_ns, min(sending_fps, rate * COLD), min(sending_fps, rate)
            ),
            intended_frames=intended,
            refused_frames=0,
            full_ns=0,
            gaps_ns=away_ns,
            longest_gap_ns=away_ns,
            behind_ns=0,
            silence_ns=taken_ns if taken_ns > SILENCE_NS else 0,
            fillings=None,
            fillings_behind=None,
            fillings_short=None,
            latencies=None,
            latency_sum_ns=None,
            latency_p50_ns=None,
            latency_p99_ns=None,
            turn_sent_frames=whole_sent,
            turn_received_frames=whole,
            sent_by_direction=self._by_direction(whole_sent),
            received_by_direction=self._by_direction(whole),
            elsewhere_frames=0,
            missed_frames=0,
            continue_ns=0,
            first_ns=0 if whole else None,
            drain_ns=0,
            drained=True,
            hold_ns=0,
        )

    def _emptied(self, turn: Turn) -> Turn:
        """Return a turn in which rings are filled and emptied instead, each time all of them.

        What keeps the generator from running takes some of these times, and none of their frames.
        """
        rate = max(1.0, self.capacities[turn.side] * self.pace)
        most = RECEIVES * self.most_fps
        taken = turn.silence_ns / turn.measured_ns
        each_ns = RING_FRAMES * NANOSECONDS / min(rate, most)
        filled_ns = RING_FRAMES * NANOSECONDS / self.most_fps
        ran_ns = turn.measured_ns - turn.gaps_ns
        fillings = max(1, int(ran_ns * (1 - taken) / (each_ns + filled_ns)))
        frames = RING_FRAMES - RING_FRAMES // FIRST_PART - RING_FRAMES // LAST_PART
        received = self.directions * fillings * frames
        whole = self.directions * fillings * RING_FRAMES
        return replace(
            turn,
            measured_ns=round(fillings * frames / RING_FRAMES * each_ns),
            sent_frames=received,
            received_frames=received,
            slots_ns=None,
            received_by_slot=None,
            intended_frames=0,
            gaps_ns=0,
            longest_gap_ns=0,
            silence_ns=0,
            fillings=fillings,
            fillings_behind=fillings if rate > most else 0,
            fillings_short=0,
            turn_sent_frames=whole,
            turn_received_frames=whole,
            sent_by_direction=self._by_direction(whole),
            received_by_direction=self._by_direction(whole),
        )

    def _timed(self, turn: Turn, load_fps: int) -> Turn:
        """Return a turn with its latencies: those of a queue that is used as it was in this turn.

        A percentile of so many frames is off by what their number leaves open; frames that come
        together wait together, so that it is as if there were fewer of them.
        """
        count = turn.received_frames
        if not count:
            return replace(turn, latencies=0, latency_sum_ns=0)
        service_ns = NANOSECONDS / max(1.0, self.capacities[turn.side] * self.pace)
        used = min(0.999, load_fps * service_ns / NANOSECONDS)
        wait_ns = BATCH_FRAMES * service_ns * used / (2 * (1 - used))
        alone = max(1, count // BATCH_FRAMES)

        def below(share: float) -> int:
            off = self.delays.wobble() * math.sqrt(share * (1 - share) / alone)
            waited_ns = -math.log(max(1e-9, 1 - share - off)) * wait_ns
            return round(FLOOR_NS + min(waited_ns, RING_FRAMES * service_ns))

        return replace(
            turn,
            latencies=count,
            latency_sum_ns=round(count * (FLOOR_NS + wait_ns)),
            latency_p50_ns=below(0.5),
            latency_p99_ns=below(0.99),
        )

    def _from_rings(
        self, sending_fps: float, rate: float, away_ns: int, taken_ns: int, busy_ns: int
    ) -> int:
        """Return what rings had for the time in which one of both did not run.

        Where they are full, a switch goes on while the generator is away; where they are not, it
        catches up with what came while it was kept from running itself.
        """
        if sending_fps >= rate:
            return min(self.directions * RING_FRAMES, self._frames(rate, away_ns))
        waits = min(self.directions * RING_FRAMES, self._frames(sending_fps, taken_ns))
        return min(waits, self._frames(rate - sending_fps, busy_ns))

    def _by_slot(
        self, frames: int, cold_ns: int, turn_ns: int, cold_fps: float, warm_fps: float
    ) -> tuple[int, ...]:
        """Return the frames of each slot of a turn that is cold for so long at its begin."""

        def by(time_ns: float) -> float:
            return cold_fps * min(cold_ns, time_ns) + warm_fps * max(0, time_ns - cold_ns)

        whole = by(turn_ns) or 1.0
        ends = [0, *(round(frames * by(end * turn_ns / 100) / whole) for end in SLOT_ENDS)]
        return tuple(after - before for before, after in pairwise(ends))

    def _by_direction(self, frames: int) -> tuple[int, ...]:
        """Return the frames of each direction, which are all alike."""
        return (frames // self.directions,) * self.directions

    def _frames(self, fps: float, time_ns: int) -> int:
        return self.directions * round(fps * time_ns / NANOSECONDS)
