"""Clean time: a trial without the slots in which a part of the testbed was kept from running.

Slots are left out by who stood still in them, whether or not they lost frames; what they lost is
not looked at. For the generator its own clock is the evidence. That the path was silent is none,
for a switch may fall silent on its own: only where the kernel says that polling threads behind the
generator did not run for as long, silent slots are left out, too. That is a question to many trials
together: the kernel counts what a hypervisor took in ticks of 10 ms, which say nothing of a single
trial, and add up to the truth.

What is left is a trial again, so that whoever judges trials can judge it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.slots import Slot, Slots
from vsperf.records.trial import Direction, Trial, intended_frames

BURST_FRAMES = 64
"""A burst falls into one slot or the next,"""
LATE_NS = 100_000
"""and so does what was due in so much time, for which a generator may be late unseen. At each edge
of what is left out so many frames may be counted on the wrong side; that many unsent ones are not
counted at all."""
TAIL = Fraction(11, 10)
"""A silence is a little longer than what made it: frames that waited have to be fetched first."""
LEAST = Fraction(1, 2)
"""Of time must be clean, or what is left of it stands for nothing."""


class CleanTrial(Trial):
    """What is left of a trial; its load and duration stay those that were asked for."""

    counted_ns: int
    """Time of sending that counts."""
    whole_ns: int
    """All time of sending."""
    left_out_frames: int
    """Frames that were missed in what is left out, all directions."""

    @property
    def enough(self) -> bool:
        """Whether so much is left that it stands for something."""
        return self.counted_ns > 0 and self.counted_ns >= LEAST * self.whole_ns

    @property
    def behind_frames(self) -> int:
        """Of what the generator can have lost, that which was not lost in what is left out."""
        return max(0, super().behind_frames - self.left_out_frames)

    @property
    def vnf_frames(self) -> int:
        """Of what VNFs lost, that which was not lost in what is left out."""
        return max(0, super().vnf_frames - self.left_out_frames)


def kept_silent(trials: Iterable[Trial]) -> bool:
    """Whether the path was silent for as long as threads behind the generator were kept still."""
    silence_ns = kept_ns = 0
    for trial in trials:
        silence_ns += trial.slots.silence_ns if trial.slots is not None else 0
        kept_ns += trial.kept_ns
    return 0 < silence_ns <= TAIL * kept_ns


def in_clean_time(trial: Trial, silent: bool | None = None) -> Trial:
    """Return a trial without the slots that do not count; itself, if nobody knows of slots.

    Silent ones count or not as trials around this one say, or else as it says itself.
    """
    slots = trial.slots
    if isinstance(trial, CleanTrial) or slots is None or not _known(trial, slots):
        return trial
    out = slots.left_out(silent=kept_silent([trial]) if silent is None else silent)
    whole_ns = trial.sending_ns or 0
    widths = [max(0, min(slots.width_ns, whole_ns - one.index * slots.width_ns)) for one in out]
    running_ns = sum(max(0, ns - one.away_ns) for one, ns in zip(out, widths, strict=True))
    unsure = min(BURST_FRAMES, trial.load_fps * LATE_NS // NANOSECONDS + 1) * _edges(out)
    left = tuple(
        _left(way, number, slots, out, _due(way, trial, running_ns) + unsure)
        for number, way in enumerate(trial.directions)
    )
    return CleanTrial(
        **{**dict(trial), "directions": left},
        counted_ns=whole_ns - sum(widths),
        whole_ns=whole_ns,
        left_out_frames=trial.lost_frames - sum(way.lost_frames for way in left),
    )


def counted_ns(trial: Trial) -> int:
    """Return the time for which a trial counts: all that was asked for, or what of it is clean."""
    if isinstance(trial, CleanTrial):
        return min(trial.duration_ns, trial.counted_ns)
    return trial.duration_ns


def clean_share(trials: Iterable[Trial]) -> Fraction | None:
    """Return the share of clean time in all of them; None if nobody knows of any."""
    cleaned = [one for one in map(in_clean_time, trials) if isinstance(one, CleanTrial)]
    whole_ns = sum(one.whole_ns for one in cleaned)
    return Fraction(sum(one.counted_ns for one in cleaned), whole_ns) if whole_ns else None


def _known(trial: Trial, slots: Slots) -> bool:
    """Whether the slots have every frame of the trial, at the load that it stands for.

    Frames that are replayed at the times of a file, or have no mark, are in no slot, or not evenly.
    """
    intended = intended_frames(trial.load_fps, trial.duration_ns)
    return (
        not slots.cut
        and max(way.intended_frames for way in trial.directions) == intended
        and slots.sent_frames == tuple(way.sent_frames for way in trial.directions)
        and slots.received_frames == tuple(way.good_frames for way in trial.directions)
    )


def _left(way: Direction, number: int, slots: Slots, out: Sequence[Slot], due: int) -> Direction:
    """Return what is left of a direction when slots in which `due` frames were due are gone.

    What was due in a slot and not sent there is sent later, or never: it is missed where it was
    due, and made good where it was sent. Where no port was full and the generator was not short,
    nothing is missed.
    """
    sent = slots.sent_frames[number] - sum(slot.sent_frames[number] for slot in out)
    received = slots.received_frames[number] - sum(slot.received_frames[number] for slot in out)
    refused = slots.refused_frames[number] - sum(slot.refused_frames[number] for slot in out)
    missed = due - (slots.sent_frames[number] - sent)
    most = min(way.unsent_frames, refused + max(0, way.short_frames))
    unsent = max(0, min(most, way.unsent_frames - missed))
    changes = {
        "intended_frames": sent + unsent,
        "sent_frames": sent,
        "received_frames": received,
        "duplicate_frames": way.duplicate_frames and 0,
        "corrupted_frames": way.corrupted_frames and 0,
    }
    if way.refused_frames is not None:
        changes["refused_frames"] = max(0, unsent - max(0, way.short_frames))
    return way.model_copy(update=changes)


def _due(way: Direction, trial: Trial, ns: int) -> int:
    """Return how many frames are due in some of a trial's time; one direction may have fewer."""
    return way.intended_frames * ns // max(1, trial.duration_ns)


def _edges(out: Sequence[Slot]) -> int:
    """Return at how many places time that counts begins again, or ends."""
    indices = {slot.index for slot in out}
    return sum((index - 1 not in indices) + (index + 1 not in indices) for index in indices)
