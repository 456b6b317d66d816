"""What every program that exchanges data does, however it is run; it joins by fixtures.

class TestMyProgram(ProgramContract):
    @pytest.fixture
    def driver(self) -> Program: ...   # the driver
    @pytest.fixture
    def settings(self) -> dict[str, Any]: ...  # beside its kind
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ovs_traffic import wait_until
from places import marked, short_room
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.deploy.cpu_looks import SwitchCpus
from vsperf.deploy.exchanging import Around, Made, Nobody, Part, exchanged, pairs_of
from vsperf.deploy.live_rates import Tell
from vsperf.deploy.places import Place, Places
from vsperf.drivers.programs.base import Program, Rendezvous, Said, untold
from vsperf.host.netns import path_of, within
from vsperf.host.networks import private_network
from vsperf.host.procfs import is_in, start_ticks
from vsperf.host.veth import routes
from vsperf.host.workspace import Workspace
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.progress import RateSeen
from vsperf.records.exchange import CLIENTS, ECHO, SERVERS, Traffic
from vsperf.records.run import Placement

PATIENCE_S = 60.0
CPU = max(os.sched_getaffinity(0))
PLACED = Placement(cpus={CLIENTS: (CPU,), SERVERS: (CPU,)})
SECOND = 1_000_000_000
LOOPBACK = "127.0.0.1"


def asked(traffic: Traffic, seconds: int = 1, instances: int = 1) -> ExchangeAsked:
    write = 1400 if traffic == "udp-stream" else None
    rate = 100 if traffic == "http-open" else None
    interval_ns = 1_000_000 if traffic == ECHO else None
    wanted = ExchangeAsked(traffic, instances, seconds * SECOND, write_bytes=write, rate=rate)
    return replace(wanted, interval_ns=interval_ns)


class ProgramContract:
    """Checks that hold for any program; both ends are in one network, apart from all others."""

    @pytest.fixture
    def driver(self) -> Program:
        raise NotImplementedError

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        raise NotImplementedError

    @pytest.fixture
    def case(self, driver: Program, settings: dict[str, Any]) -> CaseSpec:
        spec = driver.Spec.model_validate({"kind": driver.kind, **settings})
        forward = {"direction": "forward"}
        case = simulated_case()
        traffic = case.traffic.model_copy(update=forward)
        return case.model_copy(update={"program": spec, "probe": spec, "traffic": traffic})

    @pytest.fixture
    def place(self) -> Iterator[Workspace]:
        with short_room("the contract of programs") as made:
            yield made

    @pytest.fixture
    def places(self, case: CaseSpec, place: Workspace) -> Iterator[Places]:
        with private_network(place) as network:
            within(network, _loopback_up)
            one = {link: Place(link, network, "lo", LOOPBACK) for link in case.topology.links}
            yield Places(case, one)

    @pytest.mark.everyday
    def test_its_words_follow_from_what_is_asked_and_each_instance_has_its_port(
        self, driver: Program, case: CaseSpec
    ) -> None:
        assert driver.EXCHANGES, "it can be asked for nothing"
        for traffic in sorted(driver.EXCHANGES):
            one, other = (Rendezvous("198.19.0.1", port) for port in (11_001, 11_002))
            for end in (driver.server, driver.client):
                words = end(case, "/its/path", asked(traffic), one)
                assert Path("/its") in {Path(word).parent for word in words}
                assert words == end(case, "/its/path", asked(traffic), one)
                assert words != end(case, "/its/path", asked(traffic), other)

    @pytest.mark.everyday
    def test_silence_is_a_problem_whatever_the_exit_code(self, driver: Program) -> None:
        for traffic in sorted(driver.EXCHANGES):
            for code in (0, 1, -9, None):
                nothing = Said(code, "ended", "")
                found = driver.told(asked(traffic), nothing, nothing)
                assert found.problem, f"{traffic}: nothing was said, and nothing is wrong with that"
                assert (found.received_bytes, found.transactions) == (None, None)
                assert (found.intervals, found.packets) == ((), None)

    def test_all_instances_tell_what_was_exchanged_and_leave_nothing(
        self, driver: Program, case: CaseSpec, places: Places, place: Workspace
    ) -> None:
        for traffic in sorted(driver.EXCHANGES):
            before = _carried(places)
            made = run(driver, case, asked(traffic, instances=2), places, place)
            carried_bytes, carried_frames = (
                now - then for now, then in zip(_carried(places), before, strict=True)
            )
            (instances,) = made.instances
            assert [one.problem for one in instances] == ["", ""]
            for one in instances:
                assert one.elapsed_ns is not None and one.elapsed_ns >= SECOND // 2
                told = sum(part.amount for part in one.intervals)
                assert told > 0, "it told of nothing that arrived, and of no problem"
                if not traffic.endswith("stream"):
                    assert told == one.transactions
                    continue
                assert one.received_bytes is not None and one.sent_bytes is not None
                assert not untold(one.received_bytes, told)  # what came last may be in no interval
                assert one.received_bytes <= one.sent_bytes
                assert (one.sent_packets is not None) is (traffic == "udp-stream")
            received = sum(one.received_bytes or 0 for one in instances)
            assert received <= carried_bytes, "more than the device carried"
            answered = sum(one.transactions or 0 for one in instances)
            assert answered <= carried_frames, "more than the device carried frames"
            assert [*marked(place), *_at_work(place)] == []

    def test_what_arrives_is_told_while_it_runs(
        self, driver: Program, case: CaseSpec, places: Places, place: Workspace
    ) -> None:
        heard: list[tuple[RateSeen, ...]] = []
        traffic = sorted(driver.EXCHANGES)[0]
        run(driver, case, asked(traffic, seconds=4), places, place, Watching(heard.append))
        assert heard, "nobody was told of anything in four seconds"
        devices = [one for told in heard for one in told if one.frames_per_second is not None]
        assert {one.name for one in devices} == {"at phy1"}
        assert any(one.value and one.frames_per_second for one in devices)
        if traffic == "tcp-stream":
            instances = [one for told in heard for one in told if one.name == "instance 1"]
            assert any(one.value for one in instances)

    @pytest.mark.parametrize("end", ["client", "server"])
    def test_who_is_killed_is_told_by_which_end_and_how_and_there_is_no_number(
        self, driver: Program, case: CaseSpec, places: Places, place: Workspace, end: str
    ) -> None:
        known = sorted(driver.EXCHANGES)
        wanted = asked("tcp-stream" if "tcp-stream" in known else known[-1], seconds=30)
        wanted = replace(wanted, warm_up_ns=30 * SECOND)
        (network, *_) = {
            path_of(one.network) for one in places.by_link.values() if isinstance(one, Place)
        }
        killing = Thread(target=_kill, args=(place, end, network))
        killing.start()
        made = run(driver, case, wanted, places, place)
        killing.join()
        ((one,),) = made.instances
        assert f"its {end} was killed by SIGKILL" in one.problem
        assert one.received_bytes is None
        assert (one.transactions, one.intervals) == (None, ())
        assert made.elapsed_ns < wanted.sending_ns, "its end was waited for"
        assert [*marked(place), *_at_work(place)] == []


@dataclass
class Watching(Nobody):
    """Somebody who hears what arrives, and looks at nothing else."""

    tell: Tell | None = None


def run(
    driver: Program,
    case: CaseSpec,
    wanted: ExchangeAsked,
    places: Places,
    place: Workspace,
    around: Around | None = None,
) -> Made:
    part = Part(driver, driver.find(case), wanted, pairs_of(case, wanted, PLACED))
    return exchanged(
        [part],
        places=places,
        workspace=place,
        label="contract",
        switch=SwitchCpus(()),
        around=around,
    )


def _carried(places: Places) -> tuple[int, int]:
    """Return what the only device of the network has received so far: bytes and frames."""
    counts = places.counts()[0]
    return counts.received_bytes, counts.received_frames


def _kill(place: Workspace, end: str, network: Path) -> None:
    """Kill one end when both exchange data in their network, into which it has to come first."""
    wait_until(lambda: _connected(_program(place, end), network), PATIENCE_S)
    pid = _program(place, end)
    assert pid, f"its {end} has ended by itself"  # and 0 is all of us
    os.kill(pid, signal.SIGKILL)


def _program(place: Workspace, end: str) -> int:
    """Return the number of one end: what was started first serves."""
    started = [pid for pid in _at_work(place) if _parent(pid) == os.getpid()]
    return dict(zip(("server", "client"), started, strict=False)).get(end, 0)


def _at_work(place: Workspace) -> list[int]:
    """Return the processes that run in a deployment's folder, by age.

    Programs that name their processes anew write over the environment, and so over the mark.
    """
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "cwd").resolve().is_relative_to(place.folder):
                found.append(int(process.name))
    return sorted(found, key=lambda pid: start_ticks(pid) or 0)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _connected(pid: int, network: Path) -> bool:
    """Whether data flow in the network of a process: as much as no greeting has."""
    if not is_in(pid, network):
        return False
    try:
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    except OSError:
        return False
    rows = [line.split() for line in lines if line.strip().startswith("lo:")]
    return bool(rows) and int(rows[0][1]) > 1_000_000


def _loopback_up() -> None:
    with routes() as netlink:
        netlink.link("set", index=1, state="up")
        # With no other address a resolver that is asked for those in use (AI_ADDRCONFIG) has none.
        netlink.addr("add", index=1, address="198.19.0.1", prefixlen=32)
