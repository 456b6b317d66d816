"""Random kills of runs with a switch and a machine that is a process: nothing is left or lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attacks.kills import PROCESSES
from random_kills import kill_some, seeds

pytestmark = pytest.mark.thorough


# No mark `machine`: a campaign takes the machine itself, and would wait for its own test.
@seeds
def test_whatever_is_killed_whenever_the_run_holds(
    seed: int, tmp_path: Path, require: Callable[[str], None]
) -> None:
    kill_some(PROCESSES, seed, tmp_path, require, "ovs-dpdk", "tgen", "dpdk-testpmd")
