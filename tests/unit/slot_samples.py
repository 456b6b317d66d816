"""Trials told in slots of time, for the tests of clean time."""

from __future__ import annotations

from collections.abc import Sequence

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.slots import Slot, Slots, even_share
from vsperf.records.threads import SWITCH, ThreadActivity
from vsperf.records.trial import Direction, Purpose, Trial, intended_frames

WIDTH_NS = 10_000_000
RATE = 10_000
"""Frames that are due in a slot in which nothing happens, in each of two directions."""
LOAD_FPS = RATE * NANOSECONDS // WIDTH_NS
WAYS = ("phy0 to phy1", "phy1 to phy0")

Story = Sequence[tuple[int, int, int]]
"""Of each slot: time away, time silent, frames lost."""

GAP_NS = 100_001
CALM = (0, 0, 0)
AWAY = (GAP_NS, 0, 0)
SILENT = (0, GAP_NS, 0)
LOSSY = (0, 0, 7)


def told(story: Story, count: int | None = None, *, cut: bool = False) -> Slots:
    """Return the slots of a trial as a generator tells them: only those in which is something.

    Losses are those of the first direction.
    """
    count = len(story) if count is None else count
    every = [
        Slot(
            index=index,
            sent_frames=(RATE, RATE) if index < count else (0, 0),
            received_frames=(RATE - lost, RATE) if index < count else (0, 0),
            refused_frames=(0, 0),
            away_ns=away,
            silent_ns=silent,
        )
        for index, (away, silent, lost) in enumerate(story)
    ]
    happened = [any(one) for one in story]
    return Slots.of(
        width_ns=WIDTH_NS,
        count=count,
        sent_frames=_sums(slot.sent_frames for slot in every),
        received_frames=_sums(slot.received_frames for slot in every),
        refused_frames=(0, 0),
        noted=tuple(slot for n, slot in enumerate(every) if any(happened[max(0, n - 1) : n + 2])),
        cut=cut,
    )


def _sums(frames: object) -> tuple[int, int]:
    pairs = list(frames)  # type: ignore[call-overload]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def trial_of(slots: Slots | None, *, kept_ns: int = 0, unsent: int = 0, refused: int = 0) -> Trial:
    """Return the trial that these slots are of; `kept_ns` is what the kernel says of the switch."""
    count = slots.count if slots is not None else 10
    sent = slots.sent_frames if slots is not None else (RATE * count,) * 2
    received = slots.received_frames if slots is not None else sent
    return Trial(
        directions=tuple(
            Direction(
                name=name,
                intended_frames=sent[n] + unsent,
                sent_frames=sent[n],
                received_frames=received[n],
                refused_frames=refused,
            )
            for n, name in enumerate(WAYS)
        ),
        sending_ns=count * WIDTH_NS,
        elapsed_ns=count * WIDTH_NS,
        settled=True,
        slots=slots,
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=(sent[0] + unsent) * NANOSECONDS // (count * WIDTH_NS) if count else LOAD_FPS,
        duration_ns=count * WIDTH_NS,
        started_at="",
        threads=(ThreadActivity(part=SWITCH, name="pmd-c01/id:8", cpu=1, delay_ns=kept_ns),),
    )


def in_slots(
    load_fps: int, duration_ns: int, capacity_fps: int, gaps: int, lost_in_gaps: int, own_loss: int
) -> Trial:
    """Return a trial in slots: `gaps` of them with a gap, far apart from the switch's own loss.

    Overload is lost evenly, all else in one slot each.
    """
    count = max(1, duration_ns // WIDTH_NS)
    intended = intended_frames(load_fps, duration_ns)
    overload = max(0, intended - intended_frames(capacity_fps, duration_ns))
    sent = [even_share(intended, n, count) for n in range(count)]
    lost = [even_share(overload, n, count) for n in range(count)]
    away = [0] * count
    for gap in range(min(gaps, count)):
        place = (2 + 3 * gap) % count
        away[place] = 200_000
        lost[place] += lost_in_gaps if gap == 0 else 0
    lost[-1] += own_loss
    happened = {n for n in range(count) if away[n] or lost[n]}
    noted = sorted({n + by for n in happened for by in (-1, 0, 1)} & set(range(count)))
    slots = Slots.of(
        width_ns=WIDTH_NS,
        count=count,
        sent_frames=(intended,),
        received_frames=(intended - sum(lost),),
        refused_frames=(0,),
        noted=tuple(
            Slot(
                index=n,
                sent_frames=(sent[n],),
                received_frames=(sent[n] - lost[n],),
                refused_frames=(0,),
                away_ns=away[n],
                silent_ns=0,
            )
            for n in noted
        ),
    )
    way = Direction(
        name=WAYS[0],
        intended_frames=intended,
        sent_frames=intended,
        received_frames=intended - sum(lost),
    )
    return trial_of(None).model_copy(
        update={
            "directions": (way,),
            "sending_ns": duration_ns,
            "elapsed_ns": duration_ns,
            "slots": slots,
            "load_fps": load_fps,
            "duration_ns": duration_ns,
            "threads": (),
        }
    )
