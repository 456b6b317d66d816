"""Where datagrams of an exchange went, as a table and in lines: for a terminal and a report."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from vsperf.output.table import Table, columns
from vsperf.quantities.human import human_count, human_share
from vsperf.records.datagrams import Account
from vsperf.records.exchange import Exchange

ACCOUNT_MEANING = (
    "sent = received + dropped by a named counter + unexplained, of all directions; RcvbufErrors: "
    "the socket of the reader had no room; what was under way when a server ended is unexplained"
)


def account_table(one: Exchange) -> Table | None:
    """Return one row for each count, in the order of the way; None where there is no account."""
    account = one.account
    if account is None:
        return None
    heads = (*columns("datagrams"), *columns("number", "share", right=(0, 1)))
    rows = tuple(
        (name, human_count(count), human_share(round(float(Fraction(count, account.sent)), 6)))
        for name, count in _rows(account)
        if account.sent
    )
    return Table(f"datagrams in exchange #{one.index}", heads, rows) if rows else None


def account_text(one: Exchange) -> str:
    """Return a line for each count; empty where there is no account."""
    rows = () if one.account is None else _rows(one.account)
    return "\n".join(f"{human_count(count)} {name}" for name, count in rows)


def account_data(one: Exchange) -> dict[str, Any] | None:
    """Return it as plain data."""
    account = one.account
    if account is None:
        return None
    return {
        "sent": account.sent,
        "received": account.received,
        "dropped": dict(account.dropped),
        "unexplained": account.unexplained,
    }


def _rows(account: Account) -> Iterator[tuple[str, int]]:
    yield "sent", account.sent
    yield "received", account.received
    yield from account.dropped.items()
    yield "unexplained", account.unexplained
