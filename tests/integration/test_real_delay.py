"""Programs over a path of a known delay: what they tell of round trips follows from it.

The reference DUT holds each frame for five milliseconds, between two places and no switch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from loopbacks import tgen_dut
from named_programs import NAMED, named_program
from places import short_room
from simulated_cases import simulated_case
from switch_cases import plugins

from vsperf.config.case import CaseSpec
from vsperf.config.places import place_ip, place_mac, place_mtu
from vsperf.deploy.cpu_looks import SwitchCpus
from vsperf.deploy.exchanging import Part, exchanged, pairs_of
from vsperf.deploy.places import Place, Places
from vsperf.host.netns import entering, within
from vsperf.host.networks import private_network
from vsperf.host.process import managed
from vsperf.host.veths import FarEnd, joined
from vsperf.host.workspace import Workspace
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import CLIENTS, ECHO, SERVERS, Instance
from vsperf.records.run import Placement

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("root", "tgen-dut")]

DELAY_NS = 5_000_000
SECOND = 1_000_000_000
FIRST, LAST = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
PLACED = Placement(cpus={CLIENTS: (FIRST,), SERVERS: (FIRST,)})
OWN_PACKETS = Path("/proc/thread-self/net/packet")


@contextmanager
def held(case: CaseSpec, place: Workspace) -> Iterator[Places]:
    """Join two places by the reference DUT, in a network of its own between them."""
    with ExitStack() as stack:
        middle = stack.enter_context(private_network(place))
        made = dict[str, Place]()
        for number, link in enumerate(case.topology.links):
            network = stack.enter_context(private_network(place, link))
            far = FarEnd(network, "eth0", place_mac(case, link), place_mtu(case))
            within(middle, partial(joined, f"dut{number}", place, mtu=place_mtu(case), far=far))
            made[link] = Place(link, network, "eth0", place_ip(case, link))
        argv = [*entering(middle), str(tgen_dut()), "--no-pci", "--no-huge", "--no-shconf"]
        argv += ["-m", "512", "--file-prefix=dut", f"--lcores=0@{LAST},1@{LAST}"]
        argv += [f"--vdev=net_af_packet{n},iface=dut{n},qdisc_bypass=0" for n in range(len(made))]
        argv += ["--", f"--report={place.folder / 'report'}", f"--delay={DELAY_NS}"]

        def ready() -> bool:
            return len(within(middle, OWN_PACKETS.read_text).splitlines()) > len(made)

        own = {"RUNTIME_DIRECTORY": str(place.folder)}
        stack.enter_context(
            managed(argv, name="dut", workspace=place, ready=ready, environment=own)
        )
        places = Places(case, made)
        places.join(offloads=False)
        yield places


def told(kind: str, asked: ExchangeAsked) -> Instance:
    """Return what an instance of a program told over the path."""
    section = "probe" if asked.traffic == ECHO else "program"
    driver: Any = plugins().driver(section, kind)
    path = {"path": named_program(kind)} if kind in NAMED else {}
    spec = driver.Spec.model_validate({"kind": kind, **path})
    plain = simulated_case(traffic={"frame_size": "1518B"})
    traffic = plain.traffic.model_copy(update={"direction": "forward"})
    case = plain.model_copy(update={"program": spec, "probe": spec, "traffic": traffic})
    with short_room("a known delay") as place, held(case, place) as places:
        part = Part(driver, driver.find(case), asked, pairs_of(case, asked, PLACED))
        switch = SwitchCpus(())
        made = exchanged([part], places=places, workspace=place, label="x", switch=switch)
    ((one,),) = made.instances
    assert one.problem == ""
    return one


@pytest.mark.needs("irtt")
def test_a_packet_and_its_answer_take_the_delay_twice() -> None:
    one = told("irtt", ExchangeAsked(ECHO, 1, 2 * SECOND, interval_ns=20_000_000))
    assert one.packets is not None
    least_ns = min(time for time in one.packets.took_ns if time is not None)
    assert 2 * DELAY_NS <= least_ns <= 2 * DELAY_NS * 1.05


@pytest.mark.parametrize(("traffic", "round_trips"), [("tcp-rr", 1), ("udp-rr", 1), ("tcp-crr", 2)])
@pytest.mark.needs("netperf")
def test_a_request_takes_one_round_trip_and_one_with_its_connection_two(
    traffic: Any, round_trips: int
) -> None:
    one = told("netperf", ExchangeAsked(traffic, 1, 3 * SECOND))
    assert one.round_trips is not None
    expected_ns = 2 * DELAY_NS * round_trips
    assert expected_ns <= one.round_trips.least_ns * 1.01  # it tells two digits
    assert one.round_trips.least_ns <= expected_ns * 1.05
