"""testpmd as a generator: refusals, command lines, and what it says at a stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from places import PLACEMENT
from switch_cases import PVPV, switch_case

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.demands import refusals
from vsperf.dpdk.console import Console, Forwarded, forwarded
from vsperf.drivers.generators.testpmd.driver import TestpmdGenerator
from vsperf.drivers.generators.testpmd.plan import TestpmdGeneratorSpec
from vsperf.errors import ComponentError, UsageError, VsperfError
from vsperf.methods.base import Method
from vsperf.methods.sweep import LoadSweep
from vsperf.plugins import Plugins
from vsperf.records.result import Figure, LoadResult
from vsperf.records.run import Endpoint
from vsperf.search.base import Loads

ENDPOINTS = (
    Endpoint(link="phy0", kind="vhost-user-client", address="RUN/phy0.sock"),
    Endpoint(link="phy1", kind="vhost-user", address="RUN/phy1.sock"),
)
FULL = {"kind": "fixed", "loads": ["100%"], "duration": "1s"}
SEARCHED = {
    "min_load": "1%",
    "max_load": "100%",
    "goals": {"ndr": {"loss_ratio": "0"}},
    "duration": "1s",
    "resolution": "1%",
}
STOPPED = """
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 2757980        RX-dropped: 0             RX-total: 2757980
  TX-packets: 2757990        TX-dropped: 17            TX-total: 2758007
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 2757991        RX-dropped: 0             RX-total: 2757991
  TX-packets: 2757992        TX-dropped: 0             TX-total: 2757992
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 5515971        RX-dropped: 0             RX-total: 5515971
  TX-packets: 5515982        TX-dropped: 17            TX-total: 5515999
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++

Done.
"""


def case_of(
    search: dict[str, Any] | None = None,
    generator: dict[str, Any] | None = None,
    traffic: dict[str, Any] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case that testpmd can send for, unless told otherwise."""
    spec = TestpmdGeneratorSpec.model_validate({"kind": "testpmd", **(generator or {})})
    case = switch_case("testpmd", search=search or FULL, **sections)
    profile = case.traffic.model_validate(case.traffic.model_dump() | (traffic or {}))
    return case.model_copy(update={"traffic": profile, "generator": spec})


def planned(case: CaseSpec) -> list[tuple[str, ...]]:
    """Return the command lines of a plan."""
    steps = TestpmdGenerator().plan(case, ENDPOINTS, PLACEMENT)
    return [step.argv or () for step in steps]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"search": {**SEARCHED, "kind": "rfc2544"}}, "unpaced"),
        ({"search": {**FULL, "loads": ["50%", "100%"]}}, "unpaced"),
        ({"search": {"kind": "forwarding", "duration": "1s"}}, "unpaced"),
        ({"traffic": {"layer3": "ipv6", "frame_size": "128B"}}, "UDP on IPv4"),
        ({"traffic": {"vlans": [7], "frame_size": "128B"}}, "UDP on IPv4"),
        ({"traffic": {"direction": "forward"}}, "every port"),
        ({"generator": {"mode": "txonly"}}, "nobody's"),
    ],
)
def test_what_it_cannot_do_is_refused_in_the_plan_with_reason_and_way_out(
    told: dict[str, Any], why: str
) -> None:
    """… and not found out when a switch has been deployed."""
    try:
        case = case_of(**told)
    except ValueError as error:  # a method that needs more settings than these
        pytest.fail(f"{told} makes no case: {error}")
    with pytest.raises(UsageError) as refused:
        planned(case)
    problem = refused.value.problems[0]
    assert problem.why is not None and why in problem.why
    assert problem.fix


def test_a_method_that_it_does_not_know_is_planned_where_its_loads_are_all_it_can_do() -> None:
    class Unheard(LoadSweep):
        """Its name stands nowhere in the driver; what it offers it says itself."""

        kind: Literal["unheard"]

        def enough(self, results: Sequence[LoadResult]) -> bool:
            return True

        def figures(
            self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
        ) -> tuple[Figure, ...]:
            return ()

    class Ends(Unheard):
        """What it offers follows from its answers: both ends of the range stand for it."""

        def offered(self, loads: Loads) -> Iterator[int]:
            yield from Method.offered(self, loads)

    settings = {"kind": "unheard", "duration": "1s", "min_load": "99%"}
    top, range_ = (kind.model_validate(settings) for kind in (Unheard, Ends))

    assert planned(case_of().model_copy(update={"search": top}))
    with pytest.raises(UsageError, match="frames per second"):
        planned(case_of().model_copy(update={"search": range_}))


@pytest.mark.parametrize(
    ("search", "lacking"),
    [
        ({**SEARCHED, "kind": "rfc2544"}, {Ability.PACED, Ability.EXACT}),
        ({**FULL, "duration": "9s", "event": "restart-switch"}, {Ability.SILENCE}),
        (FULL, set()),
    ],
)
def test_what_a_method_needs_is_held_against_what_it_declares(
    search: dict[str, Any], lacking: set[Ability]
) -> None:
    case = case_of(search)
    refused = refusals(case, TestpmdGenerator().capabilities(case), 2)
    assert {problem.what for problem in refused} == {
        f"generator testpmd cannot {ability.words}" for ability in lacking
    }


def test_forwarding_at_the_full_rate_alone_is_planned() -> None:
    assert planned(case_of({"kind": "forwarding", "duration": "1s", "min_load": "99%"}))


def test_parallel_paths_are_refused() -> None:
    vnf = Plugins.load().driver("vnf", "process").Spec.model_validate({"kind": "process"})
    with pytest.raises(VsperfError, match="parallel paths"):
        planned(case_of(topology=PVPV, vnf=vnf))


def test_one_program_sends_and_receives_and_is_told_when_by_a_pipe() -> None:
    (argv,) = planned(case_of(traffic={"flows": 256}))
    assert argv[:3] == ("stdbuf", "-oL", "dpdk-testpmd")
    assert "--cmdline-file=RUN/flowgen.commands" in argv
    assert "--flowgen-flows=256" in argv
    assert "--auto-start" not in argv
    assert "--vdev=net_virtio_user0,path=RUN/phy0.sock,queue_size=1024,server=1" in argv
    assert "--vdev=net_virtio_user1,path=RUN/phy1.sock,queue_size=1024" in argv


def test_txonly_takes_a_second_program_that_receives() -> None:
    case = case_of(generator={"mode": "txonly", "cpus": "0,1"}, traffic={"direction": "forward"})
    sends, receives = planned(case)
    assert any("phy0.sock" in word for word in sends)
    assert not any("phy1.sock" in word for word in sends)
    assert any("phy1.sock" in word for word in receives)
    assert TestpmdGenerator().needs(case).cpus[0].count == 2


def test_the_plan_says_that_it_is_unpaced_and_who_counts() -> None:
    (step,) = TestpmdGenerator().plan(case_of(), ENDPOINTS, PLACEMENT)
    assert "UNPACED" in step.action and "counted by ports" in step.action


def test_pins_are_as_many_as_threads() -> None:
    with pytest.raises(ValueError, match="2 threads"):
        TestpmdGeneratorSpec.model_validate({"kind": "testpmd", "mode": "txonly", "cpus": "1"})


def test_what_it_says_at_a_stop_is_read_by_port_and_not_summed() -> None:
    assert forwarded(STOPPED) == {
        0: Forwarded(received=2757980, sent=2757990, refused=17),
        1: Forwarded(received=2757991, sent=2757992, refused=0),
    }


class TestConsole:
    """The pipe, with a thread in the place of testpmd."""

    @pytest.fixture
    def console(self, tmp_path: Path) -> Console:
        made = Console(tmp_path / "commands", tmp_path / "log")
        made.make()
        made.log.write_text("Done.\n")
        return made

    def test_it_is_open_when_somebody_reads(self, console: Console) -> None:
        assert not console.open()
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()
        console.say("set fwd flowgen", "start")
        assert os.read(reader, 100) == b"set fwd flowgen\nstart\n"
        console.close()
        assert os.read(reader, 100) == b""  # which ends testpmd
        os.close(reader)

    def test_a_stop_waits_for_what_is_said_after_it(self, console: Console) -> None:
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()

        def answer() -> None:
            with console.log.open("a") as log:
                log.write(STOPPED)

        threading.Timer(0.05, answer).start()
        assert console.stop(lambda: None)[0].refused == 17
        console.close()
        os.close(reader)

    def test_who_has_ended_is_not_waited_for(self, console: Console) -> None:
        reader = os.open(console.path, os.O_RDONLY | os.O_NONBLOCK)
        assert console.open()

        def dead() -> None:
            raise ComponentError("it has ended")

        with pytest.raises(ComponentError, match="it has ended"):
            console.stop(dead)
        os.close(reader)
        with pytest.raises(ComponentError, match="no more commands"):
            console.say("start")
        console.close()
