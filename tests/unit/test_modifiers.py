"""The modifiers of RFC 2544, and mixes of frame sizes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from config_world import CHECKOUT, DRIVERS, library, loaded, problems, write
from hypothesis import given
from hypothesis import strategies as st
from ovs_cases import ovs_case, rules_of
from places import PLACEMENT
from pydantic import ValidationError
from search_models import case_of, spec_of
from simulated_cases import simulated_case, switch_of, trials
from switch_cases import PVP

from vsperf.config.case import Case, CaseSpec
from vsperf.config.document import Drivers
from vsperf.config.flows import flows_between
from vsperf.config.imix import LETTERS, Imix
from vsperf.config.loader import Request, load
from vsperf.config.traffic import TrafficProfile, size_of
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.vswitches.external import ExternalSpec
from vsperf.drivers.vswitches.ovs.dpdk.driver import DpdkDesign, OvsDpdk, OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.parse import Matched, matched
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.drivers.vswitches.sim import SimulatedSwitchSpec
from vsperf.errors import ComponentError, SpecError, UsageError
from vsperf.methods.base import method_of
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.units import FrameSize, LinkSpeed, Rate
from vsperf.records.meaning import ETHERNET_SIZES
from vsperf.records.result import Compliance, Level, SearchResult, Standard

# The modifiers of RFC 2544, section 11: broadcast frames among others, and filters before rules.

IPV6 = {"frame_size": "128B", "layer3": "ipv6"}
GOLDEN = CHECKOUT / "tests" / "golden" / "ovs"


def profile(**settings: Any) -> TrafficProfile:
    return TrafficProfile.model_validate({"frame_size": "64B", **settings})


def made(switch: dict[str, Any], **more: Any) -> list[str]:
    return rules_of(ovs_case(switch, **more))


@pytest.mark.parametrize(
    ("share", "every"),
    [("1%", 100), ("0.01", 100), ("2%", 50), ("50%", 2), ("0.1%", 1000), ("1e-6", 10**6), ("0", 0)],
)
def test_a_share_of_the_frames_is_one_in_so_many(share: str, every: int) -> None:
    assert profile(broadcasts=share).broadcast_every == every


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"broadcasts": "3%"}, "3% is not one frame in so many"),
        ({"broadcasts": "33.3%"}, "not one frame in so many"),
        ({"broadcasts": "100%"}, "destination: broadcast"),
        ({"broadcasts": "1%", "destination": "broadcast"}, "destination: broadcast"),
        ({"broadcasts": "1%", "destination": "multicast"}, "destination: broadcast"),
        ({"broadcasts": "1e-7"}, "less than one frame in 1000000"),
        ({"broadcasts": "1%", "replay": {"file": "/x.pcap"}}, "frames of its own"),
        (
            {"frame_size": 256, "broadcasts": "1%", "encapsulation": {"kind": "gre"}},
            "at its other end",
        ),
    ],
)
def test_what_is_no_such_share_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        profile(**settings)


def test_no_modifier_is_the_same_case_as_before() -> None:
    plain = Case(ovs_case())
    assert Case(ovs_case({"filters": 0}, traffic={"broadcasts": "0"})).id == plain.id
    assert Case(ovs_case({"filters": 1})).id != plain.id
    assert Case(ovs_case(traffic={"broadcasts": "1%"})).id != plain.id
    assert Case(simulated_case({"filters": 0})).id == Case(simulated_case()).id


def told(folder: Path, *lines: str) -> tuple[str, str]:
    """Return what is said of a testcase, and why."""
    text = "\n".join(("name: mine", "traffic: {frame_size: 64, broadcasts: 1%}", *lines, ""))
    write(folder, {"testcases/mine.yaml": text})
    drivers: Drivers = {**DRIVERS, "vswitch": {"sim": SimulatedSwitchSpec}}
    with pytest.raises(SpecError) as refused:
        load(Request(("mine",), testbed="sim"), library(folder, folder), drivers)
    (problem,) = refused.value.problems
    assert problem.where is not None and problem.where.line == 2
    assert problem.fix
    return problem.what, problem.why or ""


def test_frames_for_everybody_have_one_way_to_go(tmp_path: Path) -> None:
    what, why = told(tmp_path, "topology: pvpv")
    assert what == "`traffic.broadcasts` have no way of their own in topology pvpv"
    assert "these are for everybody" in why


@pytest.mark.parametrize("topology", ["pvp", "{name: two, paths: [[phy0, phy1], [phy2, phy3]]}"])
def test_a_bridge_with_more_ports_would_multiply_them(topology: str, tmp_path: Path) -> None:
    links = "testbed: {links: {phy2: {speed: 10G}, phy3: {speed: 10G}}}"
    what, why = told(tmp_path, f"topology: {topology}", "vswitch: {flows: learn}", links)
    assert "would be multiplied" in what
    assert "out of all its other ports" in why


@pytest.mark.parametrize("kind", ["port", "network", "l3", "l4"])
def test_rules_that_look_at_no_station_let_everybodys_frames_pass(kind: str) -> None:
    some = {"frame_size": "64B", "broadcasts": "1%"}
    assert made({"flows": kind}, traffic=some) == made({"flows": kind})


def test_rules_by_station_are_refused() -> None:
    with pytest.raises(UsageError, match="some are for everybody"):
        made({"flows": "l2"}, traffic={"frame_size": "64B", "broadcasts": "1%"})


def test_a_model_forwards_them_like_others() -> None:
    some = {"frame_size": "64B", "broadcasts": "1%"}
    loads = (1_000, 7_000_000)
    for flows in ("port", "learn"):
        with_some = trials(simulated_case({"flows": flows}, traffic=some), *loads)
        without = trials(simulated_case({"flows": flows}), *loads)
        assert [one.directions for one in with_some] == [one.directions for one in without]


def test_the_plan_says_that_some_are_for_everybody() -> None:
    plain = ovs_case(traffic={"frame_size": "64B", "broadcasts": "1%"})
    case = plain.model_copy(update={"generator": TgenSpec(kind="tgen")})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    *_, configure = TgenGenerator().plan(case, endpoints, PLACEMENT)
    assert ", one frame in 100 for everybody, " in configure.action


def test_filters_stand_above_the_rules_that_forward() -> None:
    assert made({"filters": 2, "flows": "l3"}) == [
        "priority=10,in_port=1,ip,nw_src=198.18.0.1,nw_dst=198.19.0.1,actions=output:2",
        "priority=10,in_port=2,ip,nw_src=198.19.0.1,nw_dst=198.18.0.1,actions=output:1",
        "cookie=0xf117e5,priority=20,ip,nw_src=198.51.100.1,nw_dst=203.0.113.1,actions=drop",
        "cookie=0xf117e5,priority=20,ip,nw_src=198.51.100.2,nw_dst=203.0.113.2,actions=drop",
    ]
    assert made({"filters": 1}, traffic=IPV6)[-1] == (
        "cookie=0xf117e5,priority=20,"
        "ipv6,ipv6_src=2001:db8:0:1::1,ipv6_dst=2001:db8:0:2::1,actions=drop"
    )


@pytest.mark.parametrize("traffic", [{"frame_size": "64B"}, IPV6], ids=["ipv4", "ipv6"])
def test_each_filter_is_another_and_none_is_of_the_traffic(traffic: dict[str, Any]) -> None:
    found = made({"filters": 1000}, traffic={**traffic, "flows": 65_534})[2:]
    assert len(set(found)) == 1000
    used = {
        address
        for flow in flows_between(profile(**traffic, flows=65_534), 0, 1)
        for address in (flow.source_ip, flow.destination_ip)
    }
    for rule in found:
        fields = dict(part.split("=", 1) for part in rule.split(",") if "=" in part)
        ends = {value for name, value in fields.items() if name.endswith(("_src", "_dst"))}
        assert len(ends) == 2
        assert not ends & used


def test_filters_hold_for_every_pass_through_the_switch_and_are_there_once() -> None:
    plain = made({}, topology=PVP)
    found = made({"filters": 24}, topology=PVP)
    assert found[: len(plain)] == plain
    assert len(found) == len(plain) + 24


def test_the_plan_shows_the_filters() -> None:
    steps = OvsDpdk().plan(ovs_case({"filters": 24, "flows": "l3"}), PLACEMENT).steps
    (step,) = [step for step in steps if "rules in at once" in step.action]
    assert ", 24 of them filters that no test frame meets, and count them" in step.action
    assert [line.startswith("cookie=0xf117e5") for line in step.lines] == [
        *[False] * 2, *[True] * 6, False,
    ]  # fmt: skip
    assert step.lines[-1] == "… and 18 more"
    plain = OvsDpdk().plan(ovs_case(), PLACEMENT).steps
    assert not [step for step in plain if "filters" in step.action]


def test_the_switch_looks_behind_two_tags_for_what_filters_ask() -> None:
    def limit(**switch: Any) -> str | None:
        case = ovs_case(switch, traffic={"frame_size": "128B", "vlans": [5, 6]})
        spec = case.vswitch
        assert isinstance(spec, OvsDpdkSpec)
        return DpdkDesign(case, spec, PLACEMENT).other_config.get("vlan-limit")

    assert limit(filters=1) == "2"
    assert limit() is None


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ({"frame_size": "128B", "mpls": [16]}, "MPLS labels hide"),
        ({"frame_size": "64B", "replay": {"file": "/x.pcap"}}, "frames of a file"),
    ],
)
def test_frames_that_filters_cannot_be_asked_about_are_refused(
    traffic: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        made({"filters": 1}, traffic=traffic)
    assert refused.value.problems[0].fix
    assert made({}, traffic=traffic)


def test_a_switch_without_rules_has_no_filters() -> None:
    with pytest.raises(ValidationError, match="filters cost nothing"):
        SimulatedSwitchSpec.model_validate({"kind": "sim", "filters": 1})
    with pytest.raises(ValidationError, match="cannot be given filters"):
        ExternalSpec.model_validate({"kind": "external", "filters": 24})
    for many in (-1, 1001):
        with pytest.raises(ValidationError):
            OvsDpdkSpec.model_validate({"kind": "ovs-dpdk", "filters": many})


def test_what_ovs_says_of_its_filters_is_read() -> None:
    assert matched((GOLDEN / "filters-dump-aggregate.txt").read_text()) == Matched(24, 0)
    assert matched("nothing") == Matched(None, None)


def rfc2544(case: CaseSpec) -> Compliance:
    found = method_of(case).compliance(case, ETHERNET_SIZES, SearchResult())
    return next(each for each in found if each.standard is Standard.RFC2544)


@pytest.mark.parametrize(
    ("traffic", "switch", "words"),
    [
        ({"broadcasts": "1%"}, {}, "1% of the frames are broadcast (section 11.1)"),
        ({"broadcasts": "2%"}, {}, "2% instead of 1% of the frames are broadcast (section 11.1)"),
        (
            {}, {"filters": 1, "flows": "l3"},
            "1 filter before the rule that permits the frames (section 11.4)",
        ),
        (
            {}, {"filters": 24, "flows": "l3"},
            "24 filters before the rule that permits the frames (section 11.4)",
        ),
        (
            {}, {"filters": 25},
            "25 filters instead of 1 or 24 before the rule that permits the frames, which looks "
            "at no address (section 11.4)",
        ),
    ],
)  # fmt: skip
def test_the_compliance_with_rfc2544_names_the_modifier(
    traffic: dict[str, Any], switch: dict[str, Any], words: str
) -> None:
    vswitch = OvsDpdkSpec.model_validate({"kind": "ovs-dpdk", **switch})
    sections = {"search": spec_of("rfc2544"), "vswitch": vswitch}
    case = case_of("rfc2544", traffic={"frame_size": "64B", **traffic}, **sections)
    found = rfc2544(case)
    assert f"with a modifier: {words}" in found.deviations
    assert found.level is not Level.UNCONDITIONAL
    plain = rfc2544(case_of("rfc2544", traffic={"frame_size": "64B"}, search=spec_of("rfc2544")))
    assert set(found.deviations) - set(plain.deviations) == {f"with a modifier: {words}"}


def test_a_frame_that_meets_a_filter_is_no_silent_loss() -> None:
    running = RunningOvs.__new__(RunningOvs)
    running.read_filters = lambda: Matched(24, 7)
    with pytest.raises(ComponentError, match="7 frames met a rule"):
        running.counters()


# Mixes of frame sizes: how they are written, what rates mean with them, what they are called.

GENOME = "7a4d1g"
MEAN = Fraction(7 * 64 + 4 * 512 + 1518, 12)
TEN_G = LinkSpeed.parse("10G")


def profile_of_imix(**settings: object) -> TrafficProfile:
    return TrafficProfile.model_validate(settings)


@pytest.mark.parametrize("text", ["7a4d1g", "aaaaaaaddddg", "7a4dg", "3a4a4d1z", " 7a4d1g "])
def test_a_genome_is_a_sequence_however_it_is_written(text: str) -> None:
    mix = Imix.parse(text)
    assert mix.sizes == (64,) * 7 + (512,) * 4 + (1518,)
    assert str(mix) == GENOME


@pytest.mark.parametrize(
    "written",
    ["7x64+4x570+1x1518", "7x64,4x570,1x1518B",
     [{"size": 64, "share": 7}, {"size": "570B", "share": 4}, {"size": 1518, "share": 1}]],
)  # fmt: skip
def test_sizes_without_a_letter_are_written_out(written: Any) -> None:
    mix = Imix.parse(written)
    assert mix.runs == ((7, 64), (4, 570), (1, 1518))
    assert str(mix) == "7x64+4x570+1x1518"
    assert Imix.parse(str(mix)) == mix


def test_a_list_of_sizes_that_all_have_letters_is_called_by_its_genome() -> None:
    assert str(Imix.parse([{"size": 64, "share": 3}, {"size": 1518, "share": 2}])) == "3a2g"


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from(sorted(set(LETTERS.values())))),
                min_size=2, max_size=8))  # fmt: skip
def test_what_is_printed_means_the_same(runs: list[tuple[int, int]]) -> None:
    if len({size for _, size in runs}) < 2:
        return
    mix = Imix.of(runs)
    assert Imix.parse(str(mix)) == mix
    assert mix.sizes == tuple(size for count, size in runs for _ in range(count))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("aaaa", "at least two sizes"),
        ("7a4q", "there is no frame size 'q'"),
        ("0a1b", "share of no frames"),
        ("0x64+1x65", "share of no frames"),
        ("99a30g", "a sequence of 129 frames"),
        ("1x63+1x64", "outside 64B to 9216B"),
        ("7 a", "not a mix of frame sizes"),
        (64, "not a mix of frame sizes"),
        ([{"size": 64}], "no part of a mix"),
        ([{"size": 64, "share": 0}], "a whole number from 1"),
        ([{"size": 64, "share": 0.5}], "a whole number from 1"),
        ("a" * 5000, "not a mix of frame sizes"),
    ],
)  # fmt: skip
def test_what_is_no_mix_is_told(written: Any, words: str) -> None:
    with pytest.raises(UnitError, match=words):
        Imix.parse(written)


def test_the_line_rate_follows_from_the_mean_size_on_the_wire_exactly() -> None:
    """RFC 6985: of a mix, the rate is that of its mean size."""
    size = profile_of_imix(imix=GENOME).frame_size
    assert TEN_G.frames_per_second(size) == Fraction(10**10) / (8 * (MEAN + 20))
    bits = Rate.parse("5Gbit/s L2").frames_per_second(size, TEN_G)
    assert bits == Fraction(5 * 10**9) / (8 * MEAN)
    assert bits != Rate.parse("5Gbit/s L2").frames_per_second(FrameSize(size.bytes), TEN_G)


def test_the_mean_need_not_be_given_and_may_not_be_another() -> None:
    assert str(profile_of_imix(imix=GENOME).frame_size) == "334B"
    assert profile_of_imix(imix=GENOME, frame_size="334B") == profile_of_imix(imix=GENOME)
    with pytest.raises(ValidationError, match=r"traffic\.frame_size=334B"):
        profile_of_imix(imix=GENOME, frame_size="64B")


def test_a_recorded_mix_is_the_same_when_it_is_read_again() -> None:
    written = profile_of_imix(imix=GENOME).model_dump(mode="json", exclude_defaults=True)
    assert written == {"frame_size": "334B", "imix": GENOME}
    assert profile_of_imix(**written) == profile_of_imix(imix=GENOME)
    assert size_of(written).on_wire == MEAN + 20
    assert size_of({"frame_size": "64B"}) == FrameSize(64)


def test_each_frame_of_a_mix_has_room_for_its_headers() -> None:
    with pytest.raises(ValidationError, match="frames of 64B cannot hold their headers"):
        profile_of_imix(imix=GENOME, vlans=[100])
    assert profile_of_imix(imix="7b4d1g", vlans=[100]).longest == FrameSize(1518)


def test_a_method_can_tell_that_sizes_are_mixed() -> None:
    assert profile_of_imix(imix=GENOME).mixed_sizes
    assert profile_of_imix(frame_size=64, replay={"file": "/tmp/x.pcap"}).mixed_sizes
    assert not profile_of_imix(frame_size=64).mixed_sizes


def test_a_case_is_called_by_its_mix_and_not_by_its_mean() -> None:
    case = Case(simulated_case(traffic={"frame_size": "334B", "imix": GENOME}))
    assert case.label == "simulated-imix-7a4d1g"


def test_a_case_without_a_mix_keeps_its_id() -> None:
    """What was measured before there were mixes, tags and the rest is still the same case."""
    assert simulated_case().measured()["traffic"] == {"frame_size": "64B"}
    assert Case(simulated_case()).id == "simulated-64B-cf4b0393"


def test_a_simulated_switch_pays_for_the_mean_size() -> None:
    mixed, plain = (
        simulated_case(traffic=traffic)
        for traffic in ({"imix": "1a1c", "frame_size": 160}, {"frame_size": 160})
    )
    capacities = [
        switch_of(case).capacity_fps(case.traffic.frame_size, 1, 2) for case in (mixed, plain)
    ]
    assert capacities[0] == capacities[1]


MINE = "name: mine\ntopology: p2p\ntraffic: {{{}}}\n"


def test_a_testcase_names_a_mix_in_place_of_a_size(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, MINE.format("imix: 7a4d1g")).cases
    assert case.label == "mine-imix-7a4d1g"
    assert case.spec.measured()["traffic"] == {"frame_size": "334B", "imix": "7a4d1g"}


def test_a_list_of_sizes_beside_a_mix_is_refused_with_the_mean(tmp_path: Path) -> None:
    text = MINE.format("imix: 7a4d1g, frame_size: [64, 128]")
    write(tmp_path, {"testcases/mine.yaml": text})
    (problem,) = problems(library(tmp_path, tmp_path), Request(("mine",), testbed="sim"))
    assert "is a list" in problem.what
    assert problem.fix is not None
    assert "traffic.frame_size=334B" in problem.fix
