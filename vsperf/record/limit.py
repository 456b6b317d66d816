"""What keeps a result from being better."""

from __future__ import annotations

import enum


class Limit(enum.StrEnum):
    """What kept the result from being higher."""

    DUT = "dut"
    """The switch: it lost frames that were really sent."""
    GUEST = "guest"
    """The virtual machines: the switch had the frames, and they did not take or keep them."""
    GENERATOR = "generator"
    """The generator could not send more; the switch may well do better."""
    LINK = "link"
    """The line rate passed."""
    HOST = "host"
    """The machine itself stalled; the loss says nothing on the switch."""
    UNCOUNTED = "uncounted"
    """Frames went missing, and nobody counted most of them: who lost them cannot be told."""
    SETTING = "setting"
    """The highest load that the user allowed passed."""
    BUDGET = "budget"
    """The time ended before the limit was found."""
    UNKNOWN = "unknown"
    """Trials contradict each other, or do not answer what was asked; see flags and reason."""
