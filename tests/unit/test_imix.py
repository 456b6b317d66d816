"""Mixes of frame sizes: how they are written, what rates mean with them, what they are called."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from config_world import library, loaded, problems, write
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from simulated_cases import simulated_case, switch_of

from vsperf.quantity import UnitError
from vsperf.spec.case import Case
from vsperf.spec.imix import LETTERS, Imix
from vsperf.spec.loader import Request
from vsperf.spec.traffic import TrafficProfile, size_of
from vsperf.units import FrameSize, LinkSpeed, Rate

GENOME = "7a4d1g"
MEAN = Fraction(7 * 64 + 4 * 512 + 1518, 12)
TEN_G = LinkSpeed.parse("10G")


def profile(**settings: object) -> TrafficProfile:
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
    size = profile(imix=GENOME).frame_size
    assert TEN_G.frames_per_second(size) == Fraction(10**10) / (8 * (MEAN + 20))
    bits = Rate.parse("5Gbit/s L2").frames_per_second(size, TEN_G)
    assert bits == Fraction(5 * 10**9) / (8 * MEAN)
    assert bits != Rate.parse("5Gbit/s L2").frames_per_second(FrameSize(size.bytes), TEN_G)


def test_the_mean_need_not_be_given_and_may_not_be_another() -> None:
    assert str(profile(imix=GENOME).frame_size) == "334B"
    assert profile(imix=GENOME, frame_size="334B") == profile(imix=GENOME)
    with pytest.raises(ValidationError, match=r"traffic\.frame_size=334B"):
        profile(imix=GENOME, frame_size="64B")


def test_a_recorded_mix_is_the_same_when_it_is_read_again() -> None:
    written = profile(imix=GENOME).model_dump(mode="json", exclude_defaults=True)
    assert written == {"frame_size": "334B", "imix": GENOME}
    assert profile(**written) == profile(imix=GENOME)
    assert size_of(written).on_wire == MEAN + 20
    assert size_of({"frame_size": "64B"}) == FrameSize(64)


def test_each_frame_of_a_mix_has_room_for_its_headers() -> None:
    with pytest.raises(ValidationError, match="frames of 64B cannot hold their headers"):
        profile(imix=GENOME, vlans=[100])
    assert profile(imix="7b4d1g", vlans=[100]).longest == FrameSize(1518)


def test_a_method_can_tell_that_sizes_are_mixed() -> None:
    assert profile(imix=GENOME).mixed_sizes
    assert profile(frame_size=64, replay={"file": "/tmp/x.pcap"}).mixed_sizes
    assert not profile(frame_size=64).mixed_sizes


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
