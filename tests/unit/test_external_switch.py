"""An external switch is what lies between the devices that the testbed names."""

from __future__ import annotations

from typing import Any

import pytest
from bench_models import method
from simulated_cases import simulated_case
from switch_cases import ran_nothing

from vsperf.errors import UsageError
from vsperf.methods.base import Method
from vsperf.methods.fixed import FixedLoad
from vsperf.plugins import Plugins
from vsperf.record.plan import Endpoint, Placement
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.external import ExternalSwitch


def external_case(*devices: str | None, **sections: Any) -> CaseSpec:
    links = {
        f"phy{number}": {"speed": "10G", "generator": device}
        for number, device in enumerate(devices)
    }
    vswitch = ExternalSwitch.Spec.model_validate({"kind": "external"})
    testbed = {"name": "lab", "links": links}
    return simulated_case(vswitch=vswitch, testbed=testbed, **sections)


def endpoints(*devices: str | None) -> tuple[Endpoint, ...]:
    return ExternalSwitch().plan(external_case(*devices), Placement()).endpoints


def test_it_is_found_by_its_kind() -> None:
    assert isinstance(Plugins.load().driver("vswitch", "external"), ExternalSwitch)


def test_a_pci_address_is_a_card_of_the_generator() -> None:
    assert endpoints("0000:AF:00.0", "af:00.1,mprq_en=1") == (
        Endpoint(link="phy0", kind="pci", address="0000:AF:00.0"),
        Endpoint(link="phy1", kind="pci", address="af:00.1,mprq_en=1"),
    )


def test_a_virtual_device_is_handed_to_dpdk_as_it_is() -> None:
    devices = ("net_af_packet0,iface=eth1", "net_memif1,role=client,id=0")
    assert [(e.kind, e.address) for e in endpoints(*devices)] == [("vdev", d) for d in devices]


def test_a_link_without_a_device_is_refused_with_the_setting_that_is_missing() -> None:
    with pytest.raises(UsageError) as caught:
        endpoints("0000:03:00.0", None)
    problem = caught.value.problems[0]
    assert "phy1" in problem.what
    assert "--set testbed.links.phy1.generator=" in str(problem.fix)


def test_a_device_of_the_kernel_is_refused_with_the_way_to_take_it() -> None:
    with pytest.raises(UsageError) as caught:
        endpoints("eth1", "eth2")
    assert "net_af_packet0,iface=eth1" in str(caught.value.problems[0].fix)


def test_machines_cannot_be_plugged_into_it() -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    case = external_case("net_ring0", "net_ring1", topology=topology)
    with pytest.raises(UsageError, match="vm1"):
        ExternalSwitch().plan(case, Placement())


def test_nothing_is_needed_deployed_or_known() -> None:
    case = external_case("net_ring0", "net_ring1")
    assert ran_nothing(ExternalSwitch(), case).facts() == {}


EVENT = {"kind": "fixed", "loads": ["1Mfps"], "duration": "10s", "event": "kill-switch"}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (FixedLoad.model_validate(EVENT), "restarted"),
        (method("reset"), "restarted"),
        (method("flow_setup"), "made to forget what it has seen"),
        (method("learning"), "made to forget what it has seen"),
        (method("caching"), "made to forget what it has seen"),
        (
            method("churn", rules_per_second=[10], throughput_duration="1s", throughput_sum="1s"),
            "given other rules",
        ),
    ],
)
def test_a_method_that_does_something_to_the_switch_is_refused_before_anything_starts(
    asked: Method, what: str
) -> None:
    case = external_case("net_ring0", "net_ring1", search=asked.model_dump(mode="json"))
    with pytest.raises(UsageError, match=f"a switch that others deploy cannot be {what}"):
        ExternalSwitch().plan(case, Placement())


def test_a_method_that_only_sends_is_not_refused() -> None:
    case = external_case(
        "net_ring0", "net_ring1", search=method("back2back").model_dump(mode="json")
    )
    assert ExternalSwitch().plan(case, Placement()).endpoints
