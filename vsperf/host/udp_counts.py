"""What a kernel counts of datagrams, by its table for SNMP: what programs were given and denied."""

from __future__ import annotations

from pathlib import Path

OWN_TABLE = Path("/proc/thread-self/net/snmp")
"""Of this thread's network."""
COUNTED = {
    "InDatagrams": "in_datagrams",
    "NoPorts": "no_ports",
    "InErrors": "in_errors",
    "OutDatagrams": "out_datagrams",
    "RcvbufErrors": "rcvbuf_errors",
    "SndbufErrors": "sndbuf_errors",
}
"""The kernel's name → ours."""


def udp_counts(text: str) -> dict[str, int] | None:
    """Return what such a table says of UDP; None where it does not say all of it.

    It may come from a guest, so anything can stand there.
    """
    rows = [line.split() for line in text.splitlines() if line.startswith("Udp: ")]
    if len(rows) != 2 or len(rows[0]) != len(rows[1]):
        return None
    told = dict(zip(rows[0][1:], rows[1][1:], strict=True))
    if not all(told.get(name, "").isdecimal() for name in COUNTED):
        return None
    return {ours: int(told[name]) for name, ours in COUNTED.items()}
