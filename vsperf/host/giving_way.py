"""Gives way to a run that goes on: what looks after the machine takes no CPU from what is measured.

It comes before all else is imported, as that is most of what such a command costs. Where no run
goes on, it has its full share: what a killed one left may use up every CPU there is.
"""

from __future__ import annotations

import os

from vsperf.errors import VsperfError
from vsperf.host.places import WORKSPACE, workspaces
from vsperf.host.procfs import start_ticks

LEAST_URGENT = 19


def give_way() -> None:
    """Become the least urgent of programs while the maker of any deployment runs."""
    try:
        named = [WORKSPACE.fullmatch(folder.name) for folder in workspaces()]
    except VsperfError:  # whoever comes next says so
        return
    if any(found is not None and start_ticks(int(found[1])) is not None for found in named):
        os.setpriority(os.PRIO_PROCESS, 0, LEAST_URGENT)
