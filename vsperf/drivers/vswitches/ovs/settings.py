"""What is written into other_config before the daemon starts, with or without DPDK. Pure."""

from __future__ import annotations

from vsperf.drivers.vswitches.ovs.spec import OvsSettings

PMD_ROLE = "pmd"
MAIN_ROLE = "switch main"
USUAL_FLOW_LIMIT = 200_000
"""Flows that OVS keeps in its datapath unless told; a rule per flow needs a place for each."""
USUAL_TAGS = 1
"""VLAN tags that OVS looks at unless told; it takes an inner one for the frame's payload."""


def caches(spec: OvsSettings) -> dict[str, str]:
    """Return the entries on the flow caches of the userspace datapath."""
    return {
        "emc-insert-inv-prob": str(spec.emc_probability),
        "smc-enable": word(spec.smc),
    }


def limits(rules: int, tags: int) -> dict[str, str]:
    """Return what must be more than OVS has unless told, for so many rules and VLAN tags."""
    settings = {}
    if rules > USUAL_FLOW_LIMIT:
        settings["flow-limit"] = str(rules + USUAL_FLOW_LIMIT)
    if tags > USUAL_TAGS:
        settings["vlan-limit"] = str(tags)
    return settings


def word(value: bool) -> str:
    """Return a value as the database has it."""
    return "true" if value else "false"
