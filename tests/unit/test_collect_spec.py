"""What a case collects is a word, settings, or alternatives; without it nothing changes."""

from __future__ import annotations

from pathlib import Path

from config_world import library, loaded, problems, write

from vsperf.spec.case import Case
from vsperf.spec.loader import Request

START = "name: mine\ntopology: p2p\ntraffic: {frame_size: 64}\n"


def cases(folder: Path, text: str = "", *sets: str, repeat: int = 1) -> tuple[Case, ...]:
    request = Request(("mine",), testbed="sim", sets=sets, repeat=repeat)
    return loaded(folder, START + text, request).cases


def one(folder: Path, text: str = "", *sets: str) -> Case:
    (found,) = cases(folder, text, *sets)
    return found


def wrong(folder: Path, text: str) -> list[str]:
    write(folder, {"testcases/mine.yaml": START + text})
    found = problems(library(folder, folder), Request(("mine",), testbed="sim"))
    return [problem.what for problem in found]


class TestWords:
    def test_without_the_word_nobody_collects(self, tmp_path: Path) -> None:
        assert one(tmp_path).spec.collect == {}

    def test_a_word_names_collectors_with_their_defaults(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: proc+ovs\n").spec.collect
        assert {name: settings.kind for name, settings in found.items()} == {
            "proc": "proc",
            "ovs": "ovs",
        }

    def test_a_mapping_gives_settings(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {proc: {every: 2s}, ovs: {}}\n").spec.collect
        assert str(found["proc"].every) == "2s"  # type: ignore[attr-defined]

    def test_a_name_of_ones_own_has_a_kind(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {slowly: {kind: proc, every: 5s}}\n").spec.collect
        assert found["slowly"].kind == "proc"

    def test_none_takes_out_what_a_lower_layer_says(self, tmp_path: Path) -> None:
        assert one(tmp_path, "collect: proc\n", "collect=none").spec.collect == {}

    def test_a_collector_can_be_taken_out_by_its_name(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {proc: {}, ovs: {}}\n", "collect.ovs=null").spec.collect
        assert list(found) == ["proc"]


class TestIdentity:
    def test_a_case_that_collects_nothing_is_the_case_that_it_was(self, tmp_path: Path) -> None:
        assert one(tmp_path).id == one(tmp_path, "collect: none\n").id
        assert "collect" not in one(tmp_path).spec.measured()

    def test_who_collects_decides_numbers_as_far_as_anybody_knows(self, tmp_path: Path) -> None:
        assert one(tmp_path).id != one(tmp_path, "collect: proc\n").id


class TestAlternatives:
    def test_a_list_makes_a_case_of_each(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "collect: [none, proc, proc+ovs]\n")
        assert [case.label for case in found] == [
            "mine-64B-none",
            "mine-64B-proc",
            "mine-64B-proc+ovs",
        ]
        assert [len(case.spec.collect) for case in found] == [0, 1, 2]

    def test_each_other_repeat_turns_the_order_round(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "collect: [none, proc]\n", repeat=3)
        assert [case.point["collect"] for case in found] == [
            *("none", "proc"),
            *("proc", "none"),
            *("none", "proc"),
        ]

    def test_the_same_twice_is_a_mistake(self, tmp_path: Path) -> None:
        assert wrong(tmp_path, "collect: [proc, proc]\n") == ["`collect` holds 'proc' twice"]


class TestMistakes:
    def test_an_unknown_collector_is_named_with_what_was_meant(self, tmp_path: Path) -> None:
        write(tmp_path, {"testcases/mine.yaml": START + "collect: prok\n"})
        (found,) = problems(library(tmp_path, tmp_path), Request(("mine",), testbed="sim"))
        assert found.what == "there is no collector 'prok'"
        assert found.fix == "did you mean `proc`?"

    def test_a_kind_that_is_no_word_is_no_collector(self, tmp_path: Path) -> None:
        assert wrong(tmp_path, "collect: {x: {kind: [1]}}\n") == ["there is no collector '[1]'"]
        assert wrong(tmp_path, "collect: {x: {kind: 1}}\n") == ["there is no collector '1'"]

    def test_settings_that_it_does_not_have_are_refused(self, tmp_path: Path) -> None:
        assert "often" in wrong(tmp_path, "collect: {proc: {often: 2s}}\n")[0]

    def test_to_look_all_the_time_would_disturb(self, tmp_path: Path) -> None:
        assert "disturb" in wrong(tmp_path, "collect: {proc: {every: 1ms}}\n")[0]

    def test_what_is_no_collector_is_said(self, tmp_path: Path) -> None:
        assert wrong(tmp_path, "collect: 7\n") == [
            "`collect` names collectors, and is the number 7"
        ]

    def test_a_name_that_could_be_no_file_is_refused(self, tmp_path: Path) -> None:
        assert "called" in wrong(tmp_path, "collect: {'../x': {kind: proc}}\n")[0]
