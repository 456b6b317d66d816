"""The word `noise`: levels of conf/noise, lists that make cases, and cases that it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_world import library, loaded, problems, write

from vsperf.byte_units import ByteRate, ByteSize
from vsperf.quantity import UnitError
from vsperf.spec.case import Case
from vsperf.spec.loader import Request

START = "name: mine\ntopology: p2p\ntraffic: {frame_size: 64}\n"
FOUR = "noise: [none, level_0, level_1, level_2]\n"


def cases(folder: Path, text: str, *sets: str, repeat: int = 1) -> tuple[Case, ...]:
    request = Request(("mine",), testbed="sim", sets=sets, repeat=repeat)
    return loaded(folder, START + text, request).cases


def wrong(folder: Path, text: str, *sets: str) -> list[str]:
    write(folder, {"testcases/mine.yaml": START + text})
    request = Request(("mine",), testbed="sim", sets=sets)
    found = problems(library(folder, folder), request)
    return [f"{problem.what}; {problem.why}; {problem.fix}" for problem in found]


def noises(found: tuple[Case, ...], key: str) -> list[object]:
    return [one.spec.noise and one.spec.noise.model_dump(mode="json")[key] for one in found]


class TestLevels:
    def test_a_list_makes_a_case_of_each_and_none_is_the_quiet_one(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR)
        assert [case.label for case in found] == [
            "mine-64B-none", "mine-64B-level_0", "mine-64B-level_1", "mine-64B-level_2",
        ]  # fmt: skip
        assert noises(found, "kind") == [None, "memory", "memory", "memory"]
        assert noises(found, "buffer") == [None, "64KiB", "33MiB", "64MiB"]

    def test_the_levels_are_the_published_ones(self, tmp_path: Path) -> None:
        _, zero, one, two = cases(tmp_path, FOUR)
        asked = [noises((case,), key)[0] for case in (zero, one, two) for key in ("read_size",)]
        assert asked == ["32KiB", "4MiB", "8MiB"]
        assert noises((zero, one, two), "read_rate") == ["5GB/s", "10GB/s", "10GB/s"]
        assert noises((zero, one, two), "write_rate") == ["2GB/s", "5GB/s", "5GB/s"]
        assert noises((zero, one, two), "instances") == [2, 2, 2]

    @pytest.mark.parametrize("level", ["level_0", "level_1", "level_2"])
    def test_a_level_in_guests_is_the_same_by_another_kind(
        self, level: str, tmp_path: Path
    ) -> None:
        here, guests = cases(tmp_path, f"noise: [{level}, {level}_vm]\n")
        assert noises((here, guests), "kind") == ["memory", "memory-vm"]
        for key in ("instances", "buffer", "read_size", "write_size", "read_rate", "write_rate"):
            assert noises((here,), key) == noises((guests,), key)

    def test_one_level_alone_makes_one_case(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: level_1\n")
        assert (found.label, found.point) == ("mine-64B", {})
        assert noises((found,), "buffer") == ["33MiB"]

    def test_settings_beside_a_level_lie_above_its_file(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "noise: [none, {kind: level_1, buffer: 50MiB}]\n")
        assert [case.point for case in found] == [{"noise": "none"}, {"noise": "level_1"}]
        assert noises(found, "buffer") == [None, "50MiB"]

    def test_an_option_holds_for_all_levels_of_a_list(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR, "noise.instances=1")
        assert noises(found, "instances") == [None, 1, 1, 1]

    def test_an_option_takes_the_place_of_a_level(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: level_1\n", "noise=level_2")
        assert noises((found,), "buffer") == ["64MiB"]
        (quiet,) = cases(tmp_path, "noise: level_1\n", "noise=none")
        assert quiet.spec.noise is None

    def test_a_level_of_ones_own_is_found_as_everything_else_is(self, tmp_path: Path) -> None:
        own = "noise: {kind: memory, buffer: 2MiB, read_size: 1MiB, write_size: 1MiB}\n"
        write(tmp_path, {"conf/noise/small.yaml": own})
        (found,) = cases(tmp_path, "noise: small\n")
        assert noises((found,), "buffer") == ["2MiB"]

    def test_a_kind_of_driver_needs_no_level(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: {kind: stress, load: irq}\n")
        assert noises((found,), "load") == ["irq"]


class TestRepeats:
    def test_levels_take_turns_and_each_other_repeat_turns_them_round(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR, repeat=2)
        order = [case.point["noise"] for case in found]
        assert order == [
            *("none", "level_0", "level_1", "level_2"), *("level_2", "level_1", "level_0", "none"),
        ]  # fmt: skip


class TestIdentity:
    def test_a_case_that_says_nothing_of_noise_is_what_it_was(self, tmp_path: Path) -> None:
        (without,) = cases(tmp_path, "")
        assert "noise" not in without.spec.measured()

    def test_the_quiet_sister_measures_the_same_as_a_case_without_the_word(
        self, tmp_path: Path
    ) -> None:
        (without,) = cases(tmp_path, "")
        quiet, loud, *_ = cases(tmp_path, FOUR)
        assert quiet.spec.measured() == without.spec.measured()
        assert quiet.id.rpartition("-")[2] == without.id.rpartition("-")[2]
        assert loud.id.rpartition("-")[2] != without.id.rpartition("-")[2]


class TestProblems:
    def test_an_unknown_level_is_told_with_those_that_there_are(self, tmp_path: Path) -> None:
        write(tmp_path, {"testcases/mine.yaml": f"{START}noise: loud\n"})
        found = problems(library(tmp_path, tmp_path), Request(("mine",), testbed="sim"))
        assert [one.what for one in found] == ["there is no level or kind of noise 'loud'"]
        assert found[0].where is not None
        assert "level_1" in str(found[0].fix)

    def test_a_file_that_is_no_level_is_told(self, tmp_path: Path) -> None:
        write(tmp_path, {"conf/noise/odd.yaml": "noise: {kind: memory}\ntraffic: {flows: 2}\n"})
        assert wrong(tmp_path, "noise: odd\n") == [
            "a level of noise holds `title` and `noise`; found: traffic; None"
        ]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{kind: memory, read_size: 65MiB}", "from 64B to the size of the buffer"),
            ("{kind: memory, write_size: 65B}", "a multiple of 8B, a word"),
            ("{kind: memory, read_rate: 0, write_rate: 0}", "which is no load"),
            ("{kind: memory, near: somewhere}", "near"),
            ("{kind: memory, to: moon}", "to"),
            ("{kind: memory, cpus: 1-3}", "there are 1 instances"),
            ("{kind: memory, read_rate: 5000}", "a rate is written like"),
            ("{kind: memory, loud: 3}", "loud"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, tmp_path: Path, text: str, said: str) -> None:
        assert said in " ".join(wrong(tmp_path, f"noise: {text}\n"))


class TestUnits:
    @pytest.mark.parametrize(
        ("text", "count"), [("32KiB", 32768), ("4MB", 4_000_000), ("0.5GiB", 2**29), ("1B", 1)]
    )
    def test_memory_is_read_exactly_and_written_back(self, text: str, count: int) -> None:
        assert ByteSize.parse(text).bytes == count
        assert ByteSize.parse(str(ByteSize.parse(text))) == ByteSize.parse(text)

    @pytest.mark.parametrize("text", ["4M", "4", "-1MB", "0B", "1.5B", "fast"])
    def test_what_could_mean_several_things_is_refused(self, text: str) -> None:
        with pytest.raises(UnitError):
            ByteSize.parse(text)

    def test_a_rate_has_a_second_in_it_or_is_nothing(self) -> None:
        assert ByteRate.parse("5000MB/s").per_second == 5_000_000_000
        assert str(ByteRate.parse("0")) == "0"
        with pytest.raises(UnitError):
            ByteRate.parse("5000MB")
