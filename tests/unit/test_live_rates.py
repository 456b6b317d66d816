"""What arrives while programs run: by device and by instance, for the view of who waits."""

from __future__ import annotations

import io
import math
import socket
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from exchanges import SECOND, device
from rich.console import Console
from simulated_cases import simulated_case

from vsperf.cli.progress import JsonProgress, LiveProgress, PlainProgress, seen_lines
from vsperf.config.case import Case
from vsperf.deploy.live_rates import LiveRates, seen_of
from vsperf.deploy.places import Place
from vsperf.errors import ComponentError
from vsperf.host.netlink import ATTRIBUTE
from vsperf.host.tcp_sockets import FOUND, INFO, received_bytes, received_of
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.progress import CaseStarted, ExchangeGoesOn, ExchangeStarted, PhaseEntered, RateSeen
from vsperf.quantities.unit import Unit
from vsperf.records.exchange import DeviceCounts, Traffic


@dataclass
class Machine:
    """A place at phy1 with a clock of its own, and what its kernel has counted by now."""

    now_ns: int = 0
    came: int = 0
    frames: int = 0
    by_port: dict[int, int] = field(default_factory=dict)
    gone: bool = False

    def received(self) -> dict[int, int]:
        return dict(self.by_port)

    def counts(self) -> DeviceCounts:
        if self.gone:
            raise ComponentError("the place at phy1 is gone")
        return device("phy1", self.came, self.frames)

    def after(self, seconds: float, received: int, frames: int, **by_port: int) -> None:
        self.now_ns += round(seconds * SECOND)
        self.came += received
        self.frames += frames
        for port, count in by_port.items():
            number = int(port.removeprefix("p"))
            self.by_port[number] = self.by_port.get(number, 0) + count


@pytest.fixture(name="machine")
def fixture_machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    clock = SimpleNamespace(monotonic_ns=lambda: machine.now_ns)
    monkeypatch.setattr("vsperf.deploy.live_rates.time", clock)
    return machine


def watching(
    machine: Machine, heard: list[Any], *traffics: Traffic, until: int = 10 * SECOND
) -> LiveRates:
    """Instances from port 11001 on, which are watched from the first moment on."""
    instances = tuple(
        seen_of(f"instance {number}", "phy1", 11_000 + number, ExchangeAsked(one, 1, SECOND))
        for number, one in enumerate(traffics, start=1)
    )
    places: Any = SimpleNamespace(by_link={"phy1": machine})
    live = LiveRates(places, instances, heard.append, 0, until)
    live.attend()
    return live


def test_each_second_tells_what_came_to_a_device_and_to_each_connection(machine: Machine) -> None:
    machine.after(0, 5_000, 50, p11001=77, p11002=0, p12002=1)
    heard: list[Any] = []
    live = watching(machine, heard, "tcp-stream", "tcp-stream")
    assert heard == []
    machine.after(2, 2_000_000, 1_000, p11001=1_000_000, p12002=500_000)
    live.attend()
    assert heard == [
        (
            RateSeen("at phy1", 8_000_000, Unit.BPS, 500),
            RateSeen("instance 1", 4_000_000, Unit.BPS),
            RateSeen("instance 2", 2_000_000, Unit.BPS),
        )
    ]


def test_requests_on_one_connection_are_counted_and_others_go_by_their_device(
    machine: Machine,
) -> None:
    machine.after(0, 0, 0, p11001=1)
    heard: list[Any] = []
    live = watching(machine, heard, "tcp-rr", "udp-stream")
    machine.after(1, 60_000, 600, p11001=600)
    live.attend()
    (told,) = heard
    assert [(one.name, one.value, one.unit) for one in told] == [
        ("at phy1", 480_000, Unit.BPS),
        ("instance 1", 600, Unit.PER_SECOND),
    ]


def test_what_both_ends_agree_by_is_no_rate_of_datagrams_or_of_new_connections(
    machine: Machine,
) -> None:
    """Programs keep a connection of TCP for that, at the port at which they met."""
    machine.after(0, 0, 0, p11001=37, p11002=40, p11003=656)
    heard: list[Any] = []
    live = watching(machine, heard, "udp-stream", "udp-rr", "tcp-crr")
    machine.after(1, 60_000, 600, p11001=1, p12003=70)
    live.attend()
    assert heard == [(RateSeen("at phy1", 480_000, Unit.BPS, 600),)]


def test_nobody_looks_twice_in_a_second_nor_towards_the_end(machine: Machine) -> None:
    heard: list[Any] = []
    live = watching(machine, heard, "tcp-stream", until=3 * SECOND)
    assert live.left_s(0) == 1
    machine.after(0.5, 1, 1)
    live.attend()
    assert heard == []
    machine.after(0.5, 1, 1)
    live.attend()
    machine.after(2, 1, 1)  # kept from running until nobody looks any more
    live.attend()
    assert len(heard) == 1
    assert live.left_s(machine.now_ns) == math.inf, "else whoever waits would not sleep"
    machine.now_ns = 0
    assert LiveRates(live.places, live.instances, None, 0, SECOND).left_s(0) == math.inf


@pytest.mark.parametrize("gone", [True, False])
def test_what_cannot_be_looked_at_ends_the_looks_and_nothing_else(
    machine: Machine, gone: bool
) -> None:
    """A kernel that tells nothing of connections leaves what devices count."""
    machine.after(0, 0, 0, p11001=1)
    heard: list[Any] = []
    live = watching(machine, heard, "tcp-stream")
    machine.by_port.clear()
    machine.gone = gone
    machine.after(1, 1_000, 1)
    live.attend()
    assert [len(told) for told in heard] == ([] if gone else [1])
    assert (live.left_s(machine.now_ns) == math.inf) is gone


def test_of_a_kernel_that_cannot_be_asked_no_connection_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> dict[int, int]:
        raise OSError("not in this kernel")

    monkeypatch.setattr("vsperf.deploy.places.within", refused)
    assert Place("phy1", "NAME-phy1", "eth0", "198.19.0.2").received() == {}


def test_the_kernel_tells_what_came_to_a_port_by_all_its_connections() -> None:
    with ExitStack() as held:
        server = held.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        port = server.getsockname()[1]
        for count in (1_000, 234):
            client = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            accepted = held.enter_context(server.accept()[0])
            client.sendall(bytes(count))
            assert len(accepted.recv(count, socket.MSG_WAITALL)) == count
        assert received_bytes()[port] == 1_234


def test_a_connection_whose_kernel_counts_no_bytes_is_left_out() -> None:
    body = bytes(FOUND.size) + ATTRIBUTE.pack(12, INFO)
    assert received_of(body + bytes(8)) is None


# What people and programs get to see of it.


@pytest.fixture(name="case")
def fixture_case() -> Case:
    return Case(simulated_case())


def goes_on(case: Case, instances: int) -> ExchangeGoesOn:
    others = (RateSeen(f"instance {n}", n * 10**9, Unit.BPS) for n in range(1, instances + 1))
    return ExchangeGoesOn(case, (RateSeen("at phy1", 941_000_000, Unit.BPS, 77_610), *others))


def test_a_line_says_what_came_to_a_device_and_one_below_it_what_to_each_instance(
    case: Case,
) -> None:
    assert list(seen_lines(goes_on(case, 2))) == [
        "at phy1: 941.0 Mbit/s, 77,610 frames/s",
        "instance 1 1.000 Gbit/s, instance 2 2.000 Gbit/s",
    ]
    assert list(seen_lines(goes_on(case, 10)))[1].endswith("instance 8 8.000 Gbit/s and 2 more")
    assert len(list(seen_lines(goes_on(case, 0)))) == 1


def test_a_live_view_shows_it_until_something_else_begins(case: Case) -> None:
    shown = LiveProgress(Console(file=io.StringIO(), width=100))
    started = ExchangeStarted(case, "tcp-stream", 2, SECOND)
    for event in (CaseStarted(case, 1, 1, 1.0, 0.0, None), started, goes_on(case, 2)):
        shown(event)
    assert "at phy1: 941.0 Mbit/s" in rendered(shown)
    shown(PhaseEntered(case, "tear down"))
    assert "phy1" not in rendered(shown)


def test_a_live_view_is_broken_between_words_also_beside_a_line_above_it(case: Case) -> None:
    shown = LiveProgress(Console(file=io.StringIO(), width=40))
    shown(CaseStarted(case, 1, 1, 1000.0, 0.0, 1.0))
    told = rendered(shown, width=40, soft_wrap=True)
    assert max(map(len, told.splitlines())) <= 40
    assert "simulated time left" in " ".join(told.split())


def rendered(shown: LiveProgress, width: int = 100, *, soft_wrap: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown._render(), soft_wrap=soft_wrap)
    found = console.file
    assert isinstance(found, io.StringIO)
    return found.getvalue()


def test_nothing_is_written_meanwhile_as_a_slow_reader_would_keep_it_waiting(case: Case) -> None:
    for progress in (JsonProgress, PlainProgress):
        out = io.StringIO()
        progress(Console(file=out))(goes_on(case, 1))
        assert out.getvalue() == ""
