"""When OVS does not come up, its log says why, and the error says it on."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsperf.errors import ComponentError, NotReadyError
from vsperf.vswitches.ovs.database import Interface
from vsperf.vswitches.ovs.diagnosis import (
    complaints,
    late_problem,
    not_started,
    port_problems,
)
from vsperf.vswitches.ovs.layout import SwitchPort

GOLDEN = Path(__file__).parents[1] / "golden" / "ovs"
TIME = "2026-11-21T02:12:19Z|00011|dpdk"
CARD = SwitchPort("phy0", 1, "phy0", "dpdk", {"dpdk-devargs": "0000:03:00.0"})


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (
            "EAL: Not enough memory available on socket 0! Requested: 512MB",
            "too few free hugepages",
        ),
        ("EAL: FATAL: Cannot init memory", "got no memory"),
        ("EAL: lcore 99 unavailable; probably offline", "CPUs"),
        ("EAL: Option --legacy-mem is not compatible with --in-memory", "one of its arguments"),
    ],
)
def test_a_known_cause_is_named_with_what_helps(line: str, meaning: str) -> None:
    log = f"{TIME}|INFO|EAL: Detected CPU lcores: 2\n{TIME}|ERR|{line}\n{TIME}|EMER|Unable to"
    error = not_started(log, "ended with exit code 1")
    assert isinstance(error, NotReadyError)
    assert meaning in str(error)
    assert line in (error.problems[0].why or "")
    assert error.problems[0].fix


def test_an_unknown_cause_is_quoted() -> None:
    error = not_started(f"{TIME}|EMER|the moon is full", "was killed by SIGKILL")
    assert isinstance(error, ComponentError)
    assert error.problems[0].why == "the moon is full"


def test_a_daemon_that_said_nothing_has_its_obituary() -> None:
    assert not_started("", "was killed by SIGKILL").problems[0].why == "was killed by SIGKILL"


def test_lines_that_every_start_has_are_no_complaints() -> None:
    log = (
        f"{TIME}|WARN|EAL: No free 1048576 kB hugepages reported on node 0\n"
        f"{TIME}|WARN|TELEMETRY: No legacy callbacks, legacy socket not created\n"
        f"{TIME}|INFO|DPDK Enabled - initialized\n"
    )
    assert complaints(log) == ()


def test_a_port_that_fell_out_when_the_other_end_connected_is_found_in_the_log() -> None:
    said = late_problem((GOLDEN / "failed-log.txt").read_text())
    assert said is not None and said.startswith("Failed to create memory pool for netdev phy")
    assert late_problem(f"{TIME}|WARN|something else\n") is None


def test_a_port_that_could_not_be_opened_is_named_with_what_the_switch_says() -> None:
    interface = Interface("phy0", -1, "Error attaching device '0000:03:00.0' to DPDK", None, {})
    error = port_problems([CARD], [interface], f"{TIME}|ERR|EAL: Driver cannot attach 0000:03:00.0")
    assert isinstance(error, NotReadyError)
    why = error.problems[0].why or ""
    assert "Error attaching device" in why and "Driver cannot attach" in why


@pytest.mark.parametrize("interfaces", [[], [Interface("phy0", 5, None, None, {})]])
def test_a_port_that_is_missing_or_has_another_number_is_an_error(
    interfaces: list[Interface],
) -> None:
    assert port_problems([CARD], interfaces, "") is not None


def test_ports_that_are_as_asked_for_are_fine() -> None:
    assert port_problems([CARD], [Interface("phy0", 1, None, 1500, {})], "") is None
