"""Which drivers a document names: a run loads these, and not every one that is installed."""

from __future__ import annotations

from vsperf.config.alternatives import KIND
from vsperf.config.collect import COLLECT
from vsperf.config.document import Drivers
from vsperf.config.rival import RIVALS, VSWITCH
from vsperf.config.tree import Listing, Scalar, Section, find


def named_drivers(drivers: Drivers, document: Section) -> Drivers:
    """Return the drivers that the document of one case names."""
    return {
        section: {kind: known[kind] for kind in _kinds(document, section) if kind in known}
        for section, known in drivers.items()
    }


def _kinds(document: Section, section: str) -> list[str]:
    node = document.get(section)
    if not isinstance(node, Section):
        return []
    each = [one.node for one in node.entries.values()] if section == COLLECT else [node]
    if section == VSWITCH and isinstance(rivals := document.get(RIVALS), Listing):
        each += [one for item in rivals.items if (one := find(item, VSWITCH)) is not None]
    kinds = [one.get(KIND) for one in each if isinstance(one, Section)]
    return list(dict.fromkeys(str(kind.value) for kind in kinds if isinstance(kind, Scalar)))
