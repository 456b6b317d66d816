"""The path check: a few frames each way, before any search may take silence for overload.

They are held against what the frames of the case have to look like when they arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.flows import TTL
from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.measurer import Measurer
from vsperf.errors import ComponentError, PathError
from vsperf.methods.base import TrialOptions
from vsperf.quantities.human import human_ns
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Direction, Headers, Purpose, Trial

PATH_CHECK = TrialOptions(Purpose.PATH_CHECK)
FRAMES_FPS = 1_000
DURATION_NS = 100_000_000
PATIENT = 10
"""Times that it is repeated where the machine keeps the path from running for that long."""


def worth_a_look(spec: CaseSpec) -> bool:
    """Whether a case says more about its frames than plain ones have."""
    return spec.rewriting is not None or bool(_as_sent(spec))


def misfits(spec: CaseSpec, trial: Trial) -> list[str]:
    """Say, by direction, how frames that arrived differ from what they should look like."""
    found = []
    for way in trial.directions:
        wanted = expected(spec, way.name)
        for headers in way.first_headers:
            if wrong := _wrong(wanted, headers):
                found.append(f"{way.name}: {'; '.join(wrong)}")
                break
    return found


def unseen(trial: Trial) -> list[Direction]:
    """Return the directions in which frames arrived and nobody has looked at any."""
    return [way for way in trial.directions if not way.first_headers]


def expected(spec: CaseSpec, direction: str) -> dict[str, Any]:
    """Return the headers that are known beforehand: what was sent and then modified.

    VNFs may rewrite addresses, so these are only known where the switch sets them. A direction
    is called after the link it enters by and the one it leaves by.
    """
    modify = spec.modify
    wanted = _as_sent(spec)
    if wanted or modify.pop_vlan or modify.push_vlan is not None:
        wanted["vlans"] = modify.tags_of(spec.traffic)
    for name in ("source_mac", "destination_mac", "source_ip", "destination_ip", "dscp"):
        if (value := getattr(modify, name)) is not None:
            wanted[name] = value
    if modify.ttl is not None:
        wanted["ttl"] = TTL - 1 if modify.ttl == "decrement" else modify.ttl
    enters, _, leaves = direction.partition(" to ")
    return wanted | spec.arriving(enters, leaves)


def _as_sent(spec: CaseSpec) -> dict[str, Any]:
    """Return what distinguishes the frames of a profile from plain ones; nothing of a file's."""
    traffic = spec.traffic
    if traffic.replay is not None:
        return {}
    if not (traffic.outer_vlans or traffic.mpls or traffic.outer_layer3 == "ipv6"):
        return {}
    return {"vlans": traffic.outer_vlans, "mpls": traffic.mpls, "layer3": traffic.outer_layer3}


def _wrong(wanted: dict[str, Any], headers: Headers) -> list[str]:
    return [
        f"{name} is {_said(getattr(headers, name))} and not {_said(value)}"
        for name, value in wanted.items()
        if getattr(headers, name) != value
    ]


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "absent"
    return "absent" if value is None else str(value)


def check_path(measurer: Measurer, spec: CaseSpec) -> tuple[str, ...]:
    """Raise `PathError` unless frames arrive in every direction, as they should look by then.

    Warn of those that do not arrive, and of headers that changed without being asked to.
    """
    seen = worth_a_look(spec) and measurer.generator_can.can(Ability.HEADERS)
    request = TrialRequest(FRAMES_FPS, DURATION_NS, headers=seen)
    trial = measurer.attempt(request, PATH_CHECK)
    for number in range(max(PATIENT, measurer.policy.retries)):
        if number >= measurer.policy.retries and (_arrives(trial) or not kept_away(trial)):
            break
        if _arrives(trial) and not any(way.lost_frames for way in trial.directions):
            break
        trial = measurer.attempt(request, PATH_CHECK, retry_of=trial.index)
    if _arrives(trial):
        return (*_miscounted(trial), *check_headers(spec, trial))
    if trial.error is not None:
        raise ComponentError(
            "the generator failed in the path check",
            why=trial.error,
            fix="`vsperf doctor` checks what it needs; `vsperf plan` prints its commands",
        )
    told = filter(None, (diagnosis(trial), kept_away(trial)))
    raise PathError(
        "the path is broken: " + "; ".join(_story(way) for way in trial.directions),
        why="; ".join(told)
        or "a search on a dead path would end at its lowest load and call that a result",
        fix="`vsperf plan` shows the path; check the ports and flow rules along it",
    )


def _miscounted(trial: Trial) -> Iterator[str]:
    """Yield that frames did not come through, or that more came than were to be sent."""
    fewer = [_story(way) for way in trial.directions if way.lost_frames > 0]
    more = [_story(way) for way in trial.directions if way.lost_frames < 0]
    at = f"at {FRAMES_FPS} fps"
    if fewer:
        yield f"not all frames of the path check came through, {at}: {'; '.join(fewer)}"
    if more:
        yield f"more frames came through in the path check than it has, {at}: {'; '.join(more)}"


def kept_away(trial: Trial) -> str | None:
    """Say who of the path ran too little for frames to come through in time; None if nobody."""
    late = [
        f"{thread.part} ({thread.name}) was kept from running for {human_ns(thread.kept_ns)}"
        for thread in trial.threads
        if thread.kept_ns > DURATION_NS
    ]
    return f"by the machine, {', '.join(late)}" if late else None


def check_headers(spec: CaseSpec, trial: Trial) -> tuple[str, ...]:
    """Raise `PathError` unless the switch did to the frames what the case asks it to do."""
    if not worth_a_look(spec):
        return ()
    wrong, asked = misfits(spec, trial), spec.rewriting
    if wrong and asked is None:
        return (f"frames arrive with other headers than they were sent with: {'; '.join(wrong)}",)
    if wrong:
        raise PathError(
            f"the switch did not modify the frames as {asked} asks: {'; '.join(wrong)}",
            why="a search would measure a switch that does something else, and call that a result",
            fix="`vsperf plan` shows what forwards; `vsperf show RUN CASE --json` the headers of "
            "the frames that arrived in the path check",
        )
    hidden = [way.name for way in unseen(trial)] if asked else []
    if hidden:
        raise PathError(
            f"nobody can tell whether the switch modified the frames: {', '.join(hidden)}",
            why="they arrived, and the generator has seen the headers of none of them; it looks at "
            "the first queue of a port only",
            fix=f"--set generator.queues=1, or no {asked}",
        )
    return ()


def diagnosis(trial: Trial) -> str | None:
    """Say from the switch's counters where the frames ended; None when it has none."""
    if trial.switch is None:
        return None
    ports = [
        f"{port.link or port.name} took {port.received_frames} and gave {port.sent_frames}"
        for port in trial.switch.ports
    ]
    drops = [
        f"{count} {reason} at {port.link or port.name}"
        for port in trial.switch.ports
        for reason, count in port.drops.items()
        if count
    ]
    drops += [f"{count} {reason}" for reason, count in trial.switch.drops.items() if count]
    counted = f"the switch says: {', '.join(ports)}; dropped: {', '.join(drops) or 'nothing'}"
    found = [_where(way, trial.switch) for way in trial.directions if not way.good_frames]
    return "; ".join([*filter(None, found), counted])


def _where(way: Direction, switch: SwitchCounters) -> str | None:
    """Say how far the frames of a way came; None when the switch does not know its ports by link.

    A way is called after the link it enters by and the one it leaves by.
    """
    ports = {port.link: port for port in switch.ports}
    first, _, last = way.name.partition(" to ")
    if first not in ports or last not in ports:
        return None
    if not ports[first].received_frames:
        return f"nothing reached the switch by {first}"
    if not ports[last].sent_frames:
        return f"the switch took frames from {first} and gave none to {last}"
    return (
        f"the switch gave frames to {last}, and none of them arrived as one from {first}: a wrong "
        "rule, or they were lost behind the switch"
    )


def _arrives(trial: Trial) -> bool:
    return bool(trial.directions) and all(
        way.sent_frames > 0 and way.good_frames > 0 for way in trial.directions
    )


def _story(way: Direction) -> str:
    meant = f" of {way.intended_frames}" if way.unsent_frames else ""
    return f"{way.name}: {way.sent_frames}{meant} frames sent, {way.received_frames} arrived"
