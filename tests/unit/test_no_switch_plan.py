"""Without a switch: the generator's ports joined to each other, and who is blamed for a loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from bench_models import method
from places import PLACEMENT
from pydantic import ValidationError
from search_models import LOADS, lossy, trial, way
from simulated_cases import simulated_case
from switch_cases import PVP, driver_of, ran_nothing, switch_case

from vsperf.errors import UsageError
from vsperf.methods.base import loads_of
from vsperf.record.limit import Limit
from vsperf.record.placeholder import shown
from vsperf.search.classify import DurationRule
from vsperf.search.fixed import load_result
from vsperf.search.verdict import Question, answer
from vsperf.spec.case import CaseSpec
from vsperf.units import NANOSECONDS
from vsperf.vswitches.none import NoSwitch

NDR = DurationRule(Fraction(0), Fraction(0), NANOSECONDS, NANOSECONDS)


def none_case(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    return switch_case("none", switch, **sections)


def addresses(case: CaseSpec) -> list[str]:
    return [shown(end.address) for end in NoSwitch().plan(case, PLACEMENT).endpoints]


def test_it_is_found_by_its_kind() -> None:
    assert isinstance(driver_of("none"), NoSwitch)


def test_of_each_pair_of_links_one_listens_and_the_other_calls() -> None:
    assert addresses(none_case()) == [
        "net_memif0,role=server,id=0,socket=RUN/none.sock,socket-abstract=no,rsize=10,bsize=2048",
        "net_memif1,role=client,id=0,socket=RUN/none.sock,socket-abstract=no,rsize=10,bsize=2048",
    ]


def test_pairs_of_links_do_not_meet() -> None:
    topology = {"name": "two", "paths": [["phy0", "phy3"], ["phy1", "phy2"]]}
    found = addresses(none_case(topology=topology, links={"phy2": {}, "phy3": {}}))
    ids = {word for one in found for word in one.split(",") if word.startswith("id=")}
    assert ids == {"id=0", "id=1"}
    assert [end.link for end in NoSwitch().plan(
        none_case(topology=topology, links={"phy2": {}, "phy3": {}}), PLACEMENT
    ).endpoints] == ["phy0", "phy3", "phy1", "phy2"]  # fmt: skip


def test_a_slot_holds_the_longest_frame_and_the_ring_is_as_long_as_asked() -> None:
    first, _ = addresses(none_case({"ring": 256}, traffic={"frame_size": "9018B"}))
    assert first.endswith("rsize=8,bsize=9024")


def test_a_ring_is_a_power_of_two() -> None:
    with pytest.raises(ValidationError, match="no power of two"):
        none_case({"ring": 1000})


def test_nothing_is_needed_deployed_or_counted() -> None:
    assert ran_nothing(NoSwitch(), none_case()).failure()


def test_machines_cannot_be_plugged_into_nothing() -> None:
    with pytest.raises(UsageError, match="vm1"):
        NoSwitch().plan(none_case(topology=PVP), PLACEMENT)


@pytest.mark.parametrize("name", ["reset", "flow_setup", "learning"])
def test_nothing_can_be_done_to_it(name: str) -> None:
    case = none_case(search=method(name).model_dump(mode="json"))
    with pytest.raises(UsageError, match="where there is no switch"):
        NoSwitch().plan(case, PLACEMENT)


def test_a_link_with_a_device_is_a_cable_of_others() -> None:
    case = none_case(links={"phy0": {"generator": "net_null0"}})
    with pytest.raises(UsageError) as caught:
        NoSwitch().plan(case, PLACEMENT)
    assert "kind=external" in str(caught.value.problems[0].fix)


def test_its_loads_know_that_there_is_no_switch() -> None:
    assert not loads_of(none_case()).switched
    assert loads_of(switch_case("testpmd")).switched


@pytest.mark.parametrize("kind", ["none", "testpmd", "linux-bridge"])
def test_the_cap_of_the_generator_says_nothing_on_what_it_is_measured_with_or_on_other_ports(
    kind: str,
) -> None:
    assert not switch_case(kind).capped
    assert simulated_case().capped


def test_a_loss_is_the_generators_and_no_switch_is_named() -> None:
    question = Question("ndr", NDR, replace(LOADS, switched=False), lambda low, high: True)
    lost = trial(10**6, NANOSECONDS, [way(10**6, lost=7)])
    found = answer(question, [lossy(999_000, 1), lost])
    assert found.limit is Limit.GENERATOR
    assert "the generator's own ports, with no switch between them, lost 7 of" in found.reason
    of_load = load_result(replace(LOADS, switched=False), [lost])
    assert of_load.limit is Limit.GENERATOR
    assert "the switch" not in of_load.reason
