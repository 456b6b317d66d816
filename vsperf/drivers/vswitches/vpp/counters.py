"""From what VPP counts to the counters of a switch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.reading import Reading, total
from vsperf.records.switch import AddressCounts, PmdCounters, PortCounters, SwitchCounters

COUNTED_TWICE = ("vhost",)
"""Kinds of ports that count frames that they could not send among the dropped ones of the
interface, too."""
LEARNED = "l2-learn/L2 learn misses"
SAID_TWICE = ("rollback",)
"""Reasons that a memif gives beside another one for the same frame."""
TAP_FULL = "tx tap full"
"""The reader of a tap was too slow."""
TX = "-tx/"
"""Ends the name of the node that sends by an interface; before its reasons in an error's name."""


def switch_counters(
    ports: Iterable[SwitchPort],
    interfaces: Mapping[str, int],
    found: Reading,
    workers: tuple[PmdCounters, ...] = (),
    refused: Mapping[str, int] | None = None,
) -> SwitchCounters:
    """Return the counters of a switch whose workers have done that much.

    `refused` holds the frames, by name of the port, that VPP sent and that the kernel dropped as a
    tap was full.
    """
    full = refused or {}
    counted = (_port(port, interfaces[port.name], found, full.get(port.name)) for port in ports)
    return SwitchCounters(
        ports=tuple(port for port in counted if port is not None),
        pmds=workers,
        reasons={**found.errors, **found.translated},
    )


def address_counts(known: int, most: int, found: Reading) -> AddressCounts:
    """Return what a bridge counts of its addresses. It never puts one out for another."""
    learned = found.errors.get(LEARNED, 0)
    return AddressCounts(known=known, most=most, learned=learned, evicted=0, expired=0)


def _port(
    port: SwitchPort, index: int, found: Reading, full: int | None = None
) -> PortCounters | None:
    received, left = total(found.received, index), total(found.sent, index)
    if received is None or left is None or index >= len(found.names):
        return None
    refused = {
        f"tx {reason}": count for reason, count in refusals(found, found.names[index]).items()
    }
    unsent = sum(refused.values())
    dropped = (total(found.dropped, index) or 0) - (unsent if port.kind in COUNTED_TWICE else 0)
    beyond = {} if full is None else {TAP_FULL: full}
    lost = {word: total(vector, index) or 0 for word, vector in found.not_received.items()}
    return PortCounters(
        name=port.name,
        link=port.place.link,
        vnf=port.place.vnf,
        received_frames=received,
        sent_frames=left - unsent - (full or 0),  # counted before VPP tries to hand them over
        drops={"rx dropped": max(0, dropped), **lost, **refused, **beyond},
    )


def refusals(found: Reading, interface: str) -> dict[str, int]:
    """Return the frames that could not be sent by an interface, by reason."""
    begin = f"{interface}{TX}"
    return {
        name.removeprefix(begin): count
        for name, count in found.errors.items()
        if name.startswith(begin) and name not in (f"{begin}{again}" for again in SAID_TWICE)
    }
