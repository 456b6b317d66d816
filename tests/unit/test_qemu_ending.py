"""How long guests are waited for when they are told to power off."""

from __future__ import annotations

import time
from typing import Any

from qemu_cases import machines, qemu_case

from vsperf.guests.machine import OFF_S, RunningMachine


class Hung:
    """A QEMU whose guest does not power off, and that takes note of how it is asked to end."""

    def __init__(self) -> None:
        self.waited_s: list[float] = []
        self.asked: list[str] = []

    def await_end(self, patience_s: float) -> bool:
        self.waited_s.append(patience_s)
        return False

    def execute(self, command: str, timeout_s: float) -> None:
        self.asked.append(command)


def hung(told_s_ago: float) -> tuple[Hung, RunningMachine]:
    (machine,) = machines(qemu_case())
    qemu = Hung()
    parts: dict[str, Any] = {"program": qemu, "workspace": None, "monitor": qemu}
    told = time.monotonic() - told_s_ago
    return qemu, RunningMachine(machine, **parts, told_off_s=told)


def test_guests_that_hang_share_one_deadline() -> None:
    qemu, late = hung(told_s_ago=OFF_S)
    late.stop(1.5)
    assert (qemu.waited_s, qemu.asked) == ([0.0], ["quit"])


def test_a_guest_that_was_told_just_now_has_time_to_power_off() -> None:
    qemu, running = hung(told_s_ago=0.0)
    running.stop(1.5)
    (waited_s,) = qemu.waited_s
    assert 0 < waited_s <= OFF_S
    assert qemu.asked == ["quit"]


def test_nobody_is_asked_once_all_patience_is_spent() -> None:
    qemu, running = hung(told_s_ago=0.0)
    running.stop(0.0)
    assert (qemu.waited_s, qemu.asked) == ([0.0], [])
