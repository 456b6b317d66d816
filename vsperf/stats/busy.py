"""The verdict on a whole run that its machine kept from telling anything."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.record.flags import Flag
from vsperf.record.run import CaseRecord

TOO_BUSY = "machine: too busy to tell"


def too_busy(records: Iterable[CaseRecord]) -> str | None:
    """Say so if most of the time of a run was measured on a machine that was too busy.

    A case is marked by its own trials; here it is the time of cases that counts.
    """
    measured = [record for record in records if record.trials]
    busy = [record for record in measured if Flag.TOO_BUSY in record.flags]
    whole_ns = sum(record.measured_ns for record in measured)
    if 2 * sum(record.measured_ns for record in busy) <= whole_ns:
        return None
    which = "each case" if len(busy) == len(measured) else f"{len(busy)} of {len(measured)} cases"
    return (
        f"{TOO_BUSY}: in {which} a part of the testbed was kept from running in more than half of "
        "the time"
    )
