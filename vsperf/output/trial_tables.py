"""What was seen in each trial of a case, as tables: its frames, the switch, threads, VNFs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.analysis.frame_paths import frame_paths
from vsperf.config.topology import Topology
from vsperf.output.table import NOTHING, Column, Table
from vsperf.quantities.human import human_fps, human_ns, rounded_share
from vsperf.records.chain import Stage, gauges_of, joints_of, stages_of
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Trial


def _by_trial(
    title: str,
    names: Iterable[str],
    trials: Sequence[tuple[Trial, Callable[[str], str]]],
    words: Container[str] = (),
) -> Table:
    """Return a row for each trial, with a number below each name, or with words that may break."""
    shown = tuple(names)
    rows = ((f"#{trial.index}", *map(cell, shown)) for trial, cell in trials)
    heads = (Column[Trial](name, align="right", breaks=name in words) for name in shown)
    return Table(title, (Column("trial"), *heads), tuple(rows))


# Where the frames of each trial went, and what it cost the switch.

ALWAYS = (
    "load",
    "due",
    "sent",
    "refused",
    "not sent",
    "arrived",
    "dropped by the switch",
    "unexplained",
)
"""Due are those sent, refused and not sent; those sent arrived, were dropped or are unexplained."""
WHERE_COUNTED = ("busy", "cycles/frame", "answered by", "CPU to CPU", "longest stall")
"""Columns that are left out where nobody counts them: not every switch has caches, or cycles."""
IN_WORDS = ("dropped by the switch", "answered by")


def account_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial that the switch counted in; None when it counted in none."""
    names = (*ALWAYS, *WHERE_COUNTED)
    counted = [
        (trial, dict(zip(names, _cells(trial, trial.switch), strict=True)).__getitem__)
        for trial in trials
        if trial.switch is not None
    ]
    if not counted:
        return None
    title = "where the frames went, and what they cost the switch"
    return _by_trial(title, names, counted, IN_WORDS).without(NOTHING, WHERE_COUNTED)


def whole_account(trials: Sequence[Trial]) -> Table | None:
    """Return what became of the frames of all trials that the switch counted in; None without any.

    The rows are as the columns of each trial: refused, not sent and sent make up what was due; the
    others make up what was sent.
    """
    counted = [trial for trial in trials if trial.switch is not None]
    if not counted:
        return None
    ways = [way for trial in counted for way in trial.directions]
    switches = [trial.switch for trial in counted if trial.switch is not None]
    inside = sum(vnf.lost_frames or 0 for trial in counted for vnf in trial.vnfs)
    unexplained = [trial.unexplained_frames for trial in counted]
    known = [count for count in unexplained if count is not None]
    rows = [
        ("due", sum(way.intended_frames for way in ways), ""),
        ("refused", sum(way.refused_frames or 0 for way in ways), "offered to a full ring"),
        ("not sent", sum(way.short_frames for way in ways), "the generator was too slow"),
        ("sent", sum(way.sent_frames for way in ways), "the rows below make it up"),
        ("arrived", sum(way.good_frames for way in ways), ""),
        ("dropped by the switch", sum(one.dropped_frames for one in switches), _dropped(switches)),
        *([("lost in VNFs", inside, "")] if inside else []),
    ]
    cells = [(name, f"{count:,}", note) for name, count, note in rows]
    told = f"{sum(known):,}" if len(known) == len(unexplained) else NOTHING
    cells.append(("unexplained", told, "sent, and counted nowhere else"))
    title = f"where the frames of {len(counted):,} trials went, all together"
    heads = (Column[Trial]("frames"), Column[Trial]("count", align="right"))
    return Table(title, (*heads, Column[Trial]("", breaks=True)), tuple(cells))


def _dropped(switches: Sequence[SwitchCounters]) -> str:
    """Say by which counters, and how many."""
    found = Counter[str]()
    for one in switches:
        for name, count in _drops(one):
            found[name] += count
    return ", ".join(f"{count:,} {name}" for name, count in found.items() if count)


def _cells(trial: Trial, switch: SwitchCounters) -> list[str]:
    refused = [way.refused_frames for way in trial.directions if way.refused_frames is not None]
    good = sum(way.good_frames for way in trial.directions)
    trips = trial.round_trips_ns
    gap_ns = trial.generator.longest_gap_ns if trial.generator else None
    unexplained = trial.unexplained_frames
    return [
        human_fps(trial.load_fps),
        str(sum(way.intended_frames for way in trial.directions)),
        str(trial.sent_frames),
        str(sum(refused)) if refused else NOTHING,
        str(sum(way.short_frames for way in trial.directions)),
        str(good),
        drops_text(switch),
        NOTHING if unexplained is None else str(unexplained),
        NOTHING if trial.switch_busy is None else rounded_share(trial.switch_busy),
        _cycles(switch),
        _caches(switch.pmds),
        " … ".join(human_ns(trip) for trip in dict.fromkeys(trips)) or NOTHING,
        human_ns(gap_ns) if gap_ns is not None else NOTHING,
    ]


def drops_text(switch: SwitchCounters) -> str:
    """Name the drops that the switch counted, with where they happened."""
    return ", ".join(f"{count} {name}" for name, count in _drops(switch) if count) or "0"


def _drops(switch: SwitchCounters) -> Iterator[tuple[str, int]]:
    """Yield each counter of drops, those of ports with where they happened."""
    for port in switch.ports:
        for reason, count in port.drops.items():
            yield f"{port.link or port.name} {reason}", count
    yield from switch.drops.items()


def _cycles(switch: SwitchCounters) -> str:
    found = switch.cycles_per_frame
    return NOTHING if found is None else f"{found:.0f}"


def _caches(pmds: Sequence[PmdCounters]) -> str:
    """Say which cache answered the lookups, in percent; shares below a thousandth are left out."""
    hits: dict[str, int] = {}
    for pmd in pmds:
        for name, count in pmd.hits.items():
            hits[name] = hits.get(name, 0) + count
    total = sum(hits.values())
    shown = [
        f"{name} {rounded_share(Fraction(count, total), 1)}"
        for name, count in hits.items()
        if count * 1000 > total
    ]
    return " ".join(shown) or NOTHING


# What the stages of a switch took, such as the nodes of VPP's graph.

MOST = 6
"""Stages that are shown: those that took most cycles over all trials."""
STAGES_MEANING = (
    "cycles for a frame that passed the stage, and how many frames a call brought; a stage that "
    "polls is called in vain, too, which both of its figures include"
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one stage did in a trial, on all threads."""

    calls: int
    frames: int
    cycles: int

    @property
    def text(self) -> str:
        """What it took, as people read it; a figure of nothing is none."""
        if self.frames <= 0 or self.calls <= 0:
            return NOTHING
        return f"{self.cycles / self.frames:.1f} ({self.frames / self.calls:.1f} a call)"


def stages_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial whose stages were counted; None where they were in none."""
    counted = [(trial, spent_by(trial.switch)) for trial in trials if trial.switch is not None]
    known = [(trial, found) for trial, found in counted if found]
    if not known:
        return None
    cycles: Counter[str] = Counter()
    for _, found in known:
        cycles.update({name: spent.cycles for name, spent in found.items()})
    shown = [name for name, _ in cycles.most_common(MOST)]
    texts = ((trial, {name: one.text for name, one in found.items()}) for trial, found in known)
    return _by_trial("what its stages took", shown, [(one, _told(found)) for one, found in texts])


def spent_by(switch: SwitchCounters) -> dict[str, Spent]:
    """Return what each stage did that any frame passed, by its name."""
    sums: dict[str, Spent] = {}
    for stage in (stage for pmd in switch.pmds for stage in pmd.stages):
        so_far = sums.get(stage.name, Spent(0, 0, 0))
        sums[stage.name] = Spent(
            so_far.calls + stage.calls, so_far.frames + stage.frames, so_far.cycles + stage.cycles
        )
    return {name: spent for name, spent in sums.items() if spent.frames > 0}


def _told(found: dict[str, str]) -> Callable[[str], str]:
    return lambda name: found.get(name, NOTHING)


# What kept polling threads from running.

THREADS_MEANING = (
    "waited: ready to run while its CPU ran something else, and how often that CPU was taken from "
    "it; stolen: by a hypervisor, in whole ticks"
)


def threads_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial whose threads were watched, a column each; None without any."""
    watched = [trial for trial in trials if trial.threads]
    if not watched:
        return None
    titles = dict.fromkeys(_title(thread) for trial in watched for thread in trial.threads)
    found = [(one, {_title(each): _cell(each) for each in one.threads}) for one in watched]
    title = "what kept polling threads from running"
    return _by_trial(title, titles, [(trial, _told(texts)) for trial, texts in found])


def _title(thread: ThreadActivity) -> str:
    return f"{thread.part}: {thread.name}"


def _cell(thread: ThreadActivity) -> str:
    known = []
    if thread.delay_ns is not None:
        known.append(f"waited {human_ns(thread.delay_ns)}")
    if thread.involuntary is not None:
        known.append(f"{thread.involuntary}×")
    if thread.steal_ns is not None:
        known.append(f"stolen {human_ns(thread.steal_ns)}")
    return ", ".join(known) or NOTHING


# Where in a chain with VNFs the frames ended.

CHAIN_MEANING = (
    "frames that ended on the way: `a → b` in the switch between these ports, `ring of b` for want "
    "of room there or on the way out of it, `in b` inside of the VNF; ? is not counted, and "
    "is part of the number before it"
)


def chain_tables(trials: Sequence[Trial], topology: Topology) -> tuple[Table, ...] | None:
    """Return a table of the trials with loss for each way that is counted apart.

    None when no VNF takes part, or nobody counted.
    """
    ways = frame_paths(topology)
    counted = [(trial, found) for trial in trials if (found := gauges_of(trial, ways)) is not None]
    if not topology.vnfs or not counted:
        return None
    tables = []
    for group in joints_of(ways):
        rows = [(trial, stages_of(group, gauges)) for trial, gauges in counted]
        lossy = [row for row in rows if any(stage.frames for stage in row[1])]
        if lossy:
            tables.append(_chain(lossy))
    return tuple(tables)


def _chain(rows: Sequence[tuple[Trial, Sequence[Stage]]]) -> Table:
    """Return one row per trial; the ends of the way only where a frame was lost there."""
    names = list(dict.fromkeys(stage.name for _, stages in rows for stage in stages))
    shown = [
        name
        for name in names
        if not name.startswith(("into ", "out of "))
        or any(stage.frames for _, stages in rows for stage in stages if stage.name == name)
    ]
    counts = [(trial, {stage.name: stage.frames for stage in stages}) for trial, stages in rows]
    return _by_trial("where they ended", shown, [(one, _counted(found)) for one, found in counts])


def _counted(found: dict[str, int | None]) -> Callable[[str], str]:
    return lambda name: "?" if (count := found.get(name)) is None else str(count)
