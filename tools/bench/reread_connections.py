"""What a search of connections comes to by its trials alone: it shares no code with the search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from hdrh.histogram import HdrHistogram
from reread_figures import curves_differ, figures_differ
from reread_goals import Bounds, Weighed, as_it_is, bounds, in_clean_time, share_of, silent_too
from reread_trials import SECOND, Own, by_distance, stands

from vsperf.quantities.units import Duration
from vsperf.quantities.units import Ratio as Share
from vsperf.records.connections import (
    Asking,
    ClientAccounts,
    ConnectionTrial,
    ServerAccounts,
    Times,
)
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.slots import SlotColumns, Slots
from vsperf.records.trial import Direction, Trial

LOADS = {"cps": "rate_cps", "cc": "asked", "pps": "request_rps", "goodput": "request_rps"}
"""By kind of method: what a load is of a trial."""
ANSWERS = {
    **{"cps": "connection_rate", "cc": "concurrent_connections"},
    **{"pps": "packet_rate", "goodput": "goodput"},
    "reconnect": "kill_time",
    "connection_soak": "failed_connections",
}
OPENING, ASKING = ("handshake", "first_response"), ("response",)
"""Times that 99 of 100 did not exceed: of connections that are opened, and of requests on them."""
UNANSWERED = ("refused", "no_answer", "misanswered", "given_up")
FAILED = ("reset", "no_response", "wrong_payload", "not_closed", "unfinished")
SERVED = (
    "closed",
    "half_open",
    "reset",
    "wrong_payload",
    "not_heard",
    "idle",
    "not_closed",
    "left",
)
"""What becomes of a connection that is begun, of one that is answered, and of one accepted."""
AGAIN = {"tcp": "repeated_segments", "udp": "repeated_datagrams"}
"""By protocol, what had to be sent twice."""
HIGHEST_NS, DIGITS = 3_600_000_000_000, 3
IN_CLEAN_TIME = "_clean"
"""Behind the name of an answer: that from clean time alone."""
OF_PARTS = (IN_CLEAN_TIME, "_near", "_far")
"""Likewise, with those while CPUs were near each other, and far."""
SATURATED_PPM = 950_000
"""From this share of its time on, a generator may be what is too slow."""
HALVED = 4
"""Parts from which on the second half of a soak has two of its own."""


def answers_of_connections(
    search: Mapping[str, Any], trials: Iterable[ConnectionTrial], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure and curve that is printed, and where it is not what the trials say.

    Where a part of the time led to no number, trials may have one all the same: it was over.
    """
    every = list(trials)
    made = since_check(every)
    whole = [one for one in result.figures if not one.name.endswith(OF_PARTS)]
    parts = [one for one in result.figures if one.value is not None and one not in whole]
    printed, told = [*whole, *parts], {one.name for one in parts}
    answer = next((one for one in printed if one.name == ANSWERS[str(search["kind"])]), None)
    own = own_figures(search, made, answer)
    own = {name: one for name, one in own.items() if name in told or not name.endswith(OF_PARTS)}
    yield from figures_differ(printed, own)
    yield from curves_differ(result.curves, own_curves(search, made))
    yield "accounts", tuple(text for one in every for text in accounts_differ(one))
    if answer is not None and search["kind"] in LOADS:
        yield f"{answer.name} limit", tuple(limit_differs(answer))


def accounts_differ(one: ConnectionTrial) -> Iterator[str]:
    """Say where what became of connections and requests is not as many as there were."""
    counts = one.counts
    if counts is None or counts.client is None:
        return
    client, server, asking = counts.client, counts.server, counts.asking
    sums: list[tuple[str, int, list[int]]] = [
        ("due", client.intended, [client.launched, client.unsent]),
        ("begun", client.launched, [client.answered, *_told(client, UNANSWERED)]),
        ("answered", client.answered, [client.completed, *_told(client, FAILED)]),
    ]
    if server is not None:
        sums.append(("accepted", server.accepted, _told(server, SERVED)))
    if asking is not None:
        parts = [asking.unasked, asking.asked, asking.waiting, asking.gone]
        sums.append(("requests due", asking.intended, parts))
    for what, whole, parts in sums:
        if whole != sum(parts) or min(parts) < 0:
            yield f"trial {one.index}: {whole:,} {what}, which come to {sum(parts):,}"
    slots = counts.slots
    if slots is not None and sum(slots.launched) > client.launched:
        yield f"trial {one.index}: {sum(slots.launched):,} in slots, {client.launched:,} begun"
    if one.error is None and (Flag.NOTHING_SENT in one.flags) != (
        not client.launched or (asking is not None and asking.intended == asking.unasked)
    ):
        yield f"trial {one.index}: {Flag.NOTHING_SENT.value}, of {client.launched:,} begun"


def _told(accounts: ClientAccounts | ServerAccounts, names: Iterable[str]) -> list[int]:
    """Return how many had each outcome; one that a generator does not tell apart, none had."""
    return [getattr(accounts, name) or 0 for name in names]


def limit_differs(answer: Figure) -> Iterator[str]:
    """Say where the limit of an answer does not go with its bounds."""
    open_ended = answer.upper is None and answer.value is not None
    if open_ended and answer.limit in (Limit.DUT, Limit.HOST, Limit.UNCOUNTED):
        yield f"limit printed {answer.limit}, and no load failed"
    if answer.upper is not None and answer.limit is Limit.SETTING:
        yield f"limit printed {answer.limit}, and {answer.upper:,} failed"


def since_check(trials: Iterable[ConnectionTrial]) -> list[ConnectionTrial]:
    """Return the valid trials of the search on the deployment that came last."""
    found: list[ConnectionTrial] = []
    for one in trials:
        if one.purpose == "path-check":
            found = []
        elif stands(one.flags):
            found.append(one)
    return found


def own_figures(
    search: Mapping[str, Any], trials: Sequence[ConnectionTrial], answer: Figure | None
) -> dict[str, Own]:
    """Return what each figure is; the answer that is printed says whether the time ended."""
    kind, protocol = str(search["kind"]), str(search.get("protocol", "tcp"))
    if kind == "reconnect":
        return dict(figures_of_events(trials))
    if kind == "connection_soak":
        return dict(figures_of_parts(trials))
    by_load = by_loads(kind, trials)
    allowed = Share.parse(str(search.get("failed") or "0")).value
    failing = [load for load, some in by_load.items() if any(fails(one, allowed) for one in some)]
    lowest = min(failing, default=None)
    lower = max((load for load in by_load if lowest is None or load < lowest), default=None)
    there = by_load[lower] if lower is not None else []
    if not any(fails(one, allowed, own=True) for one in by_load.get(lowest or 0, ())):
        lowest = None  # the generator was short of it: it is none of a device
    if answer is not None and bounds_nothing(kind, by_load.get(lowest or 0, ()), answer):
        lowest = None
    value = lower
    if kind == "cc" and lower is not None:
        held = [most for one in there if (most := client_of(one).most_established) is not None]
        value = min([lower, *held])
    floods = [one.counts.flood for one in there if one.counts and one.counts.flood]
    arrived = {}
    if floods and sum(one.sent for one in floods):
        came = sum(one.arrived for one in floods) / sum(one.sent for one in floods)
        arrived["flood_arrived"] = Own(came)
    for part, both_ends in bounds_of_parts(search, by_load).items():
        stands_for = partial(_stands_for, kind, search, by_load[both_ends.lower or 0])
        ends = map(stands_for, (both_ends.lower, both_ends.upper))
        arrived[f"{ANSWERS[kind]}{part}"] = interval(*ends)
    if LOADS[kind] == "request_rps":
        each = bits_or_packets(kind, search, there)
        both = (None if one is None or each is None else int(one * each) for one in (lower, lowest))
        return {
            ANSWERS[kind]: interval(*both),
            "request_rate": interval(lower, lowest),
            "response_p99": Own(tail(one.response for one in map(times_of, there))),
            AGAIN[protocol]: Own(repeated(there)),
            **arrived,
        }
    if kind == "cc" and (each_bytes := memory_each(trials, there)) is not None:
        arrived["memory_per_connection"] = Own(each_bytes)
    tails = {
        f"{name}_p99": Own(tail(getattr(one, name) for one in map(times_of, there)))
        for name in opening(protocol)
    }
    return {
        ANSWERS[kind]: interval(value, lowest),
        **tails,
        AGAIN[protocol]: Own(repeated(there)),
        **arrived,
    }


def bounds_nothing(kind: str, there: Iterable[ConnectionTrial], answer: Figure) -> bool:
    """Whether the time ended at a load at which failures may be somebody else's.

    So it is where the generator had no time left. Where it was kept from running, or missed what
    came back, the search says whether that explains them; nothing else is a reason.
    """
    lossy = [one for one in there if failed_of(one)]
    if answer.limit is not Limit.BUDGET or not lossy:
        return False
    own = [one.counts.asking or one.counts for one in lossy if one.counts is not None]
    if all(one.busy_ppm >= SATURATED_PPM for one in own):
        return True
    slots = [one.counts.slots for one in lossy if one.counts is not None]
    still = kind != "cc" and any(any(one.away_ns) for one in slots if one is not None)
    missed = any(one.counts is not None and one.counts.missed_frames for one in lossy)
    return answer.upper is None and (still or missed)


def opening(protocol: str) -> tuple[str, ...]:
    """Return the times of connections that are opened: only TCP shakes hands."""
    return OPENING if protocol == "tcp" else OPENING[1:]


def interval(lower: float | None, upper: float | None) -> Own:
    """Return an answer that lies between what held and what did not."""
    return Own(lower, lower=lower, upper=upper, bounded=True)


def by_loads(
    kind: str, trials: Iterable[ConnectionTrial]
) -> defaultdict[int, list[ConnectionTrial]]:
    """Return the trials at each load."""
    found: defaultdict[int, list[ConnectionTrial]] = defaultdict(list)
    for one in trials:
        found[getattr(one, LOADS[kind])].append(one)
    return found


def own_curves(
    search: Mapping[str, Any], trials: Sequence[ConnectionTrial]
) -> dict[str, list[tuple[float | None, ...]]]:
    """Return the curves of a case: by load, or of a soak by its parts."""
    kind = str(search["kind"])
    if kind == "connection_soak":
        each_ns = Duration.parse(search["part"]).ns
        return {"over_time": [part_of(n * each_ns, one) for n, one in enumerate(trials, start=1)]}
    if kind not in LOADS:
        return {}
    asks = LOADS[kind] == "request_rps"
    names = ASKING if asks else opening(str(search.get("protocol", "tcp")))
    return {
        "by_load": [
            (
                load,
                max((share for one in some if (share := failed_of(one)) is not None), default=None),
                *(tail(getattr(times_of(one), name) for one in some) for name in names),
            )
            for load, some in sorted(by_loads(kind, trials).items())
        ]
    }


def part_of(until_ns: int, one: ConnectionTrial) -> tuple[float | None, ...]:
    """Return what a part of a soak came to: what failed, how long it took, and what was kept."""
    after = (None, None) if one.kept is None else (one.kept[2].entries, one.kept[2].memory_bytes)
    return (until_ns, failed_of(one), tail([times_of(one).handshake]), *after)


def failed_of(one: ConnectionTrial) -> float | None:
    """Return which share of what was begun did not come to its end in order, or at once."""
    client, asking = client_of(one), one.counts.asking if one.counts else None
    begun, missing = client.launched, client.launched - client.completed
    if one.request_rps is not None and asking is not None:
        begun = asking.intended - asking.unasked
        missing = late_of(asking)
    return missing / begun if begun else None


def late_of(asking: Asking) -> int:
    """Return how many requests were not answered at once.

    What was sent again was answered late, even where its connection had no other turn.
    """
    again = asking.client.repeated + asking.server.repeated
    gone = asking.waiting + asking.gone + asking.asked - asking.replied
    return max(gone, min(again, asking.intended - asking.unasked))


def fails(one: ConnectionTrial, allowed: Fraction, *, own: bool = False) -> bool:
    """Whether more of those that were due than may did not come to their end in order.

    By its own fault, if so asked: then what the generator was short of is left out.
    """
    client, asking = client_of(one), one.counts.asking if one.counts else None
    due, missing, unsent = client.intended, client.intended - client.completed, client.unsent
    if one.request_rps is not None and asking is not None:
        due, unsent = asking.intended, asking.unasked
        missing = asking.unasked + late_of(asking)
    if own:
        return missing - unsent > allowed * (due - unsent)
    return missing > allowed * due or Flag.SHORT_OFFER in one.flags


def bounds_of_parts(
    search: Mapping[str, Any], by_load: Mapping[int, Sequence[ConnectionTrial]]
) -> dict[str, Bounds]:
    """Return the bounds in clean time, near and far, by what stands behind the name of an answer.

    Those of which nobody knows, or of which too little counts, are left out.
    """
    if search["kind"] not in {"cps", "pps", "goodput"}:
        return {}
    ns = Duration.parse(search["duration"]).ns
    goal = Weighed(share_of(search.get("failed") or "0"), Fraction(0), ns, ns)
    trials = [as_frames(one, load) for load, some in by_load.items() for one in some]
    silent = silent_too(trials)
    left = ((one.index, in_clean_time(one, silent=silent)) for one in trials)
    clean = {index: seen for index, seen in left if seen is not None}
    parts = {IN_CLEAN_TIME: list(clean.values())}
    for kind, some in by_distance(trials).items():
        seen = [clean[one.index] for one in some if one.index in clean]
        parts[f"_{kind}"] = seen if clean else [as_it_is(one) for one in some]
    found = {part: bounds(goal, seen) for part, seen in parts.items() if seen}
    for part, both in found.items():
        if not any(fails(one, goal.allowed, own=True) for one in by_load.get(both.upper or 0, ())):
            found[part] = replace(both, upper=None)  # as of all time: the generator was short of it
    return found


def as_frames(one: ConnectionTrial, load: int) -> Trial:
    """Write what was due, begun and ended in order as frames of one direction, by counts alone."""
    counts, client = one.counts, client_of(one)
    assert counts is not None
    asking = counts.asking if one.request_rps is not None else None
    due, begun, ended = client.intended, client.launched, client.completed
    all_due, each, sending_ns = one.asked, one.rate_cps, counts.launching_ns
    if asking is not None:
        due, begun = asking.intended, asking.intended - asking.unasked
        ended = begun - late_of(asking)
        all_due, each, sending_ns = one.requests_due or 0, one.request_rps or 0, asking.asking_ns
    return Trial(
        directions=(
            Direction(name="", intended_frames=due, sent_frames=begun, received_frames=ended),
        ),
        sending_ns=sending_ns,
        elapsed_ns=counts.elapsed_ns,
        settled=counts.settled,
        slots=_in_slots(one, sending_ns or 0),
        index=one.index,
        purpose=one.purpose,
        load_fps=load,
        duration_ns=all_due * SECOND // max(1, each),
        started_at=one.started_at,
        flags=one.flags,
        threads=one.threads,
        round_trips_ns=one.round_trips_ns,
    )


def _in_slots(one: ConnectionTrial, sending_ns: int) -> Slots | None:
    """Write slots of time likewise: from the first in which one began, those that tell something.

    Nothing is known of a path that stood still, and nothing is refused.
    """
    told = None if one.counts is None else one.counts.slots
    if told is None:
        return None
    begun, ended = told.launched, told.completed
    if one.request_rps is not None:
        if told.asked is None or told.replied is None or not any(told.asked):
            return None
        begun, ended = told.asked, told.replied
    first = next((place for place, count in enumerate(begun) if count), 0)
    rows = list(zip(begun, ended, told.away_ns, strict=True))[first:]
    places = [place for place, (count, _, away) in enumerate(rows) if count or away]
    sent, received, away_ns = (tuple(rows[place][lane] for place in places) for lane in range(3))
    nothing = (0,) * len(places)
    return Slots(
        width_ns=told.width_ns,
        count=min(sending_ns // told.width_ns + 1, len(rows)),
        sent_frames=(sum(begun),),
        received_frames=(sum(ended),),
        refused_frames=(0,),
        columns=SlotColumns(
            index=tuple(places),
            sent_frames=(sent,),
            received_frames=(received,),
            refused_frames=(nothing,),
            away_ns=away_ns,
            silent_ns=nothing,
        ),
    )


def _stands_for(
    kind: str, search: Mapping[str, Any], there: Sequence[ConnectionTrial], load: int | None
) -> int | None:
    """Return what a load stands for: itself, or of requests the bits or packets of each."""
    if LOADS[kind] != "request_rps" or load is None:
        return load
    each = bits_or_packets(kind, search, there)
    return None if each is None else int(load * each)


def figures_of_events(trials: Iterable[ConnectionTrial]) -> Iterator[tuple[str, Own]]:
    """Yield for how long nobody could connect around each event, and how many failed, in the mean.

    From the last slot in which an answer came to the next one: the longest such gap of a trial.
    """
    by_event: defaultdict[str, list[ConnectionTrial]] = defaultdict(list)
    for one in trials:
        if one.event is not None:
            by_event[one.event.name].append(one)
    for event, some in by_event.items():
        word = event.split("-")[0]
        gaps = [gap_ns(one) for one in some]
        known = [gap for gap in gaps if gap is not None]
        told = tuple(map(float, known)) if len(known) == len(gaps) else ()
        yield f"{word}_time", Own(sum(told) / len(told) if told else None, told)
        lost = tuple(float(client_of(one).launched - client_of(one).completed) for one in some)
        yield f"{word}_failed", Own(sum(lost) / len(lost), lost)


def figures_of_parts(parts: Sequence[ConnectionTrial]) -> Iterator[tuple[str, Own]]:
    """Yield what failed in all parts, and what was more in the end than in the middle."""
    if not parts:
        return
    yield (
        "failed_connections",
        Own(sum(client_of(one).launched - client_of(one).completed for one in parts)),
    )
    ends = [tail([times_of(one).handshake]) for one in (parts[0], parts[-1])]
    if parts[0] is not parts[-1] and ends[0] is not None and ends[1] is not None:
        yield "handshake_drift", Own(ends[1] - ends[0])
    if len(parts) < HALVED:
        return
    half = parts[(len(parts) + 1) // 2 - 1]
    for name, field in (("entries_growth", "entries"), ("memory_growth", "memory_bytes")):
        middle, last = (one.kept and getattr(one.kept[2], field) for one in (half, parts[-1]))
        if middle is not None and last is not None:
            yield name, Own(last - middle)


def memory_each(
    trials: Iterable[ConnectionTrial], there: Iterable[ConnectionTrial]
) -> float | None:
    """Return what a connection takes, beyond the least that a switch had before any trial."""
    before = [one.kept[0].memory_bytes for one in trials if one.kept]
    least = min((count for count in before if count is not None), default=None)
    told = [one.kept[1] for one in there if one.kept]
    both = [(one.memory_bytes, one.entries) for one in told if one.memory_bytes and one.entries]
    if least is None or not both:
        return None
    memory, entries = sorted(both)[-1]
    return (memory - least) / entries


def gap_ns(one: ConnectionTrial) -> int | None:
    """Return the longest time without an answer; None where none came any more."""
    counts = one.counts
    assert counts is not None
    if counts.slots is None or counts.slots.heard is None or counts.launching_ns is None:
        return None
    heard, longest, silent, begun = counts.slots.heard, 0, 0, False
    last = max((number for number, count in enumerate(heard) if count), default=None)
    if last is None or (last + 1) * counts.slots.width_ns + counts.slots.width_ns <= (
        counts.launching_ns
    ):
        return None
    for count in heard[: last + 1]:
        silent = 0 if count else silent + begun
        begun = begun or count > 0
        longest = max(longest, silent)
    return longest * counts.slots.width_ns


def bits_or_packets(
    kind: str, search: Mapping[str, Any], there: Iterable[ConnectionTrial]
) -> Fraction | None:
    """Return what a request stands for: bits of its response, or packets as they were counted."""
    if kind == "goodput":
        return Fraction(8 * int(search["response"]))
    counted = [one.counts.asking for one in there if one.counts and one.counts.asking]
    asked = sum(one.asked for one in counted)
    arrived = sum(end.segments_received for one in counted for end in (one.client, one.server))
    return Fraction(arrived, asked) if asked else None


def tail(histograms: Iterable[str | None]) -> float | None:
    """Return what 99 of 100 did not exceed; None where nothing was counted."""
    total = HdrHistogram(1, HIGHEST_NS, DIGITS)
    for text in histograms:
        if text is not None:
            total.add(HdrHistogram.decode(text))
    return float(total.get_value_at_percentile(99)) if total.get_total_count() else None


def repeated(there: Iterable[ConnectionTrial]) -> float | None:
    """Return the share of all segments that were sent again."""
    counts = [one.counts for one in there if one.counts is not None]
    both = [
        end
        for one in counts
        for end in (
            (one.client_segments, one.server_segments)
            if one.asking is None
            else (one.asking.client, one.asking.server)
        )
    ]
    ends = [end for end in both if end is not None]
    sent = sum(end.segments_sent for end in ends)
    return sum(end.repeated for end in ends) / sent if sent else None


def client_of(one: ConnectionTrial) -> ClientAccounts:
    """Return what became of the connections of a valid trial."""
    assert one.client is not None
    return one.client


def times_of(one: ConnectionTrial) -> Times:
    """Return how long they took, as far as the generator tells."""
    assert one.counts is not None
    return one.counts.times or Times(handshake=None, first_response=None, response=None)
