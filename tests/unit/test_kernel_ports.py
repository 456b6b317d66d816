"""Ports of the kernel's switches: handed over, waited for and counted by one code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vsperf.drivers.vswitches.kernel_ports import await_ports, counted, needs_of
from vsperf.drivers.vswitches.ports import Place
from vsperf.errors import ComponentError, DiedError
from vsperf.host import networks
from vsperf.host.devices import Device, Devices
from vsperf.quantities.units import CpuSet

PATIENT, NOT_AT_ALL = 60.0, 0.0


def nothing() -> None:
    """Look at the other parts, which all go on."""


def test_ports_are_waited_for_until_none_is_missing() -> None:
    looks = iter((["phy0", "phy1"], ["phy1"], []))
    await_ports(lambda: next(looks), lambda: None, nothing, PATIENT, "the router")
    assert next(looks, "asked no more") == "asked no more"


def test_who_waits_in_vain_says_for_which_ports_and_what_they_miss() -> None:
    with pytest.raises(ComponentError, match="port phy0, phy1 of the router did not come up") as no:
        await_ports(lambda: ["phy0", "phy1"], lambda: None, nothing, NOT_AT_ALL, "the router")
    assert no.value.problems[0].why == "nobody holds the other end of its tap"


def test_a_switch_or_another_part_that_failed_is_not_waited_for() -> None:
    with pytest.raises(DiedError, match="while it took up its ports") as died:
        await_ports(lambda: ["phy0"], lambda: "its tap is gone", nothing, PATIENT, "the bridge")
    assert died.value.problems[0].why == "its tap is gone"

    def look() -> None:
        raise DiedError("the generator has ended")

    with pytest.raises(DiedError, match="the generator has ended"):
        await_ports(lambda: ["phy0"], lambda: None, look, PATIENT, "the bridge")


def test_a_port_counts_what_the_kernel_does_and_leaves_out_what_it_does_not() -> None:
    found = {"rx_packets": 7, "tx_packets": 5, "tx_dropped": 2}
    device = Device("vsp-0-0", 3, "02:00:00:00:00:01", True, None, None, found)
    port = counted(Place("phy0"), device)
    assert (port.link, port.received_frames, port.sent_frames) == ("phy0", 7, 5)
    assert port.drops == {"tx tap full": 2}


def test_one_cpu_forwards_unless_others_are_chosen() -> None:
    (one,), (chosen,) = needs_of(None).cpus, needs_of(CpuSet.of((2, 4))).cpus
    assert (one.role, one.count, one.pinned) == ("pmd", 1, None)
    assert (chosen.count, chosen.pinned) == (2, (2, 4))


def test_devices_are_told_their_cpus_before_they_leave_the_network_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[tuple[str, ...]] = []

    class Host:
        def move(self, name: str, network: str) -> None:
            done.append(("moved", name, network))

    @contextmanager
    def connected() -> Iterator[Host]:
        yield Host()

    monkeypatch.setattr(networks, "steer", lambda name, cpus: done.append(("told", name)))
    monkeypatch.setattr(Devices, "connected", connected)
    networks.hand_over({"a": "tap0", "b": "tap1"}.values(), "apart", (1,))
    assert done == [
        ("told", "tap0"),
        ("told", "tap1"),
        *(("moved", name, "apart") for name in ("tap0", "tap1")),
    ]
