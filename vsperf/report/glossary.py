"""What the words of a report mean, for whoever reads the first one."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from vsperf.report.page import Fact

COLUMNS = MappingProxyType(
    {
        "NDR": "Non-drop rate: the highest load that passes without loss. It lies in the interval "
        "from the highest load that passed to the lowest that failed.",
        "PDR": "Partial drop rate: the same with a little loss allowed; each case says how much.",
        "% line": "Share of all that the cable can carry of such frames.",
        "Gbit/s L1": "Bits per second as a cable carries them: each frame with preamble and gap.",
        "L2": "Gigabits per second of the frames alone.",
        "limited by": "What kept the number from being higher. Where that is not the switch, the "
        "switch may do better.",
        "p50": "Latency that half of the frames did not exceed.",
        "p99": "Latency that 99 of 100 frames did not exceed.",
        "p99.9": "Latency that 999 of 1,000 frames did not exceed.",
        "trials": "How often frames were sent and counted, at one load for one time.",
        "time": "For how long frames were sent in all.",
        "outcome": "PASS: it was measured, and no target was missed. FAIL: a target was missed. "
        "INVALID and ERROR: there is no number.",
    }
)
"""By the name of a column."""
OTHERS = (
    Fact("load", "Frames per second that are sent into the switch, in each direction."),
    Fact("fps, kfps, Mfps", "Frames per second; thousands, and millions of them."),
    Fact(
        "note, suspect, invalid",
        "What is said of a number. Note: it stands. Suspect: it stands, with a reservation. "
        "Invalid: it is not used.",
    ),
    Fact(
        "clean time",
        "Time in which the machine kept neither generator nor switch from running.",
    ),
)


def glossary_of(columns: Iterable[str]) -> tuple[Fact, ...]:
    """Return what the words of a report with these columns mean."""
    return (*(Fact(name, COLUMNS[name]) for name in columns if name in COLUMNS), *OTHERS)
