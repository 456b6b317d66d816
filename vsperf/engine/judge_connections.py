"""A trial of connections, judged: whether an answer may build on it, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.traffic import TrialPolicy
from vsperf.engine.judge import MOST_PAUSES, in_order
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import Asking, ClientAccounts, ConnectionCounts, ConnectionTrial
from vsperf.records.flags import Flag

LEAST_FLOOD = 0.9
"""Share of the SYNs of a flood that have to be sent: it is what the trial was to be under."""


def judged(
    one: ConnectionTrial,
    policy: TrialPolicy,
    failed: Flag | None = None,
    *,
    noise_slackened: bool = False,
) -> ConnectionTrial:
    """Return it with its flags; `failed` is the part that no longer worked, if one did not.

    `noise_slackened`: what runs beside the case did less than when it had settled.
    """
    if failed is not None:
        flags: tuple[Flag, ...] = (failed,)
    elif one.counts is None or one.counts.client is None or one.accounts is None:
        flags = (Flag.GENERATOR_ERROR,)
    else:
        slackened = (Flag.NOISE_SLACKENED,) if noise_slackened else ()
        flags = in_order({*_doubts(one, one.counts, policy), *slackened})
    return one.model_copy(update={"flags": flags})


def _doubts(one: ConnectionTrial, counts: ConnectionCounts, policy: TrialPolicy) -> Iterator[Flag]:
    client, server, accounts = counts.client, counts.server, one.accounts
    assert client is not None
    assert accounts is not None
    if client.intended != one.asked or accounts.intended != one.due:
        yield Flag.WRONG_LOAD
    if not client.launched or not accounts.launched:
        yield Flag.NOTHING_SENT
        return
    relayed = one.switch.connections if one.switch is not None else None
    if (server is not None and client.responses > server.responses) or (
        relayed is not None and client.completed > min(relayed.all_counts)
    ):
        yield Flag.ENDS_DISAGREE
    tolerance = policy.offered_tolerance.value
    if any(some.unsent > tolerance * some.intended for some in (client, accounts)):
        yield Flag.SHORT_OFFER
    yield from _of_time(one, accounts, policy)
    if one.flood_fps is not None and counts.flood is not None:
        due = one.flood_fps * _under_flood_ns(one, counts) // NANOSECONDS
        if counts.flood.sent < LEAST_FLOOD * due:
            yield Flag.NOISE_SLACKENED
    if one.failed and counts.missed_frames:
        yield Flag.GENERATOR_BEHIND
    if one.switch is not None and one.switch.least_growth < 0:
        yield Flag.COUNTERS_RESET


def _under_flood_ns(one: ConnectionTrial, counts: ConnectionCounts) -> int:
    """Return for how long a flood was due at least: until the last connection had ended.

    What was due while the machine kept the generator away is not made up for, and not missed.
    """
    if counts.completing_ns is None:
        return one.duration_ns
    away_ns = sum(counts.slots.away_ns) if counts.slots is not None else 0
    return max(0, counts.completing_ns - away_ns)


def _of_time(
    one: ConnectionTrial, accounts: ClientAccounts | Asking, policy: TrialPolicy
) -> Iterator[Flag]:
    """Hold the time from the first to the last against the rate that it stands for.

    Where some were not begun, the generator may have been kept away after the last one, and nobody
    can tell that from pauses before it. Where they are held it is of no matter how long it takes to
    open them. Requests that found no connection have no time of theirs.
    """
    if one.begun_ns is None:
        if not (isinstance(accounts, Asking) and accounts.asked == 0):
            yield Flag.UNTIMED
        return
    allowed_ns = policy.allowed_late_ns(one.duration_ns)
    paused_ns = one.paused_ns or 0
    paced_ns = one.begun_ns - paused_ns
    due_ns = (accounts.launched - 1) * NANOSECONDS // one.rate
    all_left = not accounts.unsent and not (isinstance(accounts, Asking) and accounts.failed)
    if all_left and paced_ns + allowed_ns < due_ns:
        yield Flag.RUSHED
    if paced_ns > one.duration_ns + allowed_ns and not one.hold_ns:
        yield Flag.STRETCHED
    if paused_ns > MOST_PAUSES * max(1, one.begun_ns):
        yield Flag.GENERATOR_PAUSED
