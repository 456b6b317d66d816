"""What the frames of a case have to look like when they arrive, and whether they do."""

from __future__ import annotations

from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import TTL
from vsperf.records.trial import Direction, Headers, Trial


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
