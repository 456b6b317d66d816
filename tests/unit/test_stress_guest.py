"""Guests of stress-ng that run: what is said of each, and of one that hangs or could not start."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from vsperf.errors import ComponentError, DiedError
from vsperf.loadgens.stress_vm import GuestStress
from vsperf.record.noise import NoiseActivity

SEEN = {
    "noise-1": {"interrupts": 100, "context_switches": 20},
    "noise-1 cpu 0": {
        "user_ns": 600, "system_ns": 300, "interrupts_ns": 10, "idle_ns": 5000, "steal_ns": 70,
    },
}  # fmt: skip


class Guest:
    """A machine that says what it is told to say."""

    def __init__(self, name: str = "noise-1") -> None:
        self.name = name
        self.program: Any = SimpleNamespace(pid=os.getsid(0))
        self.seen: dict[str, dict[str, int]] = SEEN
        self.error: ComponentError | None = None
        self.why: str | None = None

    def inside(self) -> dict[str, dict[str, int]]:
        if self.error is not None:
            raise self.error
        return self.seen

    def failure(self) -> str | None:
        return self.why

    def boot(self, deadline: float) -> None:
        if self.error is not None:
            raise self.error

    def pin(self) -> None: ...

    def tell(self, deadline: float, message: dict[str, Any]) -> None: ...

    def await_application(self, deadline: float) -> None: ...


def load(*guests: Guest) -> GuestStress:
    named: Any = tuple((f"noise {number}", one) for number, one in enumerate(guests, 1))
    return GuestStress(named)


def test_work_is_what_the_guests_kernel_calls_so_and_no_time_of_others() -> None:
    (one,) = load(Guest()).counts()
    assert one.worked_ns == 910
    assert one.cpu_ns is not None, "beside what this machine gave its session"
    assert one.elapsed_ns and one.read_bytes is None
    later = one.model_copy(update={"worked_ns": 1910})
    assert later.since(one).worked_ns == 1000


def test_of_a_guest_that_hangs_nothing_is_known_though_it_may_spin() -> None:
    guest = Guest()
    guest.error = ComponentError("noise-1: the agent did not answer `system` within 1 s")
    assert load(guest).counts() == (NoiseActivity(instance="noise 1"),)


def test_the_first_that_ended_is_told_by_the_name_that_people_know() -> None:
    first, second = Guest(), Guest("noise-2")
    assert load(first, second).failure() is None
    second.why = "noise-2: stress ended: signal 9"
    assert load(first, second).failure() == "noise 2: stress ended: signal 9"


def test_one_that_does_not_boot_did_not_start_and_the_reason_is_told() -> None:
    guest = Guest()
    guest.error = ComponentError(
        "noise-1 does not work: the guest did not boot in time", why="its console ends with: panic"
    )
    with pytest.raises(ComponentError, match="the noise did not start") as caught:
        load(guest).begin({}, time.monotonic() + 1)
    (problem,) = caught.value.problems
    assert problem.why == (
        "noise 1 does not work: the guest did not boot in time: its console ends with: panic"
    )


def test_another_part_that_died_meanwhile_is_not_blamed_on_the_noise() -> None:
    guest = Guest()
    guest.error = DiedError("ovs-vswitchd was lost while noise-1 was waited for")
    with pytest.raises(DiedError, match="ovs-vswitchd was lost"):
        load(guest).begin({}, time.monotonic() + 1)
