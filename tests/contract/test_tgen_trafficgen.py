"""tgen keeps the promises of all generator drivers: on rings, on memif, and through testpmd."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cable import fixture_cables
from conftest import Require
from loopbacks import Loopback, socket_folder, tgen_case, through_testpmd
from places import room, started_generator
from simulated_cases import WAYS
from trafficgen_contract import LIGHT, Rig, TrafficGeneratorContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrafficGenerator, TrialRequest
from vsperf.drivers.generators.tgen.cap import measure_cap
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.vswitches.testpmd.plan import TestpmdSpec
from vsperf.errors import ComponentError
from vsperf.records.clean import CleanTrial, in_clean_time
from vsperf.records.run import Endpoint, Placement
from vsperf.records.trial import Purpose, Trial

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]


@pytest.fixture(name="switch", scope="module")
def fixture_switch(
    tmp_path_factory: pytest.TempPathFactory, require: Require
) -> Iterator[Loopback]:
    """One testpmd for all tests: a switch outlives its generators."""
    require("dpdk-testpmd")
    with through_testpmd(tmp_path_factory.mktemp("testpmd")) as running:
        yield running


class TgenContract(TrafficGeneratorContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Require) -> TrafficGenerator:
        require("tgen")
        return TgenGenerator()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return tgen_case()


@pytest.mark.everyday
class TestOnRings(TgenContract):
    """Each port gets its own frames back."""

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        endpoints = tuple(
            Endpoint(link=f"phy{n}", kind="vdev", address=f"net_ring{n}") for n in range(2)
        )
        yield Rig(endpoints, (("phy0", "phy0"), ("phy1", "phy1")))


class TestThroughTestpmd(TgenContract):
    """testpmd stands in for a switch."""

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec, switch: Loopback) -> Iterator[Rig]:
        yield Rig(switch.endpoints, WAYS["both"])


@pytest.mark.needs("tgen")
def test_memif_ports_joined_to_each_other() -> None:
    socket = socket_folder() / f"vsperf-memif-{os.getpid()}-0.sock"
    endpoints = tuple(
        Endpoint(
            link=f"phy{n}",
            kind="vdev",
            address=f"net_memif{n},role={role},id=0,socket={socket},rsize=10",
        )
        for n, role in enumerate(("server", "client"))
    )
    case = tgen_case(traffic={"frame_size": "1518B", "flows": "4096"})
    with started_generator(TgenGenerator(), case, endpoints, WAYS["both"]) as session:
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.good_frames == LIGHT.frames
    socket.unlink(missing_ok=True)


@pytest.mark.needs("tgen", "dpdk-testpmd")
def test_frames_whose_addresses_were_swapped_on_the_way_are_still_ours(tmp_path: Path) -> None:
    with (
        through_testpmd(tmp_path, "macswap") as switch,
        started_generator(TgenGenerator(), tgen_case(), switch.endpoints, WAYS["both"]) as session,
    ):
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.good_frames == LIGHT.frames
            assert way.foreign_frames == 0


@pytest.mark.needs("tgen", "dpdk-testpmd")
def test_learning_frames_go_before_a_trial_and_are_not_counted_in_it(tmp_path: Path) -> None:
    with (
        through_testpmd(tmp_path) as switch,
        started_generator(
            TgenGenerator(), tgen_case(learning=True), switch.endpoints, WAYS["both"]
        ) as session,
    ):
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.received_frames == way.good_frames == LIGHT.frames
            assert way.foreign_frames == 0


@pytest.mark.parametrize(
    "encapsulation",
    [
        {"kind": "vxlan", "id": 42, "vlans": [100]},
        {"kind": "geneve", "id": 42, "underlay": "ipv6"},
        {"kind": "gre"},
        {"kind": "gtpu", "id": 7, "underlay": "ipv6", "vlans": [5, 6]},
    ],
    ids=lambda chosen: chosen["kind"],
)
@pytest.mark.needs("tgen", "dpdk-testpmd")
def test_frames_in_tunnels_come_through_a_switch_that_knows_none(
    encapsulation: dict[str, Any], tmp_path: Path
) -> None:
    """One that answers requests for addresses, too: where nobody asks it makes no difference."""
    traffic = {"frame_size": "200B", "flows": "64", "encapsulation": encapsulation}
    case = tgen_case(traffic=traffic, respond=True)
    with (
        through_testpmd(tmp_path) as switch,
        started_generator(TgenGenerator(), case, switch.endpoints, WAYS["both"]) as session,
    ):
        for way in session.run(LIGHT).directions:
            assert way.sent_frames == way.good_frames == LIGHT.frames
            assert way.foreign_frames == 0


SHARED = Placement(cpus={"generator": (0, 0, 0, 0)})
"""Four workers on one CPU: it is counts that matter here."""
ONE_WAY = {"flows": 64, "direction": "forward"}
RING = (Endpoint(link="phy0", kind="vdev", address="net_ring0"),)
TO_ITSELF = (("phy0", "phy0"),)


@pytest.mark.needs("tgen")
def test_frames_are_counted_by_slots_of_time_as_well() -> None:
    with started_generator(TgenGenerator(), tgen_case(), RING, TO_ITSELF) as session:
        found = session.run(LIGHT)
    (way,) = found.directions
    assert found.slots is not None
    assert found.slots.sent_frames == (way.sent_frames,)
    assert found.slots.received_frames == (way.good_frames,)
    trial = Trial(
        **dict(found),
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=LIGHT.load_fps,
        duration_ns=LIGHT.duration_ns,
        started_at="",
    )
    cleaned = in_clean_time(trial)
    assert isinstance(cleaned, CleanTrial)
    assert 0 <= cleaned.counted_ns <= cleaned.whole_ns == found.sending_ns
    assert cleaned.lost_frames == 0


@pytest.mark.needs("tgen")
def test_its_facts_tell_how_fast_the_clock_was_and_stayed() -> None:
    with started_generator(TgenGenerator(), tgen_case(), RING, TO_ITSELF) as session:
        assert session.facts()["tsc"].keys() == {"hz", "hz_dpdk"}
        session.run(LIGHT)
        facts = session.facts()["tsc"]
    assert facts["hz"] == pytest.approx(facts["hz_dpdk"], rel=0.01)
    assert 0 <= facts["most_off_ppm"] < 1000


@pytest.mark.needs("tgen")
def test_several_workers_send_a_direction() -> None:
    case = tgen_case(queues=2, traffic=ONE_WAY, grace="10s")
    with started_generator(TgenGenerator(), case, RING, TO_ITSELF, SHARED) as session:
        (way,) = session.run(LIGHT).directions
    assert way.sent_frames == way.received_frames == way.good_frames == LIGHT.frames
    assert way.reordered_frames == way.duplicate_frames == 0
    assert way.longest_silence_ns is None  # two workers and queues: nobody saw all frames


@pytest.mark.usefixtures("cables")
def test_what_a_packet_socket_had_no_room_for_is_the_generators(require: Require) -> None:
    """Of which its device says nothing: it would be held against the switch."""
    require("tgen")
    require("root")  # who may copy sockets of others
    endpoints = (
        Endpoint(link="phy0", kind="vdev", address="net_af_packet0,iface=vscable0s"),
        Endpoint(link="phy1", kind="vdev", address="net_af_packet1,iface=vscable0g,framecnt=2"),
    )
    fast = TrialRequest(load_fps=10_000_000, duration_ns=20_000_000)
    case = tgen_case(traffic={"direction": "forward"})
    with started_generator(TgenGenerator(), case, endpoints, (("phy0", "phy1"),)) as session:
        overrun, spared = session.run(fast), session.run(LIGHT)
    (way,) = overrun.directions
    # The kernel may lose some on the cable, too, where it has much to do.
    assert 0 < overrun.generator.missed_frames <= way.sent_frames - way.good_frames
    assert spared.generator.missed_frames < overrun.generator.missed_frames


@pytest.mark.needs("tgen")
def test_a_device_with_too_few_queues_is_refused_with_the_way_out(tmp_path: Path) -> None:
    case = tgen_case(queues=2, traffic=ONE_WAY)
    address = f"net_pcap0,tx_pcap={tmp_path / 'sent.pcap'}"
    endpoints = (Endpoint(link="phy0", kind="vdev", address=address),)
    with (
        pytest.raises(ComponentError, match="net_pcap0 has 1 queues to send on") as refused,
        started_generator(TgenGenerator(), case, endpoints, TO_ITSELF, SHARED),
    ):
        pytest.fail("it was started")
    assert "generator.queues=1" in str(refused.value.problems[0].fix)


class _Frugal(TestpmdSpec):
    """A switch whose ports offer less than those of DPDK."""

    WITHHELD: ClassVar[tuple[str, ...]] = ("in_order", "mrg_rxbuf")


@pytest.mark.needs("tgen", "dpdk-testpmd")
def test_the_mirror_has_as_many_queues_as_workers_send() -> None:
    """Also where the switch, and so the mirror, does not offer all that DPDK could."""
    made = tgen_case(queues=2, traffic=ONE_WAY)
    case = made.model_copy(update={"vswitch": _Frugal(kind="testpmd")})
    options = Options(cpus=SHARED.of("generator"), hugepages=False, queues=2, max_frame=1518)
    with room("a test") as place:
        last = max(os.sched_getaffinity(0))
        assert measure_cap(case, options, 2, (last,), place).fps > 0
