"""A second of a long trial: what the generator said, and what the machine did meanwhile."""

from __future__ import annotations

from vsperf.record.base import Record
from vsperf.record.sample import Sample
from vsperf.record.switch import SwitchCounters
from vsperf.record.threads import ThreadActivity


class Second(Record):
    """All that is known of about a second; what was counted, is so since the one before."""

    sample: Sample
    """Of the generator; its frames count since the trial began."""
    switch: SwitchCounters | None = None
    """None where the switch does not count, or could not be asked."""
    threads: tuple[ThreadActivity, ...] = ()
    """What kept polling threads from running."""
