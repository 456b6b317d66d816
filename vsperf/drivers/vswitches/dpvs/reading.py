"""What the tools of DPVS write, read as numbers. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vsperf.errors import ComponentError

HEAD = re.compile(r"^\d+: (?P<name>\w+): socket ")
"""Begins what is said of a port, or of a thread, which is called cpu0, cpu1, and so on."""
MAC = re.compile(r"^\s+addr (?P<mac>(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})\b")
COUNT = re.compile(r"[0-9]{1,18}")
"""A word that is a count: with one digit more it is none that is believed, and said not to be told.
"""
MISSED = re.compile(rf"\bsa_miss ({COUNT.pattern})(?!\S)")
CONNECTIONS = re.compile(r"dp_vs_conn_\d+")
"""Pools that entries of its table come from, one on each memory node."""
ARROW = "->"


@dataclass(frozen=True, slots=True)
class Served:
    """What its service has done, all servers together."""

    conns: int
    """Connections that were given to a server, whether or not it answered."""
    in_packets: int
    out_packets: int
    """Of those that go by way of it."""


def blocks_in(text: str) -> dict[str, dict[str, int]]:
    """Return by port, or by thread, what is counted: lines of names, each with one of numbers."""
    found: dict[str, dict[str, int]] = {}
    name, titles = None, list[str]()
    for line in text.splitlines():
        if head := HEAD.match(line):
            name, titles = head["name"], []
            found[name] = {}
            continue
        words = line.split()
        numbers = bool(words) and all(map(COUNT.fullmatch, words))
        if name is not None and numbers and len(words) == len(titles):
            found[name] |= {title: int(word) for title, word in zip(titles, words, strict=True)}
        titles = words
    return found


def macs_in(text: str) -> dict[str, str]:
    """Return the MAC address of each port, by its name."""
    found: dict[str, str] = {}
    name = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            name = head["name"]
        elif name is not None and (mac := MAC.match(line)):
            found[name] = mac["mac"].lower()
    return found


def served_in(text: str) -> Served:
    """Return the sums over all servers, of `ipvsadm -ln --stats --exact`."""
    rows = [line.split()[2:5] for line in text.splitlines() if line.split()[:1] == [ARROW]]
    counts = [row for row in rows if all(map(COUNT.fullmatch, row)) and len(row) == 3]
    if not counts:
        raise ComponentError("DPVS tells of no server", why=f"it says {text[:200]!r}")
    return Served(*(sum(map(int, column)) for column in zip(*counts, strict=True)))


def missed_in(text: str) -> int:
    """Return how often no port of an address was free for a connection, of `dpip -s addr show`."""
    return sum(map(int, MISSED.findall(text)))


def entries_in(text: str) -> int | None:
    """Return the entries of its table, of `ipvsadm -ln`; None where it tells of no server."""
    rows = [line.split()[4:6] for line in text.splitlines() if line.split()[:1] == [ARROW]]
    counts = [row for row in rows if len(row) == 2 and all(map(COUNT.fullmatch, row))]
    return sum(int(word) for row in counts for word in row) if counts else None


def entry_bytes_in(text: str) -> int | None:
    """Return what an entry takes, of `dpip eal-mem show pool`; None where it does not tell.

    As many as are in use there are no measure: some of them wait at a worker for the next one.
    """
    heading, *rows = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    pools = [dict(zip(heading, row, strict=False)) for row in rows]
    own = next((one for one in pools if CONNECTIONS.fullmatch(one.get("pool_name", ""))), {})
    parts = [own.get(name, "") for name in ("elt_size", "header_size", "trailer_size")]
    return sum(map(int, parts)) if all(map(COUNT.fullmatch, parts)) else None
