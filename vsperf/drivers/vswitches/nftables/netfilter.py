"""What the kernel is asked of nftables and of its table of connections, in one network.

By netlink and by its files; the program `nft` only writes rules (`program.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.vswitches.hops import SYSCTL, T, asked_in, setting, slab_memory
from vsperf.host.netlink import attributes, dump, order

NETFILTER = 12
"""Protocol of netlink."""
CONNECTIONS, RULES = 1 << 8, 10 << 8
DELETE_CONNECTIONS = CONNECTIONS | 2
GET_TABLES, GET_OBJECTS = RULES | 1, RULES | 19
IPV4 = 2
ANY_FAMILY, IPV4_FAMILY = struct.pack("=BBH", 0, 0, 0), struct.pack("=BBH", IPV4, 0, 0)
TABLE_NAME, OBJECT_NAME, OBJECT_DATA, COUNTER_PACKETS = 1, 2, 4, 2
NESTED = 0x8000
"""Flag of the kind of an attribute that holds others."""
PACKETS = struct.Struct(">Q")
STATISTICS = Path("/proc/thread-self/net/stat/nf_conntrack")
SLAB = "nf_conntrack"
TRACKING = "netfilter/nf_conntrack_"
DROPS = {"drop": "conntrack drop", "chainlength": "conntrack chain too long"}
"""The kernel's count of frames that were dropped for their connection → how it is called: those of
which none could be entered, so where the table is full, or another one has the same addresses and
ports by now; and those whose place in the table is crowded."""
REASONS = {
    "insert_failed": "conntrack insert failed",
    "early_drop": "conntrack early drop",
    "invalid": "conntrack invalid",
    "clashres": "conntrack clash resolved",
}
"""The kernel's count → how it is called, of what explains others: connections that could not be
entered; others that had to leave a full table early; frames of none; two that were made one."""
FACTS = (
    *("max", "buckets", "count"),
    *("acct", "checksum", "events", "tcp_be_liberal", "tcp_loose"),
)
TIMEOUTS = ("nf_conntrack_tcp_timeout_*", "nf_conntrack_udp_timeout*")


@dataclass(frozen=True, slots=True)
class Tracking:
    """What a network counts of its connections, as it stands."""

    drops: dict[str, int]
    """Frames that were dropped, by reason."""
    reasons: dict[str, int]


@dataclass(frozen=True, slots=True)
class Netfilter:
    """nftables and the table of connections of one network."""

    network: str

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables of nftables for IPv4."""

        def ask() -> tuple[str, ...]:
            found = (message[len(IPV4_FAMILY) :] for message in self._dump(GET_TABLES))
            return tuple(_text(dict(attributes(one))[TABLE_NAME]) for one in found)

        return self._within("which tables nftables has", ask)

    def counted(self) -> dict[str, int]:
        """Return how many frames each counter has seen, by name; empty where there is none."""

        def ask() -> dict[str, int]:
            return counted_in(message[len(IPV4_FAMILY) :] for message in self._dump(GET_OBJECTS))

        return self._within("what nftables counts", ask)

    def forget(self) -> None:
        """Have the kernel forget all connections of the network."""
        self._within(
            "to forget all connections", lambda: order(NETFILTER, DELETE_CONNECTIONS, ANY_FAMILY)
        )

    def tracking(self) -> Tracking:
        """Return what is counted of connections; empty where this kernel does not tell."""

        def ask() -> str:
            return STATISTICS.read_text() if STATISTICS.exists() else ""

        return tracking_in(self._within("what it counts of connections", ask))

    def connections(self) -> int:
        """Return how many connections are in the table now."""
        return int(setting(self.network, f"{TRACKING}count"))

    def memory_bytes(self) -> int | None:
        """Return what connections take of the kernel's memory, those of all networks together."""
        return slab_memory(SLAB)

    def facts(self) -> dict[str, int]:
        """Return the size of the table, what is in it now, and how long each stays in it [s]."""

        def ask() -> dict[str, int]:
            folder = SYSCTL / "netfilter"
            files = [folder / f"nf_conntrack_{name}" for name in FACTS]
            files += (one for names in TIMEOUTS for one in sorted(folder.glob(names)))
            return {
                one.name.removeprefix("nf_conntrack_"): int(one.read_text())
                for one in files
                if one.exists()
            }

        return self._within("how it tracks connections", ask)

    def _dump(self, kind: int) -> list[bytes]:
        return [*dump(NETFILTER, kind, IPV4_FAMILY)]

    def _within(self, what: str, action: Callable[[], T]) -> T:
        return asked_in(self.network, what, action)


def counted_in(objects: Iterable[bytes]) -> dict[str, int]:
    """Return the frames of each counter, out of all objects that the kernel tells of."""
    found = {}
    for one in objects:
        known = {kind & ~NESTED: content for kind, content in attributes(one)}
        packets = dict(attributes(known.get(OBJECT_DATA, b""))).get(COUNTER_PACKETS)
        if packets is not None and OBJECT_NAME in known:
            found[_text(known[OBJECT_NAME])] = int(PACKETS.unpack(packets)[0])
    return found


def tracking_in(text: str) -> Tracking:
    """Return the sums over all CPUs, which have a line each below the names of the columns."""
    heading, *rows = [line.split() for line in text.splitlines()] or [[]]
    sums = {name: sum(int(row[column], 16) for row in rows) for column, name in enumerate(heading)}
    return Tracking(
        {called: sums[name] for name, called in DROPS.items() if name in sums},
        {called: sums[name] for name, called in REASONS.items() if name in sums},
    )


def _text(content: bytes) -> str:
    return content.rstrip(b"\0").decode(errors="replace")
