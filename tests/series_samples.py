"""Series as tests write them."""

from __future__ import annotations

from vsperf.records.series import Quantity, Sample, SeriesHeader

CASE = "phy2phy_tput-64B-12345678"


def header(collector: str = "proc", attempt: int = 1) -> SeriesHeader:
    return SeriesHeader(
        run="2026-11-20-phy2phy_tput-k7f3",
        case=CASE,
        attempt=attempt,
        collector=collector,
        kind="proc",
        heavy=False,
        disturbs="light",
        started_at="2026-11-20T10:00:00.000+00:00",
        quantities=(Quantity(name="queued_ns", unit="ns"), Quantity(name="softirqs_*", unit="1")),
    )


def sample(number: int = 1, **values: int) -> Sample:
    return Sample(trial=number, at_ns=1_000, of="switch", values=values or {"queued_ns": 7})
