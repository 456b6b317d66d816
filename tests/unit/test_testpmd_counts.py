"""What a testpmd says over its socket becomes counters; what it does not say is missing."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from switch_cases import switch_case

from vsperf.dpdk.running import RunningTestpmd
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.testpmd.driver import RunningSwitch
from vsperf.drivers.vswitches.testpmd.plan import TestpmdSpec
from vsperf.errors import ComponentError
from vsperf.host.process import Managed

COUNTED = {"ipackets": 10, "opackets": 8, "imissed": 0, "ierrors": 0, "oerrors": 0, "rx_nombuf": 0}
INFO = {"name": "net_vhost0", "mac_addr": "56:48:4F:53:54:00", "dev_started": 1}
ANSWERS: dict[str, Any] = {
    "/ethdev/stats,0": COUNTED,
    "/ethdev/stats,1": {**COUNTED, "opackets": 10},
    "/ethdev/info,0": INFO,
    "/ethdev/info,1": {**INFO, "name": "net_vhost1"},
    "/ethdev/link_status,0": {"status": "UP"},
    "/ethdev/link_status,1": {"status": "DOWN"},
}
BUSY = {"lcore_id": 1, "busy_cycles": 700, "total_cycles": 1000}
LONGEST = 1000


@contextmanager
def answering(answers: Mapping[str, Any], version: str = "DPDK 24.11") -> Iterator[Path]:
    """Give the socket; a question that nobody knows is answered with nothing."""
    with tempfile.TemporaryDirectory() as folder:  # short, as sockets need
        path = Path(folder, "t")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(path))
            listening.listen()
            thread = threading.Thread(target=_serve, args=(listening, answers, version))
            thread.start()
            try:
                yield path
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()


def _serve(listening: socket.socket, answers: Mapping[str, Any], version: str) -> None:
    with suppress(OSError):  # it is shut down at the end
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.send(json.dumps({"version": version}).encode())
                while question := connection.recv(LONGEST).decode():
                    key = question.partition(",")[0]
                    connection.send(json.dumps({key: answers.get(question)}).encode())


class Runs:
    """A program that runs, as far as anybody asks."""

    log = Path("/nowhere")

    def wait(self, patience_s: float) -> bool:
        return False

    def failure(self) -> None:
        return None


def switch_at(path: Path, **settings: Any) -> RunningSwitch:
    spec = switch_case("testpmd", settings).vswitch
    assert isinstance(spec, TestpmdSpec)
    places = (Place("phy0"), Place("phy1"))
    testpmd = RunningTestpmd("testpmd", cast(Managed, Runs()), path, ("phy0", "phy1"))
    return RunningSwitch(spec, places, testpmd, lambda kill: testpmd, (1,))


def test_frames_are_counted_by_port_and_what_did_not_leave_by_one_that_came_by_its_partner() -> (
    None
):
    with answering(ANSWERS) as path:
        counters = switch_at(path).counters()
    assert [(port.link, port.received_frames, port.sent_frames) for port in counters.ports] == [
        ("phy0", 10, 8),
        ("phy1", 10, 10),
    ]
    assert counters.ports[0].drops == {"rx missed": 0, "rx errors": 0, "tx not taken": 2}
    assert [port.lost_on_sending for port in counters.ports] == [2, 0]
    assert counters.pmds == ()


def test_what_a_frame_costs_is_told_where_testpmd_tells_it() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": BUSY}) as path:
        (pmd,) = switch_at(path, cycles=True).counters().pmds
        assert switch_at(path).counters().pmds == ()
        several = switch_at(path, cycles=True)
        several.cpus = (1, 2)
        assert several.counters().pmds == ()
    assert (pmd.cpu, pmd.frames, pmd.busy_cycles, pmd.idle_cycles) == (1, 20, 700, 300)


def test_an_older_testpmd_does_not_tell_and_nothing_is_made_up() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": {"lcore_id": 1}}) as path:
        assert switch_at(path, cycles=True).counters().pmds == ()


def test_a_port_that_counts_nothing_is_an_error() -> None:
    with answering({**ANSWERS, "/ethdev/stats,1": None}) as path:
        switch = switch_at(path)
        with pytest.raises(ComponentError, match="counts nothing on one of its ports"):
            switch.counters()


def test_what_is_waited_for_is_said_by_the_name_that_the_port_has_here() -> None:
    with answering(ANSWERS) as path:
        testpmd = switch_at(path).testpmd
        assert testpmd.waiting_for() == "the link of phy1 is down"
        assert testpmd.waiting_for(("phy0",)) is None
        assert testpmd.dpdk == "DPDK 24.11"
        assert [port["name"] for port in testpmd.ports] == ["net_vhost0", "net_vhost1"]


def test_one_that_does_not_answer_is_said_to_have_failed(tmp_path: Path) -> None:
    assert "does not answer" in str(switch_at(tmp_path / "nobody").failure())
