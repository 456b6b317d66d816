"""One exchange, judged: whether an answer may build on it, and why not. Pure.

A program that failed, or that began late, left the path to the others, so nothing of what they told
is an answer to the question that was asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from vsperf.config.noise import NOISE
from vsperf.quantities.human import human_bytes, human_count, human_ns
from vsperf.records.cpu_time import OWN
from vsperf.records.exchange import ECHO, DeviceCounts, Exchange, Instance, Traffic, is_stream
from vsperf.records.flags import Flag

LATE_SHARE = 10
"""One part in so many of the duration is the most by which an instance may begin after the first.
"""
LEAST_WINDOW = (9, 10)
"""Of the duration."""
FRAMES_EACH = {
    **{"tcp-rr": Fraction(1), "udp-rr": Fraction(1), "tcp-crr": Fraction(2)},
    **{"http-rr": Fraction(1), "http-crr": Fraction(2), "http-open": Fraction(1, 2)},
    ECHO: Fraction(1),
}
"""What comes to either end at least: the request or response, and what opens a connection. By a
clock a client that was kept from running sends several requests at once, maybe in one frame."""
MOST_WAITING = 100
"""One part in so many of the requests may be under way in the end."""
MOST_UNSENT = 100
"""One part in so many of the packets that were due may be left out."""
MOST_APART = 100
"""One part in so many is what two ends of TCP may differ by, or what was under way at the end."""
BESIDE = (OWN, NOISE)
"""Roles of what is beside the programs that are measured."""
MOST_UNREAD = 300
"""Datagrams, the smallest ones, that a socket of usual size holds: what is in it when its program
ends nobody counts."""
LINK_BYTES = 18
"""Before a packet, in what a device counts of a frame: addresses, type, and maybe a VLAN."""


def judged(
    one: Exchange, *, noise_slackened: bool = False, unexplained: Fraction | None = None
) -> Exchange:
    """Return it with its flags, and a sentence on each.

    `unexplained` is the share of datagrams that may be missing where nobody counts them; None for
    all.
    """
    found = list(_doubts(one))
    if unexplained is not None and one.traffic == "udp-stream":
        failed = any(flag is Flag.PROGRAM_FAILED for flag, _ in found)
        found += () if failed else _account(one, unexplained)
    if noise_slackened:
        why = "the noise beside the case did less than when it had settled, or was not heard of"
        found.append((Flag.NOISE_SLACKENED, why))
    return one.model_copy(
        update={
            "flags": tuple(dict.fromkeys(flag for flag, _ in found)),
            "reasons": tuple(reason for _, reason in found),
        }
    )


def _doubts(one: Exchange) -> Iterator[tuple[Flag, str]]:
    every = [instance for _, instance in one.everyone]
    failed = [instance for instance in every if instance.problem]
    for instance in failed:
        yield Flag.PROGRAM_FAILED, f"{_named(instance)}: {instance.problem}"
    if failed:
        return  # the others were ended for it
    silent = [instance for traffic, instance in one.everyone if _untold(traffic, instance)]
    for instance in silent:
        yield Flag.PROGRAM_FAILED, f"{_named(instance)}: it does not tell what was exchanged"
    if silent:
        return
    yield from _late(one, every)
    yield from _short(one, every)
    if one.traffic == "tcp-stream":
        yield from _ends(one)
    yield from _failed_requests(one)
    yield from _unsent_packets(every)
    yield from _elsewhere(one)
    yield from _bytes_at_devices(one)
    yield from _frames_at_devices(one)
    yield from _at_sockets(one)
    yield from _long_frames(one)


def _untold(traffic: Traffic, instance: Instance) -> bool:
    told, streams = [instance.began_ns, instance.elapsed_ns], is_stream(traffic)
    told += [instance.sent_bytes, instance.received_bytes] if streams else []
    told += [0 if traffic != ECHO or instance.packets is not None else None]
    arrived = instance.received_bytes if streams else instance.transactions
    return None in told or not instance.intervals or not arrived


def _late(one: Exchange, every: Sequence[Instance]) -> Iterator[tuple[Flag, str]]:
    began = [instance.began_ns or 0 for instance in every]
    for instance in every:
        late_ns = (instance.began_ns or 0) - min(began)
        if late_ns * LATE_SHARE > one.asked_ns:
            yield (
                Flag.PROGRAM_LATE,
                f"{_named(instance)} began {human_ns(late_ns)} after the first",
            )


def _short(one: Exchange, every: Sequence[Instance]) -> Iterator[tuple[Flag, str]]:
    length_ns = 0 if one.window is None else one.window.length_ns
    share, whole = LEAST_WINDOW
    if length_ns * whole < one.asked_ns * share:
        yield (
            Flag.SHORT_WINDOW,
            f"all instances ran together for {human_ns(length_ns)}, and {human_ns(one.asked_ns)} "
            "were asked for",
        )
    elif any(one.instance_rate(instance) == 0 for instance in every):
        yield Flag.SHORT_WINDOW, "of one instance nothing arrived while all of them ran"


def _failed_requests(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield each instance of which requests failed, or were still waiting when all was over."""
    for instance in one.instances:
        found = instance.failures
        if found is None:
            continue
        counts = {
            "with another status than 2xx": found.statuses,
            "of sockets": found.sockets,
            "answered too late for the program": found.timeouts,
        }
        told = [f"{human_count(count)} {what}" for what, count in counts.items() if count]
        if told:
            yield Flag.REQUESTS_FAILED, f"{_named(instance)}: {', '.join(told)}"
        waiting = found.unanswered or 0
        if waiting * MOST_WAITING > (instance.transactions or 0):
            yield (
                Flag.REQUESTS_WAITING,
                f"{_named(instance)}: {human_count(waiting)} requests were due and not answered "
                "when the time was over",
            )


def _unsent_packets(every: Sequence[Instance]) -> Iterator[tuple[Flag, str]]:
    """Yield each client that left out too many packets, by when it sent the others."""
    for instance in every:
        times = None if instance.packets is None else instance.packets.whole
        if times is not None and times.unsent * MOST_UNSENT > times.due:
            yield (
                Flag.PACKETS_UNSENT,
                f"{_named(instance)}: {human_count(times.unsent)} of {human_count(times.due)} "
                "packets were not sent when they were due: its client was kept from running",
            )


def _elsewhere(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield each program, or guest with programs, that could run where nobody had put it."""
    for program in () if one.cpu is None else one.cpu.programs:
        if program.role in BESIDE or not program.mispinned:
            continue
        placed, could = (", ".join(map(str, cpus)) for cpus in (program.placed, program.cpus))
        yield (
            Flag.PROGRAM_MISPINNED,
            f"{program.name} was put on CPU {placed}, and could run on CPU {could}",
        )


def _ends(one: Exchange) -> Iterator[tuple[Flag, str]]:
    for instance in one.instances:
        sent, received = instance.sent_bytes or 0, instance.received_bytes or 0
        allowed = max(sent // MOST_APART, one.under_way_bytes or 0)
        if received > sent or sent - received > allowed:
            yield (
                Flag.ENDS_DISAGREE,
                f"{_named(instance)} sent {human_bytes(sent)}, and {human_bytes(received)} arrived",
            )


def _bytes_at_devices(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield what came to programs and not by the devices, whose frames have headers beside it."""
    for device in one.devices if one.streams else ():
        arrived = _received_at(one, device)
        if arrived > device.received_bytes:
            yield (
                Flag.DEVICES_DISAGREE,
                f"at {device.place} programs received {human_bytes(arrived)}, and the device "
                f"{human_bytes(device.received_bytes)}",
            )


def _frames_at_devices(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield that devices saw fewer frames than transactions have, each of which goes both ways."""
    for device in one.devices:
        told = [
            (instance.transactions or 0, FRAMES_EACH[traffic])
            for traffic, instance in one.everyone
            if traffic in FRAMES_EACH and device.place in instance.direction.split(" to ")
        ]
        made = sum(count for count, _ in told)
        least = math.ceil(sum(count * frames for count, frames in told))
        if device.received_frames < least:
            yield (
                Flag.DEVICES_DISAGREE,
                f"{human_count(made)} transactions of {device.place} take {human_count(least)} "
                f"frames, and its device received {human_count(device.received_frames)}",
            )


def _at_sockets(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield where programs tell of more datagrams than the kernel of their place gave out."""
    for kernel in one.sockets:
        told = [
            instance.sent_packets - instance.lost_packets
            for instance in one.instances
            if instance.sent_packets is not None and instance.lost_packets is not None
            if instance.direction.endswith(f" to {kernel.place}")
        ]
        if (sum(told) - kernel.in_datagrams) * MOST_APART > sum(told):
            yield (
                Flag.DEVICES_DISAGREE,
                f"at {kernel.place} programs received {human_count(sum(told))} datagrams, and its "
                f"kernel gave them {human_count(kernel.in_datagrams)}",
            )


def _account(one: Exchange, tolerance: Fraction) -> Iterator[tuple[Flag, str]]:
    """Yield that more is missing, or less, than those have dropped who count."""
    account = one.account
    if account is None:
        return
    packets = None if one.echoing is None else one.echoing.packets
    beside = 0 if packets is None else 2 * packets.whole.due  # counters have some of them as well
    allowed = tolerance * account.sent + MOST_UNREAD * len(one.instances) + beside
    if abs(account.unexplained) <= allowed:
        return
    lost, dropped = account.sent - account.received, sum(account.dropped.values())
    yield (
        Flag.UNEXPLAINED,
        f"{human_count(lost)} of {human_count(account.sent)} datagrams did not arrive, and "
        f"{human_count(dropped)} were dropped by those who count",
    )


def _long_frames(one: Exchange) -> Iterator[tuple[Flag, str]]:
    """Yield where frames came that are longer than any can be without offloads."""
    longest = one.packet_bytes + LINK_BYTES
    for device in () if one.offloads else one.devices:
        if device.received_bytes > device.received_frames * longest:
            each = device.received_bytes // max(1, device.received_frames)
            yield (
                Flag.DEVICES_DISAGREE,
                f"frames that came to {device.place} had {human_count(each)} bytes each, and "
                f"{human_count(longest)} are the most where offloads are off",
            )


def _received_at(one: Exchange, device: DeviceCounts) -> int:
    """Return what all servers of a place received."""
    return sum(
        instance.received_bytes or 0
        for instance in one.instances
        if instance.direction.endswith(f" to {device.place}")
    )


def _named(instance: Instance) -> str:
    return f"{instance.name}, {instance.direction}"
